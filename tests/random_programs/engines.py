"""What the engines say about a program, in one form: facts that can be compared."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

from streamorder.model import host_order
from streamorder.model.again import from_the_start
from streamorder.model.clocks import Clocks
from streamorder.model.contract import CUDA, CUDA_HMM, HIP
from streamorder.model.errors import BudgetSpent
from streamorder.model.explore import Exploration, explore
from streamorder.model.host_order import Cells, dependent
from streamorder.model.memory import UNWRITTEN
from streamorder.model.schedule import Schedule
from streamorder.model.search import Search
from streamorder.model.values import Patient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamorder.model.contract import Contract
    from streamorder.model.gpu import Gpu
    from streamorder.model.host import Host, Node
    from streamorder.model.memory import Region


def settled(contract: Contract, **kept: bool) -> Contract:
    """A contract that keeps these of its uncertain promises, and breaks the others."""
    return contract.readings()[0]._replace(**kept)


# The first two are what the oracle knows; the weakest readings follow.
CONTRACTS = (
    settled(CUDA, null_sync_covers_blocking=True, wait_joins_blocking=True),
    settled(HIP, null_sync_covers_blocking=True, wait_joins_blocking=False),
    settled(CUDA),
    settled(CUDA_HMM),
)
UNCERTAIN = (CUDA.uncertain, HIP.uncertain)


class Facts(NamedTuple):
    """What is wrong with a program: regions with a hazard, wrong versions read, and deadlock.

    `finals` are the memories in which it can end; None where a hazard leaves that to timing.
    """

    races: frozenset[str]
    wrongs: frozenset[tuple[str, object]]
    deadlock: bool
    finals: frozenset[Any] | None

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.races or self.wrongs or self.deadlock)

    def plain(self) -> Facts:
        """The facts that every engine must find: versions only where there is no hazard."""
        if not self.races:
            return self
        return self._replace(wrongs=frozenset(), finals=None)


def walk(host: Host, contract: Contract, *, alone: bool = True, most: int = 20_000) -> Exploration:
    """The machine's walk; `alone=False` keeps in the state what only several threads need there."""
    host.gpu.threads_used = host.gpu.threads_used or not alone
    return explore(host, contract, max_states=most)


def facts_of(found: Exploration) -> Facts:
    """What the machine found."""
    return Facts(
        frozenset(named(first.region) for _state, first, _second in found.hazards),
        frozenset((named(wrong.region), wrong.expected) for _s, _t, wrong in found.wrongs),
        bool(found.deadlocks),
        frozenset(
            frozenset((name, version) for name, version in memory.items() if "(read)" not in name)
            for memory in found.outcomes
        ),
    )


def named(region: Region) -> str:
    """A region by the first name that its memory had."""
    return repr(region.buffer.gpu.regions[region.slot])


class Collecting(Clocks):
    """Clocks that go on after a finding."""

    def __init__(self, gpu: Gpu) -> None:
        super().__init__(gpu)
        self.races: set[str] = set()
        self.wrongs: set[tuple[str, object]] = set()

    def race(self, region: Region, /) -> None:
        """Remember the region."""
        self.races.add(named(region))

    def wrong(self, region: Region, expected: object, /) -> None:
        """Remember what was expected where."""
        self.wrongs.add((named(region), expected))

    def final(self) -> frozenset[Any]:
        """The versions that memory holds."""
        return frozenset(
            (repr(region), cell[2])
            for region, cell in zip(self.gpu.regions, self.memory, strict=False)
            if cell[2] is not UNWRITTEN and "(read)" not in repr(region)
        )


class Decided(NamedTuple):
    """What a search of host schedules found: the facts, and how many schedules it ran.

    `undecided` says that clocks cannot decide some of them: the machine must.
    """

    facts: Facts
    executions: int
    undecided: bool


def scheduled(host: Host, contract: Contract) -> Schedule:
    """A schedule before its first step."""
    kind = Patient if host.gpu.cells_used else Schedule
    return kind(host, contract, (), Collecting(host.gpu))


