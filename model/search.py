"""Search of host schedules: dynamic partial-order reduction with sleep sets.

Two neighbouring calls of different threads are *dependent* when they touch one stream's tail, one
event, lock or end of a queue and one of them changes it; schedules that differ only in the order of
independent calls decide the same. The search runs one schedule to its end, finds for each call
the last dependent call of another thread that it could have preceded, and goes back there
(Flanagan and Godefroid, POPL 2005). A sleep set holds the (thread, result) pairs that need no
second look until something dependent on them happens. Memory is not dependence: a missing order
shows as a hazard in whichever schedule is run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import sync

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .gpu import Call
    from .schedule import Schedule, Step

Touch = tuple[object, bool]
Footprint = frozenset[Touch]


class Cells(list[Any]):
    """Frontier cells that remember which of them a call read and wrote."""

    def __init__(self, cells: list[Any]) -> None:
        super().__init__(cells)
        self.touched: set[Touch] = set()

    def __getitem__(self, slot: Any) -> Any:
        self.touched.add((slot, False))
        return super().__getitem__(slot)

    def __setitem__(self, slot: Any, frontier: Any) -> None:
        self.touched.add((slot, True))
        super().__setitem__(slot, frontier)

    def take(self) -> Footprint:
        """The cells touched since the last call of this."""
        touched, self.touched = frozenset(self.touched), set()
        return touched


def dependent(first: Footprint, second: Footprint) -> bool:
    """Whether two calls touch one thing and one of them changes it."""
    return any(
        (thing, True) in second or (writes and (thing, False) in second) for thing, writes in first
    )


def control_footprint(call: Call) -> Footprint:
    """What a control call touches: a lock, or its end of a queue. A release and a lock's next
    acquire, a put and its get are ordered but never both possible, so they do not conflict.
    """
    verb = call[0]
    if verb == "acquire":
        return frozenset({(call[1], True)})
    if verb in {"put", "get"}:
        return frozenset({((verb, call[1]), True)})
    return frozenset()


class Choice:
    """A point of the current schedule: what could come next, and what has been tried.

    - `asleep` maps a (thread, result) that needs no look here to its footprint;
    - `wanted` are the threads to try here, `step` and `footprint` what was tried last;
    - `before` are the threads' pasts (thread → index of its last call that counts).
    """

    __slots__ = ("asleep", "footprint", "options", "step", "wanted")

    def __init__(self, options: list[Step], asleep: dict[Step, Footprint]) -> None:
        self.options = options
        self.asleep = asleep
        self.wanted: set[int] = set()
        self.step: Step | None = None
        self.footprint: Footprint = frozenset()

    def next(self) -> Step | None:
        """An option of a wanted thread that is not asleep."""
        for option in self.options:
            if option[0] in self.wanted and option not in self.asleep:
                return option
        return None


class Search:
    """All host schedules of a program, up to the order of independent calls."""

    def __init__(self, start: Callable[[], Schedule]) -> None:
        self.start = start
        self.path: list[Choice] = []

    def __iter__(self) -> Iterator[Schedule]:
        """Each complete schedule (every thread returned, or all of them stuck)."""
        while True:
            schedule = self.start()
            if self.run(schedule):
                yield schedule
            while self.path and self.back() is None:
                self.path.pop()
            if not self.path:
                return

    def back(self) -> Step | None:
        """Put the last point's step to sleep and say what to try there instead."""
        choice = self.path[-1]
        if choice.step is not None:
            choice.asleep[choice.step] = choice.footprint
        choice.step = choice.next()
        return choice.step

    def run(self, schedule: Schedule) -> bool:
        """Repeat the path, then go on to the end; False when everything left is asleep."""
        trace = Trace()
        cells = schedule.front.cells = Cells(schedule.front.cells)
        at = 0
        while True:
            if at == len(self.path):
                options = schedule.options()
                cells.take()
                if not options:
                    trace.stuck(schedule, self.path)
                    return True
                if not self.extend(options):
                    return False
            choice = self.path[at]
            step = choice.step
            assert step is not None
            node, rest = schedule.points[step[0]]
            assert node.call is not None
            control = node.call[0] in sync.CONTROL and rest is None
            schedule.take(*step)
            touched = cells.take()
            choice.footprint = control_footprint(node.call) if control else touched
            trace.add(at, step[0], node.call if rest is None else None, choice.footprint, self.path)
            at += 1

    def extend(self, options: list[Step]) -> bool:
        """A new point at the end of the path, with the first option that is not asleep."""
        asleep: dict[Step, Footprint] = {}
        if self.path:
            last = self.path[-1]
            assert last.step is not None
            asleep = {
                step: footprint
                for step, footprint in last.asleep.items()
                if step[0] != last.step[0] and not dependent(footprint, last.footprint)
            }
        choice = Choice(options, asleep)
        awake = [step for step in options if step not in asleep]
        if not awake:
            return False
        choice.wanted.add(awake[0][0])
        choice.step = awake[0]
        self.path.append(choice)
        return True


