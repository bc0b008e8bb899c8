"""The simulator as an engine: explore every schedule, or sample where there are too many."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ..model.decision import Decision
from ..model.host import Host
from ..model.masking import UNMASKED
from ..model.sync import FALSES
from ..model.tree import reuse_in
from .explore import Bad, Exploration, distinct, explore
from .sample import WAYS, sample
from .story import tell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..model.check import Limits
    from ..model.contract import Contract
    from ..model.gpu import Gpu
    from ..model.host import Node

SAMPLES, DEPTH = 500, 3
"""How many schedules of each way are drawn where exploring ended early, and how many constraints a
bug may need for PCT's bound to hold."""

MORE_STATES, NEAREST = 10_000, 1_000
"""How far an exploration goes at most once something is wrong, to see all of it; and how far one
looks breadth-first for a shortest schedule where that was not enough."""


def decide_sim(
    body: Callable[[Gpu], None],
    steps: int,
    contract: Contract,
    uncertain: tuple[str, ...],
    limits: Limits,
) -> Decision:
    """Decide a program by carrying out all its schedules, or some where there are too many.

    Two thirds of the time are for exploring; what is left for sampling.
    """
    host = Host(body, steps)
    started = time.monotonic()
    late = started + limits.seconds
    program: Any = (host, contract, uncertain)
    walk = explore(
        *program,
        max_states=limits.states,
        enough=MORE_STATES,
        deadline=started + limits.seconds * 2 / 3,
    )
    bad, found = walk.worst(), described(host, walk)
    if not walk.complete and bad:
        most = min(NEAREST, limits.states)
        nearest = explore(*program, shortest=True, max_states=most, deadline=late)
        found.spent, bad = ended(walk), distinct([*nearest.worst(), *bad])
    elif not walk.complete:
        found.spent, bad = sampled(program, walk, late)
    elif not bad and contract.masking == UNMASKED and any(called(host, "concurrent")):
        found.spent = "the simulator does not decide concurrent(): use the engine order"
    host.verify()
    found.holds = not bad
    found.hangs = any(one.kind == "deadlock" for one in bad)
    found.hazards = len(bad) > found.hangs
    found.note_queues(host.gpu)
    found.edges = [tell(host, contract, one, walk.numbers) for one in bad]
    return found


def described(host: Host, walk: Exploration) -> Decision:
    """What was looked at."""
    found = Decision()
    found.host = host
    found.states, found.executions, found.ops = walk.states, walk.executions, len(walk.numbers)
    found.consulted = walk.consulted
    found.threads, found.once = len(host.gpu.threads), reuse_in(host).once()
    found.branches, found.spins = host.branches(), host.gpu.cells_used
    found.bounded_queries = any(n >= FALSES for node in host.nodes() for n in node.falses.values())
    return found


def called(host: Host, verb: str) -> Iterator[Node]:
    """The nodes that make a call with this verb."""
    return (node for node in host.nodes() if node.call is not None and node.call[0] == verb)


def ended(walk: Exploration) -> str:
    """Why an exploration ended."""
    return f"{walk.states} states visited and more to come"


def sampled(program: Any, walk: Exploration, late: float) -> tuple[str, list[Bad]]:
    """What random schedules show, where an exploration ended early with nothing wrong."""
    drawn = []
    for way in WAYS:
        one = sample(*program, way=way, depth=DEPTH, runs=SAMPLES, deadline=late)
        if one.bad is not None:
            return ended(walk), [one.bad]
        drawn.append(one)
    counts = " and ".join(f"{one.runs} {'PCT' * (one.way == 'pct') or one.way}" for one in drawn)
    return f"{ended(walk)}; {counts} schedules showed nothing wrong, which proves nothing", []