def decided(schedules: Iterator[Schedule] | Search, most: int) -> Decided:
    """The union of what complete schedules show."""
    races: set[str] = set()
    wrongs: set[tuple[str, object]] = set()
    finals: set[Any] = set()
    deadlock, undecided, count = False, False, 0
    for schedule in schedules:
        clocks: Any = schedule.clocks
        count += 1
        if count > most:
            raise BudgetSpent("too many schedules")
        races |= clocks.races
        wrongs |= clocks.wrongs
        undecided |= schedule.undecided
        if schedule.blocked() or schedule.hung():
            deadlock = True
        else:
            finals.add(clocks.final())
    facts = Facts(frozenset(races), frozenset(wrongs), deadlock, frozenset(finals))
    return Decided(facts, count, undecided)


def order(host: Host, contract: Contract, most: int = 3_000) -> Decided:
    """The order engine's facts."""
    return from_the_start(lambda: decided(Search(lambda: scheduled(host, contract)), most))


def every_schedule(host: Host, contract: Contract, most: int) -> Iterator[tuple[Schedule, Any]]:
    """Every complete host schedule without any reduction, each with its canonical form."""
    waiting: list[list[Any]] = [[]]
    for count in itertools.count():
        if not waiting:
            return
        if count > most:
            raise BudgetSpent("too many schedules")
        prefix = waiting.pop()
        schedule = scheduled(host, contract)
        schedule.front.cells = Cells(schedule.front.cells)
        events: list[Any] = []
        for step in prefix:
            take(schedule, step, events)
        while options := schedule.options():
            waiting += [[*schedule.steps, option] for option in options[1:]]
            take(schedule, options[0], events)
        yield schedule, canonical(events)


def take(schedule: Schedule, step: Any, events: list[Any]) -> None:
    """Carry out a step, and note what it touched."""
    cells: Any = schedule.front.cells
    node, rest = schedule.points[step[0]]
    assert node.call is not None
    cells.take()
    schedule.take(*step)
    touched = cells.take()
    if rest is None:
        touched |= host_order.own_footprint(node.call)
    events.append((*step, touched))


def canonical(events: list[Any]) -> frozenset[Any]:
    """What schedules that differ only in the order of independent calls have in common: each
    thread's results, and which of two dependent calls came first.
    """
    counts: dict[int, int] = {}
    named = []
    for thread, result, touched in events:
        counts[thread] = counts.get(thread, 0) + 1
        named.append(((thread, counts[thread], result), touched))
    pairs = {
        (first[:2], second[:2])
        for (first, mine), (second, other) in itertools.combinations(named, 2)
        if first[0] != second[0] and dependent(mine, other)
    }
    return frozenset(pairs) | frozenset(name for name, _touched in named)


def paths(found: Exploration) -> int:
    """How many complete executions the machine has: paths through its states, none merged."""
    machine, counts = found.machine, {}
    for state in reversed(list(found.parents)):
        following = [machine.apply(state, able)[0] for able in machine.enabled(state)]
        counts[state] = sum(counts[after] for after in following) if following else 1
    return counts[machine.initial()]


def claims(host: Host, contract: Contract) -> tuple[set[Node], set[Node]]:
    """The `concurrent` calls that some schedule makes, and those that fail."""
    failed: set[Node] = set()
    for schedule in Search(lambda: scheduled(host, contract)):
        failed.update(schedule.broken)
    made = {node for leaf in host.leaves() for node in leaf.path()}
    return {node for node in made if node.call and node.call[0] == "concurrent"}, failed


def together(found: Exploration) -> set[frozenset[Node]]:
    """The pairs of calls whose operations are both ready in some state."""
    machine = found.machine
    pairs: set[frozenset[Node]] = set()
    for state in found.parents:
        nodes = [machine.ops[index].node for index in machine.ready(state)]
        pairs.update(frozenset(pair) for pair in itertools.combinations(nodes, 2))
    return pairs