class Trace:
    """The calls of the current schedule with their order, to find what could be turned round.

    `past[thread]` maps each thread to the index of its last call that happened before that
    thread's next one; `writes` and `reads` give the last calls on a thing.
    """

    def __init__(self) -> None:
        self.past: dict[int, dict[int, int]] = {}
        self.writes: dict[object, tuple[int, int, dict[int, int]]] = {}
        self.reads: dict[object, dict[int, tuple[int, dict[int, int]]]] = {}
        self.signals: dict[object, list[dict[int, int]]] = {}

    def add(
        self, index: int, thread: int, call: Call | None, footprint: Footprint, path: list[Choice]
    ) -> None:
        """Note a call; where it could have come before an earlier one, want its thread there."""
        past = self.past.setdefault(thread, {})
        now = {**past, thread: index + 1}
        for other, at, known in self.rivals(footprint):
            if other != thread and past.get(other, 0) <= at:
                want(path[at], thread)
            merge(now, known)
        if call is not None:
            self.synchronise(call, now)
        self.past[thread] = now
        for thing, changes in footprint:
            if changes:
                self.writes[thing] = (thread, index, now)
                self.reads[thing] = {}
            else:
                self.reads.setdefault(thing, {})[thread] = (index, now)

    def rivals(self, footprint: Footprint) -> Iterator[tuple[int, int, dict[int, int]]]:
        """The last dependent calls: (thread, index, its past with itself)."""
        for thing, changes in footprint:
            if thing in self.writes:
                yield self.writes[thing]
            if changes:
                for thread, (at, known) in self.reads.get(thing, {}).items():
                    yield thread, at, known

    def synchronise(self, call: Call, now: dict[int, int]) -> None:
        """Orders that nothing can turn round: start, join, release → acquire, put → get."""
        verb = call[0]
        if verb == "thread":
            self.past[call[1].slot] = dict(now)
        elif verb == "join":
            merge(now, self.past.get(call[1].slot, {}))
        elif verb == "acquire":
            merge(now, *self.signals.get(("release", call[1]), [])[-1:])
        elif verb == "get":
            taken = self.signals.setdefault(("get", call[1]), [])
            merge(now, self.signals["put", call[1]][len(taken)])
        elif verb == "put" and call[1].capacity is not None:
            room = len(self.signals.get(("put", call[1]), ())) - call[1].capacity
            if room >= 0:
                merge(now, self.signals["get", call[1]][room])
        if verb in {"release", "put", "get"}:
            self.signals.setdefault((verb, call[1]), []).append(now)

    def stuck(self, schedule: Schedule, path: list[Choice]) -> None:
        """Calls that never happened because their threads are stuck could have come earlier."""
        for thread, (node, rest) in schedule.points.items():
            if node.call is not None and rest is None and node.call[0] in sync.CONTROL:
                past = self.past.get(thread, {})
                for other, at, _known in self.rivals(control_footprint(node.call)):
                    if other != thread and past.get(other, 0) <= at:
                        want(path[at], thread)


def want(choice: Choice, thread: int) -> None:
    """Try the thread at this point; where it cannot go on there, try every thread."""
    able = {option[0] for option in choice.options}
    choice.wanted |= {thread} if thread in able else able


def merge(into: dict[int, int], *others: dict[int, int]) -> None:
    """Lane-wise maximum, in place."""
    for other in others:
        for lane, tick in other.items():
            if tick > into.get(lane, 0):
                into[lane] = tick
