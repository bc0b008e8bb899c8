"""What an engine hands to whoever draws the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .explore import Exploration
    from .gpu import Gpu
    from .host import Host
    from .schedule import Step
    from .verdict import MissingEdge


class Decision:
    """What an engine found out about one program under one reading of a contract.

    - `holds`: nothing wrong on any path; `bad`: host schedules on which something is;
    - `ops`, `executions`, `states`: counts (see `Verdict`);
    - `consulted`: uncertain promises on which some call depended;
    - `once`: what was filled or recorded in one step only; `waits`: host waits in the last step;
    - `spins`: some wait is for a cell; `undecided`: clocks cannot decide it, the machine must;
    - `walk`: the machine's, if it decided and something is wrong; `hang`: that is only a deadlock;
    - `hazards`, `hangs`: whether some path has a hazard or wrong version, or hangs;
    - `lanes`: under a masking, what takes places in hardware queues: its device, and the most
      packets seen of it (0 unless counted); `sizes_missing`: some copy's size would matter and is
      not said;
    - `edges`: what is wrong, from an engine that makes its own counterexamples, else None;
    - `stopped`: it went no further than the first thing wrong, and what comes after that may wait
      for a cell or hang;
    - `spent`: why the search ended early, None when it is complete.
    """

    def __init__(self) -> None:
        self.holds = True
        self.bad: list[list[Step]] = []
        self.host: Host | None = None
        self.ops = 0
        self.executions = 0
        self.states = 0
        self.threads = 1
        self.consulted: set[str] = set()
        self.once: list[str] = []
        self.waits = 0
        self.bounded_queries = False
        self.branches = False
        self.spins = False
        self.undecided = False
        self.spent: str | None = None
        self.cut = False
        self.walk: Exploration | None = None
        self.hang = False
        self.edges: list[MissingEdge] | None = None
        self.hazards = False
        self.hangs = False
        self.stopped = False
        self.lanes: dict[str, list[int]] = {}
        self.sizes_missing = False

    def note_queues(self, gpu: Gpu) -> None:
        """Keep what a masking's front end has seen of this program."""
        self.lanes, self.sizes_missing = gpu.queue_lanes, gpu.sizes_missing
