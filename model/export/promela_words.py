"""What every process of a Promela model is written with: names, values, accesses, counts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .accesses import Accesses
from .action import Action, Held, Plus, Taken, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .accesses import Counter, Stores
    from .action import Atoms, Operation, Read, Write
    from .layout import Layout

WIDTH = 100


class Words:
    """Names and expressions of a layout's parts.

    `counted` are the lanes whose operations are counted, `live` the regions whose version is kept,
    `aside` how many values have to be put aside at once.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.accesses = Accesses(layout)
        self.names = layout.names
        self.aside = 0
        self.counted = {lane for _place, lane in layout.marks}
        self.counted |= {lane for lanes in layout.foreign.values() for lane in lanes}
        self.live = self.accesses.live

    # --- accesses ---

    def checks(self, reads: set[int], writes: list[Write]) -> Iterator[str]:
        """Nothing that conflicts may be under way."""
        for zero, slot, version in self.accesses.free(reads, self.stores(writes)):
            parts = [f"{self.counter(each)} == 0" for each in zero]
            if version is not None:
                same = f"{self.stores_now(slot)} == {version}"
                parts.append(f"({self.counter(('storing', slot))} == 0 || {same})")
            yield f"assert({' && '.join(parts)})"

    def marked(self, reads: set[int], stores: Stores, change: str) -> Iterator[str]:
        """Count accesses that begin (`++`) or end (`--`)."""
        for counter in self.accesses.under_way(reads, stores):
            yield f"{self.counter(counter)}{change}"
        for slot, version in stores:
            if version is not None and change == "++":
                yield f"{self.stores_now(slot)} = {version}"

    def stores(self, writes: list[Write]) -> list[tuple[int, str | None]]:
        """Regions written, with the version where the write is idempotent."""
        return [(w.slot, self.value(w.value) if w.idempotent else None) for w in writes]

    def found(
        self, reads: Iterable[Read], writes: Iterable[Write], taken: Iterable[int]
    ) -> Iterator[str]:
        """What accesses must find in memory."""
        frees = self.layout.frees
        for read in reads:
            if read.expected is not None:
                yield f"assert({self.region(read.slot)} == {self.value(read.expected)})"
            elif frees:
                yield f"assert({self.region(read.slot)} != -3)"
        if frees:
            for slot in taken:
                yield f"assert({self.region(slot)} != -3)"
            for write in writes:
                if getattr(write.value, "number", 0) not in {-2, -3}:
                    yield f"assert({self.region(write.slot)} != -3)"

    def stored(self, writes: Iterable[Write], taken: tuple[int, ...]) -> Iterator[str]:
        """Writes, all of what memory held before them."""
        kept = [write for write in writes if write.slot in self.live]
        aside: dict[int, str] = {}
        for at, write in enumerate(kept):
            if source(write.value, taken) in {earlier.slot for earlier in kept[:at]}:
                aside[at] = f"old{len(aside)}"
                yield f"{aside[at]} = {self.value(write.value, taken)}"
        self.aside = max(self.aside, len(aside))
        for at, write in enumerate(kept):
            yield f"{self.region(write.slot)} = {aside.get(at) or self.value(write.value, taken)}"

    def value(self, value: Any, taken: tuple[int, ...] = ()) -> str:
        """A value as an expression."""
        if isinstance(value, Value):
            return str(value.number)
        if isinstance(value, Plus):
            sign = "+" if value.offset > 0 else "-"
            return f"n {sign} {abs(value.offset)}" if value.offset else "n"
        if isinstance(value, Held):
            return self.region(value.slot)
        assert isinstance(value, Taken)
        return self.region(taken[value.index]) if taken else f"v{value.index}"

    def region(self, slot: int) -> str:
        """A region's variable; nobody looks at one that is not kept."""
        return self.layout.regions[slot] if slot in self.live else "-1"

    # --- counts ---

    def counts(self, op: Operation) -> bool:
        """Whether an operation is counted: something may wait for it."""
        return op.watched and op.lane in self.counted

    def assignments(self, action: Action) -> Iterator[str]:
        """What tails and events stand for from now on; all of it read before any is changed."""
        values = {
            (place, lane): greatest(self.terms(action, atoms, lane, len(action.issues)))
            for place, atoms in action.updates
            for owner, lane in sorted(self.layout.marks, key=repr)
            if owner == place and not self.layout.is_alias((place, lane))
        }
        waiting = {self.layout.mark_name(mark): value for mark, value in values.items()}
        waiting = {name: value for name, value in waiting.items() if name != value}
        aside = 0
        while waiting:
            free = [
                n for n in waiting if not any(reads(v, n) for m, v in waiting.items() if m != n)
            ]
            name = free[0] if free else next(iter(waiting))
            if not free:
                yield f"old{aside} = {name}"
                waiting = {m: re.sub(rf"\b{name}\b", f"old{aside}", v) for m, v in waiting.items()}
                aside += 1
                self.aside = max(self.aside, aside)
            yield f"{name} = {waiting.pop(name)}"

    def terms(self, action: Action, atoms: Atoms, lane: int, so_far: int) -> list[str]:
        """The counts of a lane that atoms stand for, when so many operations have been issued; one
        of these is beyond what was there before.
        """
        lanes = [op.lane if op.watched else None for op in action.issues[:so_far]]
        since = [
            lanes[at + 1 :].count(lane)
            for kind, at in atoms
            if kind == "op" and action.issues[at].lane == lane
        ]
        if since:
            return [less(self.issued(lane), min(since))]
        marks = [
            (at, lane) for kind, at in atoms if kind == "cell" and (at, lane) in self.layout.marks
        ]
        names = {
            less(self.issued(lane), lanes.count(lane))
            if self.layout.is_alias(mark)
            else self.layout.mark_name(mark)
            for mark in marks
        }
        return sorted(names)

    # --- names ---

    def counter(self, counter: Counter) -> str:
        """A counter of accesses under way."""
        kind, slot = counter
        return self.names.of(counter, f"{kind}_{self.layout.regions[slot]}")

    def stores_now(self, slot: int) -> str:
        """The version that idempotent writes under way store."""
        return self.names.of(("stores", slot), f"stores_{self.layout.regions[slot]}")

    def queue(self, lane: int) -> str:
        """A lane's queue."""
        return self.names.of(("queue", lane), f"to_{self.layout.lanes[lane]}")

    def issued(self, lane: int) -> str:
        """How many operations of a lane were issued."""
        return self.layout.issued_name(lane)

    def done(self, lane: int) -> str:
        """How many operations of a lane are done."""
        return self.names.of(("done", lane), f"done_{self.layout.lanes[lane]}")

    def after(self, lane: int) -> str:
        """How many operations of a lane an operation waits for."""
        return self.names.of(("after", lane), f"after_{self.layout.lanes[lane]}")

    def process(self, thread: int) -> str:
        """The process of a host thread."""
        return self.names.of(("thread", thread), f"{self.layout.threads[thread]}_calls")

    def ended(self, thread: int) -> str:
        """Whether a host thread has ended."""
        return self.names.of(("ended", thread), f"{self.layout.threads[thread]}_ended")

    def thing(self, thing: Any) -> str:
        """A lock, or a queue between threads."""
        return self.names.of(thing, thing.name)


