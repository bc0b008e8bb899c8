"""The processes of a Promela model that carry out operations, one for each lane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .action import Action, Loop
from .batches import Batch, Batches, batches_in, individual
from .layout import kind_of
from .promela_words import Words, atomic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .action import Operation
    from .layout import Layout, Owner


class Lanes(Words):
    """Lanes, and what comes through their queues.

    `code` is each thread's, with its rows in `batches` where that is asked for; `alone` are the
    operations that come by themselves.
    """

    def __init__(self, layout: Layout, *, batched: bool = False) -> None:
        super().__init__(layout)
        self.kinds = {
            (lane, key): self.names.of(("kind", lane, key), macro(op.label))
            for lane, kinds in layout.kinds.items()
            for key, op in kinds.items()
        }
        self.code = layout.code
        if batched:
            batches = Batches(layout, self.is_silent)
            self.accesses.pending = batches.drained()
            self.code = {thread: batches.of(code) for thread, code in layout.code.items()}
        alone = [action for code in self.code.values() for action in individual(code)]
        self.alone = {(op.lane, kind_of(op)) for action in alone for op in action.issues}
        self.batches: dict[tuple[int, Any], tuple[str, Batch]] = {}
        for batch in (each for code in self.code.values() for each in batches_in(code)):
            name = self.names.of(("batch", batch.lane, batch.key), "BATCH")
            self.batches.setdefault((batch.lane, batch.key), (name, batch))

    def lane(self, lane: int) -> Iterator[str]:
        """The process that carries out the operations of a lane, one after the other."""
        fields = self.fields(lane)
        process = self.names.of(("lane", lane), f"{self.layout.lanes[lane]}_runs")
        yield f"active proctype {process}()"
        yield "{"
        rows = [each for at, each in self.batches if at == lane]
        counters = (
            ["i"] if any(type(part[0]) is int for row in rows for part in row if part) else []
        )
        if fields or counters:
            yield f"    short {', '.join([*fields, *counters])};"
        yield from self.own_memory(("lane", lane))
        yield f"    xr {self.queue(lane)};"
        yield "end:"
        yield "    do"
        for batch in [each for (at, _key), each in self.batches.items() if at == lane]:
            yield from self.batch(*batch, fields)
        for key, op in self.layout.kinds[lane].items():
            if (lane, key) not in self.alone:
                continue
            yield f"    /* {op.label} */"
            received = ", ".join([self.kinds[lane, key], *fields])
            begun = [f"{self.queue(lane)} ? {received}", *self.may_start(op), *self.begin(op)]
            ended = [*self.finish(op), *([f"{self.done(lane)}++"] if self.counts(op) else [])]
            if self.accesses.marked(op):
                yield from atomic(begun, "    :: ", ";")
                yield from atomic(ended, "       ")
            else:
                yield from atomic([*begun, *ended], "    :: ")
        yield "    od"
        yield "}"

    def is_silent(self, action: Action) -> bool:
        """Whether an action that issues changes nothing but a queue."""
        pending = any(op.slots & self.accesses.pending for op in action.issues)
        return not pending and not list(self.assignments(action))

    def messages(self, lane: int) -> Iterator[str]:
        """The names of what comes through a lane's queue."""
        yield from (name for (at, _key), (name, _batch) in self.batches.items() if at == lane)
        for key in self.layout.kinds[lane]:
            if (lane, key) in self.alone:
                yield self.kinds[lane, key]

    def batch(self, name: str, batch: Batch, fields: list[str]) -> Iterator[str]:
        """A row of operations that came as one message, each with its own steps."""
        yield f"    :: {self.queue(batch.lane)} ? {', '.join([name, *fields])};"
        for part in batch.parts:
            if isinstance(part, Loop):
                yield "       i = 0;"
                yield "       do"
                yield f"       :: i < {part.times} ->"
                for action in part.body:
                    yield from self.steps(action, " " * 11)
                yield "           i++"
                yield "       :: else -> i = 0; break"
                yield "       od;"
            else:
                yield from self.steps(part, " " * 7)
        yield "       skip"

    def steps(self, action: Action, indent: str) -> Iterator[str]:
        """The steps of an action's operations, one after the other."""
        for op in action.issues:
            yield f"{indent}/* {op.label} */"
            begun = [*self.may_start(op), *self.begin(op)]
            ended = [*self.finish(op), *([f"{self.done(op.lane)}++"] if self.counts(op) else [])]
            if self.accesses.marked(op):
                yield from atomic(begun, indent, ";")
                yield from atomic(ended, indent, ";")
            else:
                yield from atomic([*begun, *ended], indent, ";")

    def own_memory(self, owner: Owner) -> Iterator[str]:
        """Regions that nobody else accesses: with them, partial-order reduction has more to do."""
        for slot, name in self.layout.regions.items():
            if slot in self.live and self.layout.owners[slot] == {owner}:
                yield f"    short {name} = -1;"

    def may_start(self, op: Operation) -> Iterator[str]:
        """What an operation waits for at the head of its lane."""
        for lane in self.layout.foreign[op.lane]:
            yield f"({self.done(lane)} >= {self.after(lane)})"
        if op.cell is not None and op.waits:
            yield f"({self.layout.cells[op.cell]} >= {self.value(op.word)})"

    def begin(self, op: Operation) -> Iterator[str]:
        """Accesses begin: nothing that conflicts may be under way."""
        pending = self.accesses.pending
        reads, writes = self.accesses.of(op.reads, op.writes, ())
        reads, writes = reads - pending, [w for w in writes if w.slot not in pending]
        yield from self.checks(reads, writes)
        yield from self.marked(reads, self.stores(writes), "++")

    def pend(self, op: Operation) -> Iterator[str]:
        """Accesses that count from the issue on."""
        pending = self.accesses.pending
        reads, writes = self.accesses.of(op.reads, op.writes, ())
        writes = [write for write in writes if write.slot in pending]
        yield from self.marked(reads & pending, self.stores(writes), "++")

    def finish(self, op: Operation) -> Iterator[str]:
        """Reads find what they expect, writes are done, accesses end."""
        yield from self.found(op.reads, op.writes, ())
        yield from self.stored(op.writes, ())
        reads, writes = self.accesses.of(op.reads, op.writes, ())
        yield from self.marked(reads, self.stores(writes), "--")
        if op.cell is not None and not op.waits:
            yield f"{self.layout.cells[op.cell]} = {self.value(op.word)}"

    def fields(self, lane: int) -> list[str]:
        """What a message to a lane carries beside the operation's kind."""
        layout = self.layout
        counter = ["n"] if layout.counts(lane) else []
        after = [self.after(other) for other in layout.foreign[lane]]
        return [*counter, *after, *(f"v{at}" for at in range(layout.carried[lane]))]


def macro(label: str) -> str:
    """An operation's name, from its call in words."""
    words = "".join(c if c.isalnum() else "_" for c in label.partition(" ")[2])
    return "_".join(part for part in words.split("_") if part)[:40].upper() or "OP"
