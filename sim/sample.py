"""Some schedules of a protocol, at random: for programs with more states than can be visited.

Two ways to draw one: *random* takes any step that is possible, each with the same chance; *pct* is
probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi and Nagarakatte, ASPLOS 2010):
host threads and streams get random priorities, the one with the highest always goes first, and at
depth - 1 steps drawn beforehand the one that would go next falls behind all others. A bug that
needs `depth` ordering constraints is met by one such schedule with a probability of at least
1 / (n k^(depth - 1)), for n threads and streams and k steps.

Nothing found says nothing: whoever draws a verdict from that says UNDETERMINED.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.again import from_the_start
from .execution import Execution, named, stuck
from .explore import Bad

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model.contract import Contract
    from ..model.host import Host
    from .untimed import Choice

WAYS = ("pct", "random")


class Sample(NamedTuple):
    """What some schedules showed.

    - `bad` is the first thing wrong, with its schedule; None where nothing was;
    - `runs` counts the schedules that were drawn, `longest` the steps of the longest, `lanes` the
      most host threads and streams that one had; `cut` those that were ended at the most steps.
    """

    way: str
    depth: int
    seed: int
    runs: int
    longest: int
    lanes: int
    cut: int
    bad: Bad | None

    @property
    def chance(self) -> float:
        """The least probability with which one schedule meets a bug of this depth (pct)."""
        return 1 / (max(1, self.lanes) * max(1, self.longest) ** (self.depth - 1))


def sample(
    host: Host,
    contract: Contract,
    uncertain: tuple[str, ...] = (),
    *,
    way: str = "pct",
    depth: int = 3,
    runs: int = 500,
    seed: int = 0,
    max_steps: int = 100_000,
    deadline: float | None = None,
) -> Sample:
    """Draw schedules until one shows something wrong, or so many were drawn.

    `way` is one of `WAYS`; `depth` counts ordering constraints (pct). Each schedule is carried out
    from the start, at most `max_steps` steps; `deadline` is on `time.monotonic`. The same seed
    draws the same schedules.
    """
    return from_the_start(
        lambda: Sampler(host, contract, uncertain, way, depth, seed).run(runs, max_steps, deadline)
    )


class Sampler:
    """Draws schedules one after the other."""

    def __init__(
        self,
        host: Host,
        contract: Contract,
        uncertain: tuple[str, ...],
        way: str,
        depth: int,
        seed: int,
    ) -> None:
        self.program = host, contract, uncertain
        self.way, self.depth, self.seed = way, depth, seed
        self.rng = random.Random(seed)  # noqa: S311 - schedules are no secret
        self.numbers: dict[Any, int] = {}
        self.longest = self.lanes = self.cut = 0

    def run(self, runs: int, max_steps: int, deadline: float | None) -> Sample:
        """Draw schedules."""
        bad, drawn = None, 0
        if self.way == "pct":
            self.longest = self.length(max_steps)
        while bad is None and drawn < runs and not (deadline and time.monotonic() > deadline):
            bad = self.one(max_steps)
            drawn += 1
        return Sample(
            self.way, self.depth, self.seed, drawn, self.longest, self.lanes, self.cut, bad
        )

    def length(self, max_steps: int) -> int:
        """How many steps a schedule takes, for a first estimate."""
        execution, count = Execution(*self.program, self.numbers), 0
        while count < max_steps and (choices := execution.enabled()):
            execution.take(choices[0])
            count += 1
        return count

    def one(self, max_steps: int) -> Bad | None:
        """Draw one schedule; what is wrong on it."""
        execution = Execution(*self.program, self.numbers)
        pick = self.picker(execution)
        taken: list[Choice] = []
        while True:
            found = seen(execution, taken)
            choices = execution.enabled()
            if found is not None or not choices:
                break
            if len(taken) >= max_steps:
                self.cut += 1
                break
            taken.append(pick(choices))
            wrong = execution.take(taken[-1])
            if wrong:
                site, what = wrong[0]
                found = Bad("wrong version", (site,), repr(what.region), what, tuple(taken))
                break
        self.longest = max(self.longest, len(taken))
        return found

    def picker(self, execution: Execution) -> Callable[[list[Choice]], Choice]:
        """How a schedule goes on."""
        if self.way == "random":
            return self.rng.choice
        steps = range(max(self.longest, self.depth))
        changes = sorted(self.rng.sample(steps, self.depth - 1))
        return Priorities(self, execution, changes).pick


class Priorities:
    """The priorities of one schedule's host threads and streams."""

    def __init__(self, sampler: Sampler, execution: Execution, changes: list[int]) -> None:
        self.sampler = sampler
        self.rng = sampler.rng
        self.execution = execution
        self.changes = changes
        self.steps = 0
        self.of: dict[object, float] = {}

    def pick(self, choices: list[Choice]) -> Choice:
        """What the one with the highest priority does next."""
        lanes = {choice[:2]: self.lane(choice) for choice in choices}
        for lane in lanes.values():
            if lane not in self.of:
                self.of[lane] = 1 + self.rng.random()
        self.sampler.lanes = max(self.sampler.lanes, len(self.of))
        first = max(lanes.values(), key=lambda lane: self.of[lane])
        if self.steps in self.changes:
            self.of[first] = -float(self.changes.index(self.steps))
            first = max(lanes.values(), key=lambda lane: self.of[lane])
        self.steps += 1
        return self.rng.choice([choice for choice in choices if lanes[choice[:2]] == first])

    def lane(self, choice: Choice) -> object:
        """The host thread or the stream that a choice belongs to."""
        if choice[0] == "host":
            return choice[1]
        return self.execution.gates.env.gates[choice[:2]].who.stream  # type: ignore[union-attr]


def seen(execution: Execution, taken: list[Choice]) -> Bad | None:
    """What is wrong in a state: two accesses are possible together, or nothing at all is."""
    for first, second in execution.hazards()[:1]:
        region = named(first.region)
        return Bad("race", (first.site, second.site), region, None, tuple(taken))
    if not execution.enabled() and not execution.finished:
        return Bad("deadlock", stuck(execution), None, None, tuple(taken))
    return None
