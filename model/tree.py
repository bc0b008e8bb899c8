"""The order engine on a tree of calls: programs with choices or several host threads, and every
program that is looked at again to explain a refutation.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from .again import from_the_start
from .clocks import Clocks
from .decision import Decision
from .edges import Edge, missing_edges, rank
from .errors import BadProtocol
from .host import Host
from .masking import UNMASKED
from .recorder import PatientRecording, Recording
from .reuse import Reuse
from .schedule import Schedule
from .search import Search
from .sync import FALSES
from .values import Patient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .contract import Contract
    from .gpu import Gpu
    from .schedule import Step

BAD_SCHEDULES = 64
"""How many refuted host schedules are looked at for distinct missing edges."""

RECORDED_CALLS = 100_000
"""How many calls of a refuted schedule are recorded to find its missing edges."""


class Noting(Clocks):
    """Clocks that go on past what is wrong, and say that there was something."""

    def __init__(self, gpu: Gpu) -> None:
        super().__init__(gpu)
        self.clean = True

    def race(self, *_what: object) -> None:
        """Note it and go on."""
        self.clean = False

    wrong = race


def trace_single(
    found: Decision, body: Callable[[Gpu], None], steps: int, contract: Contract
) -> None:
    """Trace the only schedule of a refuted program as a tree, so that it can be looked at."""
    host = found.host = Host(body, steps)
    schedule = from_the_start(lambda: first_schedule(schedule_of(host, contract, ())))
    found.cut = bool(schedule.options())
    found.ops = max(found.ops, sum(n for lane, n in schedule.clocks.ticks.items() if lane >= 0))
    found.note_queues(host.gpu)
    host.verify()
    found.bad = [schedule.steps]


def first_schedule(schedule: Schedule) -> Schedule:
    """Take the first option again and again, up to a number of calls."""
    while options := schedule.options():
        schedule.take(*options[0])
        if len(schedule.steps) >= RECORDED_CALLS:
            break
    return schedule


def unrepeatable(body: Callable[[Gpu], None], steps: int) -> BadProtocol:
    """The error for host code whose second run issues other calls: where they part, if seen."""
    host = Host(body, steps)
    try:
        node = host.root
        while node.call is not None:
            node = host.child(node)
        host.verify()
    except BadProtocol as error:
        return error
    return BadProtocol(
        "host code is not deterministic: its second trace issues different calls; something "
        "outlives the first, such as a module's global or a cache"
    )


def decide_tree(
    body: Callable[[Gpu], None],
    steps: int,
    contract: Contract,
    uncertain: tuple[str, ...],
    max_executions: int,
    deadline: float,
    until: float | None = None,
) -> Decision:
    """Search the host schedules of a program with choices or several host threads; `until` as for
    `decide_states`, which it comes to where clocks cannot decide.
    """
    found = Decision()
    host = found.host = Host(body, steps)
    from_the_start(lambda: search(found, host, contract, uncertain, max_executions, deadline))
    host.verify()
    found.threads = len(host.gpu.threads)
    found.branches = host.branches()
    found.once = reuse_in(host).once()
    found.bounded_queries = any(n >= FALSES for node in host.nodes() for n in node.falses.values())
    found.spins = host.gpu.cells_used
    found.note_queues(host.gpu)
    if found.undecided:
        from .decide_states import decide_states

        left = max(0.0, deadline - time.monotonic())
        states = decide_states(body, steps, contract, uncertain, seconds=left, until=until)
        states.note_queues(host.gpu)
        return states
    return found


def search(
    found: Decision,
    host: Host,
    contract: Contract,
    uncertain: tuple[str, ...],
    max_executions: int,
    deadline: float,
) -> None:
    """Weigh every schedule, until something must be known from the start (`Again`)."""
    schedules = Search(lambda: schedule_of(host, contract, uncertain), deadline)
    for schedule in schedules:
        weigh(schedule, found)
        if found.undecided:
            return
        if found.executions >= max_executions:
            schedules.spent = True
            break
    if schedules.spent:
        found.spent = (
            f"the search ended early: {found.executions} host schedules decided and more to come"
        )


def weigh(schedule: Schedule, found: Decision) -> None:
    """Add one complete schedule to what was found."""
    found.executions += 1
    found.ops = max(found.ops, sum(n for lane, n in schedule.clocks.ticks.items() if lane >= 0))
    found.waits = max(found.waits, schedule.waits)
    found.consulted |= schedule.front.consulted
    clean = isinstance(schedule.clocks, Noting) and schedule.clocks.clean
    found.undecided |= schedule.undecided
    hangs = bool(schedule.blocked() or schedule.hung())
    found.hazards |= not clean
    found.hangs |= hangs
    lost = schedule.broken and schedule.front.contract.masking == UNMASKED
    if not clean or lost or hangs:
        found.holds = False
        if len(found.bad) < BAD_SCHEDULES:
            found.bad.append(list(schedule.steps))


def schedule_of(host: Host, contract: Contract, uncertain: tuple[str, ...]) -> Schedule:
    """A schedule to carry out: a patient one where operations may have to wait for cells."""
    kind = Patient if host.gpu.cells_used else Schedule
    return kind(host, contract, uncertain, Noting(host.gpu))


def reuse_in(host: Host) -> Reuse:
    """What the steps of every traced path use once or again."""
    reuse = Reuse()
    for thing, step in host.born.items():
        reuse.step = step
        reuse.mark("made", thing)
    for node in host.nodes():
        if node.call is not None and node.step is not None:
            reuse.note(node.call, node.step)
    return reuse


def record(host: Host, contract: Contract, steps: Iterable[Step]) -> Recording:
    """Carry out a schedule once more and keep everything."""
    recording = (PatientRecording if host.gpu.cells_used else Recording)(host, contract)
    for thread, result in steps:
        recording.take(thread, result)
    recording.name_nodes()
    return recording


def edges_of(recordings: list[Recording]) -> list[tuple[Edge, Recording]]:
    """Every distinct missing edge of some schedules, each with its smallest witness first."""
    best: dict[Any, tuple[Edge, Recording]] = {}
    for recording in recordings:
        for edge in missing_edges(recording):
            known = best.get(edge.lines)
            if known is None or rank(edge.pair) < rank(known[0].pair):
                best[edge.lines] = (edge, recording)
    return sorted(best.values(), key=lambda found: rank(found[0].pair))