def reads(expression: str, name: str) -> bool:
    """Whether an expression reads a variable."""
    return re.search(rf"\b{name}\b", expression) is not None


def less(name: str, number: int) -> str:
    """A counter less a number."""
    return f"{name} - {number}" if number else name


def greatest(terms: list[str]) -> str:
    """The greatest of several counts."""
    if not terms:
        return "0"
    first, *rest = terms
    if not rest:
        return first
    other = greatest(rest)
    return f"({first} > {other} -> {first} : {other})"


def atomic(statements: list[str], before: str, after: str = "") -> Iterator[str]:
    """One step of several statements, on one line or a line each."""
    if len(statements) < 2:
        yield f"{before}{statements[0] if statements else 'skip'}{after}"
        return
    line = f"{before}atomic {{ {'; '.join(statements)} }}{after}"
    if len(line) <= WIDTH:
        yield line
        return
    indent = " " * len(before)
    yield f"{before}atomic {{"
    for at, statement in enumerate(statements):
        yield f"{indent}    {statement}{';' if at < len(statements) - 1 else ''}"
    yield f"{indent}}}{after}"


def source(value: Any, taken: tuple[int, ...]) -> int | None:
    """The region that a stored value comes from."""
    if isinstance(value, Held):
        return value.slot
    return taken[value.index] if isinstance(value, Taken) and taken else None
