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

import time
from typing import TYPE_CHECKING

from .host_order import Footprint, HostOrder, HostStep, dependent, merge, own_footprint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .schedule import Schedule, Step


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
    """All host schedules of a program, up to the order of independent calls.

    `spent` says that it ended at the deadline (on `time.monotonic`), not because it was complete.
    """

    def __init__(self, start: Callable[[], Schedule], deadline: float | None = None) -> None:
        self.start = start
        self.deadline = deadline
        self.path: list[Choice] = []
        self.spent = False

    def __iter__(self) -> Iterator[Schedule]:
        """Each complete schedule (every thread returned, or all of them stuck)."""
        while True:
            schedule = self.start()
            if self.run(schedule):
                yield schedule
            if self.spent:
                return
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
        cells = schedule.cells
        at = 0
        while True:
            if not at % 256 and self.deadline and time.monotonic() > self.deadline:
                self.spent = True
                return False
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
            schedule.take(*step)
            choice.footprint = cells.take()
            if rest is None:
                choice.footprint |= own_footprint(node.call)
            call = node.call if rest is None else None
            trace.note(HostStep(at, step[0], call, choice.footprint), self.path)
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


class Trace(HostOrder):
    """The calls of the current schedule, to find what could be turned round.

    `events` lists each call's thread and what happened before it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.events: list[tuple[int, dict[int, int]]] = []

    def note(self, step: HostStep, path: list[Choice]) -> None:
        """Add a call; where it could have come before an earlier one, see that it does."""
        races = self.races(step.thread, step.footprint)
        now = self.add(step)
        for at in races:
            self.turn_round(at, step.thread, now, path)
        self.events.append((step.thread, now))

    def races(self, thread: int, footprint: Footprint) -> list[int]:
        """The earlier calls of other threads that a call depends on and does not come after."""
        past = self.past.get(thread, {})
        return [
            at
            for other, at, _known in self.rivals(footprint)
            if other != thread and past.get(other, 0) <= at
        ]

    def stuck(self, schedule: Schedule, path: list[Choice]) -> None:
        """Calls that never happened because their threads are stuck could have come earlier."""
        for thread, (node, rest) in schedule.points.items():
            if node.call is not None and rest is None:
                footprint = own_footprint(node.call)
                now = dict(self.past.get(thread, {}))
                merge(now, *(known for _other, _at, known in self.rivals(footprint)))
                for at in self.races(thread, footprint):
                    self.turn_round(at, thread, now, path)

    def turn_round(self, at: int, thread: int, now: dict[int, int], path: list[Choice]) -> None:
        """See that some schedule has this call before the call at `at`: want, there, a thread with
        which such a schedule can begin (source sets, Abdulla and others, POPL 2014).
        """
        rival = self.events[at][0]
        later = [
            (index, *event)
            for index, event in enumerate(self.events[at + 1 :], at + 1)
            if event[1].get(rival, 0) <= at
        ]
        beginnings = initials([*later, (len(self.events), thread, now)])
        choice = path[at]
        if not choice.wanted.intersection(beginnings):
            able = {option[0] for option in choice.options}
            can = [other for other in beginnings if other in able]
            choice.wanted |= {can[0]} if can else able


def initials(events: list[tuple[int, int, dict[int, int]]]) -> list[int]:
    """The threads whose first event comes after none of the others."""
    found: list[int] = []
    seen: set[int] = set()
    for index, thread, known in events:
        if thread not in seen:
            seen.add(thread)
            others = ((at, other) for at, other, _known in events if at < index)
            if all(known.get(other, 0) <= at for at, other in others):
                found.append(thread)
    return found
