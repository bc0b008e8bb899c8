"""The order of host calls: which calls depend on which, in one schedule.

Two calls of different threads are *dependent* when they touch one stream's tail, one event, lock,
cell or end of a queue and one of them changes it. The search turns dependent calls round; a
counterexample that keeps a call keeps the calls it depends on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .objects import Cell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .calls import Call

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


def own_footprint(call: Call) -> Footprint:
    """What a call touches besides streams and events: a lock, its end of a queue, a cell.

    A release and a lock's next acquire, a put and its get are ordered but never both possible, so
    they do not conflict.
    """
    verb = call[0]
    if verb == "acquire":
        return frozenset({(call[1], True)})
    if verb in {"put", "get"}:
        return frozenset({((verb, call[1]), True)})
    if verb in {"set_cell", "wait_cell"}:
        return frozenset({(call[1], verb == "set_cell")})
    if verb == "query":
        # Its answer depends on what can be done, and that on the cells that work waits for.
        return frozenset((cell, False) for cell in call[1].gpu.syncs if isinstance(cell, Cell))
    if verb in {"write_value", "wait_value"}:
        return frozenset({(call[2], verb == "write_value")})
    return frozenset()


class HostStep(NamedTuple):
    """A phase of a call: its place, its thread, its call (None: the rest of one), its footprint."""

    at: int
    thread: int
    call: Call | None
    footprint: Footprint


class HostOrder:
    """The calls of a schedule with their order.

    `past[thread]` maps each thread to the index of its last call that happened before that
    thread's next one (plus one); `writes` and `reads` give the last calls on a thing.
    """

    def __init__(self) -> None:
        self.past: dict[int, dict[int, int]] = {}
        self.writes: dict[object, tuple[int, int, dict[int, int]]] = {}
        self.reads: dict[object, dict[int, tuple[int, dict[int, int]]]] = {}
        self.signals: dict[object, list[dict[int, int]]] = {}

    def add(self, step: HostStep) -> dict[int, int]:
        """Note a call; what happened before it, itself included."""
        now = {**self.past.get(step.thread, {}), step.thread: step.at + 1}
        for _other, _at, known in self.rivals(step.footprint):
            merge(now, known)
        if step.call is not None:
            self.synchronise(step.call, now)
        self.past[step.thread] = now
        for thing, changes in step.footprint:
            if changes:
                self.writes[thing] = (step.thread, step.at, now)
                self.reads[thing] = {}
            else:
                self.reads.setdefault(thing, {})[step.thread] = (step.at, now)
        return now

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


def merge(into: dict[int, int], *others: dict[int, int]) -> None:
    """Lane-wise maximum, in place."""
    for other in others:
        for lane, tick in other.items():
            if tick > into.get(lane, 0):
                into[lane] = tick
