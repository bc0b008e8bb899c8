"""Accesses that could meet: counters for those under way, and what must be so when one begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .action import Held, Taken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .action import Action, Operation, Read, Write
    from .layout import Layout

KINDS = ("reading", "writing", "storing")
Counter = tuple[str, int]
"""What is counted (one of `KINDS`), and of which region."""

Stores = list[tuple[int, "str | None"]]
"""Regions written, each with the version where the write is idempotent."""


class Condition(NamedTuple):
    """Counters that must be zero; an idempotent write of `version` may also meet its equals."""

    zero: list[Counter]
    slot: int
    version: str | None


class Accesses:
    """Which accesses are watched, and which memory anybody looks at.

    Two accesses that conflict and are both possible in one state are a hazard. An access of a
    region where others could meet it is counted from its begin to its end, so such a state is one
    in which an access begins while a conflicting one is under way. `pending` are regions whose
    accesses by operations count from their issue (see `Batches.drained`).
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.live = live(layout)
        self.pending: set[int] = set()

    def of(
        self, reads: Iterable[Read], writes: Iterable[Write], taken: Iterable[int]
    ) -> tuple[set[int], list[Write]]:
        """The watched regions that are read, and the watched writes."""
        shared = self.layout.shared
        loaded = {read.slot for read in reads} | set(taken)
        loaded |= {write.value.slot for write in writes if isinstance(write.value, Held)}
        stores: dict[tuple[int, bool], Write] = {}
        for write in writes:
            if write.slot in shared:
                stores.setdefault((write.slot, write.idempotent), write)
        return loaded & shared, list(stores.values())

    def marked(self, op: Operation) -> bool:
        """Whether an operation has accesses that are counted."""
        return bool(op.slots & self.layout.shared - self.pending)

    def counters(self, slot: int) -> list[Counter]:
        """The counters of a region: reads, writes, and idempotent writes where there are any."""
        kinds = KINDS if slot in self.layout.idempotent else KINDS[:2]
        return [(kind, slot) for kind in kinds]

    def free(self, reads: set[int], stores: Stores) -> Iterator[Condition]:
        """What must be so for accesses to conflict with none that is under way."""
        for slot in sorted(reads):
            yield Condition(self.zero(slot, "writing", "storing"), slot, None)
        for slot, version in stores:
            kinds = ("reading", "writing") if version is not None else KINDS
            yield Condition(self.zero(slot, *kinds), slot, version)

    def zero(self, slot: int, *kinds: str) -> list[Counter]:
        """Those of a region's counters that exist."""
        return [counter for counter in self.counters(slot) if counter[0] in kinds]

    def under_way(self, reads: set[int], stores: Stores) -> Iterator[Counter]:
        """The counters of accesses that begin or end."""
        for slot in sorted(reads):
            yield "reading", slot
        for slot, version in stores:
            yield ("writing" if version is None else "storing"), slot


def live(layout: Layout) -> set[int]:
    """The regions whose version some read asks for, or that one is copied from."""
    reads = [read for action in layout.actions for read in action.reads]
    reads += [r for action in layout.actions for op in action.issues for r in op.reads]
    if layout.frees:
        return set(layout.regions)
    found = {read.slot for read in reads if read.expected is not None}
    moves = [move for action in layout.actions for move in moves_of(action)]
    changed = True
    while changed:
        before = len(found)
        found |= {source for source, target in moves if target in found}
        changed = len(found) > before
    return found


def moves_of(action: Action) -> Iterator[tuple[int, int]]:
    """Where the versions that an action and its operations write come from: (source, target)."""
    for write in action.writes:
        if isinstance(write.value, Held):
            yield write.value.slot, write.slot
        elif isinstance(write.value, Taken):
            yield action.taken[write.value.index], write.slot
    for op in action.issues:
        for write in op.writes:
            if isinstance(write.value, Held):
                yield write.value.slot, write.slot
            elif isinstance(write.value, Taken):
                yield action.taken[op.carries[write.value.index]], write.slot
