"""What a program costs its host: where it stalls, how often a step, and for how recent work.

A stall is a wait that can have something left to wait for: work that nothing earlier on this thread
has awaited. `lag` says how many steps before the work was issued: a wait for a copy of two steps
ago holds the host up far less than one for the step that has just been launched.

A copy from or to memory that is not pinned may wait as well (R2.2, R2.6): the order of the protocol
does not depend on it, the host's time does. Such copies are listed apart.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from ..again import from_the_start
from ..host import Host
from ..memory import PAGEABLE
from ..recorder import PatientRecording, Recording, RecordingClocks
from ..search import Search
from ..trace import described
from ..tree import schedule_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..clocks import Frontier
    from ..contract import Contract
    from ..gpu import Gpu
    from ..host import Node
    from ..recorder import Moment
    from ..where import Where

SCHEDULES, SECONDS = 8, 2.0
"""How many host schedules are looked at for stalls, and how long."""

OPERATIONS = 200
"""How many operations of a schedule are paired to see what may overlap."""

Found = dict["Where | None", tuple[str, int, "int | None"]]
"""For each line its call, how often it stalls in one step at most, and the least lag."""


class Stall(NamedTuple):
    """A call in which the host stalls: how often in one step at most, and for work of how many
    steps before at least (None outside the step loop).
    """

    where: Where | None
    call: str
    per_step: int
    lag: int | None

    def as_data(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return {
            "file": self.where.file if self.where else None,
            "line": self.where.line if self.where else None,
            "call": self.call,
            "per_step": self.per_step,
            "lag": self.lag,
        }


class Price(NamedTuple):
    """The stalls of a program under one contract, and what the device may do at the same time:
    `free` of `pairs` pairs of operations, of those within two steps of one another, have no order.
    `may_stall` are the copies that may wait and need not.
    """

    stalls: tuple[Stall, ...]
    may_stall: tuple[Stall, ...] = ()
    free: int = 0
    pairs: int = 0

    @property
    def per_step(self) -> int:
        """How many stalls a step, or in all where there is no step loop."""
        return sum(stall.per_step for stall in self.stalls)

    @property
    def most_per_step(self) -> int:
        """How many stalls a step there are where every copy waits that may."""
        return self.per_step + sum(stall.per_step for stall in self.may_stall)

    @property
    def ordered(self) -> float:
        """The share of pairs of operations that have an order."""
        return round(1 - self.free / self.pairs, 3) if self.pairs else 0.0

    @property
    def weight(self) -> float:
        """Stalls a step, those for older work counting less: what repairs are ordered by."""
        return sum(stall.per_step / (1 + (stall.lag or 0)) for stall in self.stalls)


def price(body: Callable[[Gpu], None], contract: Contract, steps: int) -> Price:
    """The stalls of a program, over its first host schedules."""
    host = Host(body, steps)
    return from_the_start(lambda: counted(host, contract))


def counted(host: Host, contract: Contract) -> Price:
    """Listen to schedules, and keep the worst step of each line."""
    reading = contract.readings()[0]
    worst: Found = {}
    perhaps: Found = {}
    free, pairs = 0, 0
    schedules = Search(lambda: schedule_of(host, reading, ()), time.monotonic() + SECONDS)
    for number, schedule in enumerate(schedules, 1):
        stalls, recording = stalls_of(host, reading, schedule.steps)
        if number == 1:
            free, pairs = overlap(recording.moments)
        keep(worst, stalls)
        keep(perhaps, unpinned_copies(recording.moments))
        if number >= SCHEDULES:
            break
    sure = tuple(Stall(where, *found) for where, found in worst.items())
    return Price(sure, tuple(beyond(perhaps, worst)), free, pairs)


def beyond(perhaps: Found, worst: Found) -> Iterator[Stall]:
    """The copies of each line that may wait beside those that do."""
    for where, (call, number_of, lag) in perhaps.items():
        sure = worst[where][1] if where in worst else 0
        if number_of > sure:
            yield Stall(where, call, number_of - sure, lag)


def keep(worst: Found, stalls: Found) -> None:
    """Keep the worst step of each line."""
    for where, (call, number_of, lag) in stalls.items():
        known = worst.get(where, (call, 0, lag))
        worst[where] = known[0], max(number_of, known[1]), least(lag, known[2])


def unpinned_copies(moments: list[Moment]) -> Found:
    """The copies from or to memory that is not pinned, in which the host may wait (R2.2, R2.6)."""
    found: dict[Where | None, dict[Any, set[Node]]] = {}
    for node in (moment.node for moment in moments):
        call = node.call
        if (
            call
            and call[0] in {"memcpy", "memcpy_async"}
            and PAGEABLE in (call[1].dst, call[1].src)
        ):
            found.setdefault(node.where, {}).setdefault(node.step, set()).add(node)
    return {where: worst_step(by_step) for where, by_step in found.items()}


def worst_step(by_step: dict[Any, set[Node]]) -> tuple[str, int, None]:
    """The step with most of some calls: one of them in words, and how many there are."""
    nodes = max(by_step.values(), key=len)
    first = min(nodes, key=lambda node: node.depth)
    return described(first.call or ("",)), len(nodes), None


def overlap(moments: list[Moment]) -> tuple[int, int]:
    """How many pairs of device operations have no order, and how many pairs there are."""
    ops = [moment for moment in moments if not moment.on_host][:OPERATIONS]
    free = pairs = 0
    for at, later in enumerate(ops):
        for earlier in ops[:at]:
            if near(earlier.node.step, later.node.step):
                pairs += 1
                free += earlier.lane != later.lane and not later.knows(earlier)
    return free, pairs


def near(first: int | None, second: int | None) -> bool:
    """Whether two operations are of the same step or of neighbouring ones."""
    return first is None or second is None or abs(first - second) <= 1


def least(first: int | None, second: int | None) -> int | None:
    """The smaller lag; None is none known."""
    return first if second is None else second if first is None else min(first, second)


def stalls_of(host: Host, contract: Contract, steps: list[Any]) -> tuple[Found, Recording]:
    """The stalls of one schedule: where → (the call, most in one step, least lag); what was
    recorded.
    """
    kind = PatientRecording if host.gpu.cells_used else Recording
    recording = kind(host, contract)
    listener = Listening(recording)
    for thread, result in steps:
        recording.take(thread, result)
    counts: dict[Where | None, dict[Any, int]] = {}
    known: dict[Where | None, tuple[str, int | None]] = {}
    for node, lag in listener.heard:
        assert node.call is not None
        by_step = counts.setdefault(node.where, {})
        by_step[node.step] = by_step.get(node.step, 0) + 1
        call, other = known.setdefault(node.where, (described(node.call), lag))
        known[node.where] = call, least(lag, other)
    stalls = {
        where: (known[where][0], max(by_step.values()), known[where][1])
        for where, by_step in counts.items()
    }
    return stalls, recording


class Listening:
    """Hears of every wait of a recording that has something to wait for."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.clocks: RecordingClocks = recording.clocks
        self.heard: list[tuple[Node, int | None]] = []
        self.await_ = self.clocks.await_
        self.clocks.await_ = self.awaits

    def awaits(self, frontier: Frontier) -> None:
        """A wait: note it if something that it waits for is not known to be done."""
        if not self.clocks.covered(frontier):
            node = self.clocks.current.node
            self.heard.append((node, self.lag(node, frontier)))
        self.await_(frontier)

    def lag(self, node: Node, frontier: Frontier) -> int | None:
        """How many steps before the newest work was issued that is waited for."""
        host = self.clocks.host
        lane, tick, clock = frontier
        ends = {**clock, lane: max(tick, clock.get(lane, 0))}
        issued = [
            moment.node.step
            for moment in self.clocks.moments
            if host.get(moment.lane, 0) < moment.tick <= ends.get(moment.lane, 0)
        ]
        steps = [step for step in issued if step is not None]
        return max(0, node.step - max(steps)) if node.step is not None and steps else None
