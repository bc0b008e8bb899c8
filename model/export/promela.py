"""The program as a Promela model: a process for each host thread and each lane of operations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..errors import BadInput
from .accesses import Accesses
from .action import Action, Branch, Goto, Held, Label, Loop, Plus, Taken, Value
from .batches import Batch, Batches, batches_in, individual
from .layout import grown_by, kind_of
from .watched import flat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .accesses import Counter, Stores
    from .action import Atoms, Operation, Read, Write
    from .layout import Layout, Owner

DEEPEST = 255
"""The most messages that one of Promela's channels holds."""

WIDTH = 100


class Promela:
    """Writes a layout as Promela; `text()` is the model."""

    def __init__(self, layout: Layout, *, batched: bool = False) -> None:
        self.layout = layout
        self.accesses = Accesses(layout)
        self.names = layout.names
        self.aside = 0
        self.counted = {lane for _place, lane in layout.marks}
        self.counted |= {lane for lanes in layout.foreign.values() for lane in lanes}
        self.live = self.accesses.live
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

    # --- the whole ---

    def lines(self) -> Iterator[str]:
        """The model without its heading."""
        processes: list[str] = []
        for lane in self.layout.lanes:
            processes += ["", *self.lane(lane)]
        for thread in self.layout.threads:
            processes += ["", *self.thread(thread)]
        yield from self.declarations()
        if self.aside:
            yield f"hidden short {', '.join(f'old{at}' for at in range(self.aside))};"
        yield from processes

    def declarations(self) -> Iterator[str]:
        """What all processes share."""
        layout = self.layout
        memory = [
            name for slot, name in layout.regions.items() if slot in self.live & layout.shared
        ]
        if memory:
            yield "/* What each region holds: the number of a version. */"
            yield from (f"short {name} = -1;" for name in memory)
        if layout.shared:
            yield ""
            yield "/* How many accesses of a region are under way: of two that conflict, one. */"
            if self.accesses.pending:
                yield "/* Those of a stream that one thread uses count from their issue on. */"
            for slot in sorted(layout.shared):
                yield f"byte {', '.join(map(self.counter, self.accesses.counters(slot)))};"
                if slot in layout.idempotent:
                    yield f"short {self.stores_now(slot)};"
        yield from self.queues()
        yield from self.marks()
        yield from self.controls()

    def queues(self) -> Iterator[str]:
        """Streams: their queues, and the operations that come through them."""
        for lane, name in self.layout.lanes.items():
            most = sum(messages(code, lane) for code in self.code.values())
            if most > DEEPEST:
                raise BadInput(
                    f"{most} operations can be in the queue of {name}, and Promela's channels hold "
                    f"{DEEPEST}: a shorter queue could hide a mistake; give fewer --steps or layers"
                )
            yield ""
            yield f"/* {name}: operations that were issued and are not begun, in order. */"
            for number, kind in enumerate(self.messages(lane), 1):
                yield f"#define {kind} {number}"
            fields = ", ".join(["byte"] + ["short"] * len(self.fields(lane)))
            yield f"chan {self.queue(lane)} = [{max(1, most)}] of {{ {fields} }};"

    def marks(self) -> Iterator[str]:
        """Counters of operations, and what events and tails stand for."""
        if self.counted:
            yield ""
            yield "/* How many operations of a lane were issued, and how many are done. */"
            for lane in sorted(self.counted):
                yield f"short {self.issued(lane)}, {self.done(lane)};"
        if self.layout.marks:
            yield ""
            yield "/* How many of them must be done for what an event or a tail stands for. */"
            for mark in sorted(self.layout.marks, key=repr):
                if not self.layout.is_alias(mark):
                    yield f"short {self.layout.mark_name(mark)};"

    def controls(self) -> Iterator[str]:
        """Cells, locks, queues between threads, and which threads have ended."""
        for name in self.layout.cells.values():
            yield f"short {name};"
        for verb, thing in dict.fromkeys(
            a.guard[:2] for a in self.layout.actions if a.guard and a.guard[0] in {"acquire", "put"}
        ):
            if verb == "acquire":
                yield f"bit {self.thing(thing)};"
            else:
                yield f"chan {self.thing(thing)} = [{self.capacity(thing)}] of {{ byte }};"
        for thread in sorted({a.guard[1] for a in self.layout.actions if a.guard[:1] == ("join",)}):
            yield f"bit {self.ended(thread)};"

    def capacity(self, queue: Any) -> int:
        """How much a queue between threads holds; an unbounded one all that is ever put."""
        if queue.capacity is not None:
            return queue.capacity
        puts = sum(count_puts(code, queue) for code in self.layout.code.values())
        if puts > DEEPEST:
            raise BadInput(
                f"{puts} items can be in the unbounded queue {queue.name!r}, and Promela's "
                f"channels hold {DEEPEST}: give fewer --steps"
            )
        return puts

    def vector_size(self) -> int:
        """A bound on the bytes of a state, as a power of two."""
        layout = self.layout
        depths = {n: sum(messages(code, n) for code in self.code.values()) for n in layout.lanes}
        queues = sum(depths[n] * (2 + 2 * len(self.fields(n))) + 16 for n in layout.lanes)
        rest = 4 * (len(self.live) + 3 * len(layout.shared) + len(layout.marks))
        size, total = 1024, queues + rest + 64 * (len(layout.lanes) + len(layout.threads)) + 512
        while size < total:
            size *= 2
        return size

    # --- lanes ---

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

    # --- host threads ---

    def counts(self, op: Operation) -> bool:
        """Whether an operation is counted: something may wait for it."""
        return op.watched and op.lane in self.counted

    def thread(self, thread: int) -> Iterator[str]:
        """The process of a host thread."""
        code = self.code[thread]
        yield f"{'proctype' if thread else 'active proctype'} {self.process(thread)}()"
        yield "{"
        variables = [name for name, used in (("n", has_steps(code)), *repeats(code)) if used]
        if variables:
            yield f"    short {', '.join(variables)};"
        yield from self.own_memory(("thread", thread))
        for lane in sorted(self.sent_by(thread)):
            if not any(
                lane in self.sent_by(other) for other in self.layout.code if other != thread
            ):
                yield f"    xs {self.queue(lane)};"
        yield from self.block(code, "    ", thread)
        if any(a.guard == ("join", thread) for a in self.layout.actions):
            yield f"    {self.ended(thread)} = 1;"
        yield "end:    false"
        yield "}"

    def sent_by(self, thread: int) -> set[int]:
        """The lanes that a thread issues to."""
        code = self.layout.code[thread]
        return {op.lane for action in flat(code) for op in action.issues}

    def block(self, code: list[Any], indent: str, thread: int, depth: int = 0) -> Iterator[str]:
        """A sequence of code."""
        for part in code:
            if isinstance(part, Action):
                yield from self.action(part, indent)
            elif isinstance(part, Batch):
                yield from self.sent(part, indent)
            elif isinstance(part, Loop):
                yield from self.loop(part, indent, thread, depth)
            elif isinstance(part, Branch):
                yield f"{indent}if"
                for way in part.ways:
                    yield from self.way(way, indent, thread, depth)
                yield f"{indent}fi;"
            elif isinstance(part, Label):
                yield f"{f'L{part.number}'}:"
                yield f"{indent}skip;"
            elif isinstance(part, Goto):
                yield f"{indent}goto {f'L{part.number}'};"

    def sent(self, batch: Batch, indent: str) -> Iterator[str]:
        """A row of issues as one message."""
        name, _first = self.batches[batch.lane, batch.key]
        for action in flat(batch.parts):
            yield f"{indent}/* {action.comment} */"
        counter = ["n" if batch.grows else "0"] if self.layout.counts(batch.lane) else []
        rest = ["0"] * (len(self.fields(batch.lane)) - len(counter))
        statements = [f"{self.queue(batch.lane)} ! {', '.join([name, *counter, *rest])}"]
        for part in batch.parts:
            if isinstance(part, Action):
                statements += [each for op in part.issues for each in self.pend(op)]
                statements += [f"{self.issued(op.lane)}++" for op in part.issues if self.counts(op)]
                statements += self.assignments(part)
        yield from atomic(statements, indent, ";")

    def way(self, way: list[Any], indent: str, thread: int, depth: int) -> Iterator[str]:
        """One way of a branch."""
        inner = list(self.block(way, indent + "   ", thread, depth))
        if not (way and isinstance(way[0], Action)):
            inner = [f"{indent}   true;", *inner]
        first = next(at for at, line in enumerate(inner) if not line.lstrip().startswith("/*"))
        inner[first] = f"{indent}:: {inner[first].lstrip()}"
        yield from inner

    def loop(self, loop: Loop, indent: str, thread: int, depth: int) -> Iterator[str]:
        """A loop over steps, or a repetition on the spot."""
        counted = loop.first is not None
        name = "n" if counted else f"i{depth}"
        first = loop.first or 0
        last = first + loop.times * (loop.stride if counted else 1)
        yield f"{indent}{name} = {first};"
        yield f"{indent}do"
        yield f"{indent}:: {name} < {last} ->"
        inner = depth if counted else depth + 1
        yield from self.block(loop.body, indent + "    ", thread, inner)
        yield f"{indent}    {name} = {name} + {loop.stride if counted else 1}"
        yield f"{indent}:: else -> {name} = 0; break"
        yield f"{indent}od;"

    def action(self, action: Action, indent: str) -> Iterator[str]:
        """A host action: its wait, its accesses, what it issues; two steps where threads meet."""
        yield f"{indent}/* {action.comment} */"
        reads, writes = self.accesses.of(action.reads, action.writes, action.taken)
        guard = list(self.guard(action))
        checks = list(self.checks(reads, writes))
        effects = [
            *self.found(action.reads, action.writes, action.taken),
            *self.sends(action),
            *self.stored(action.writes, action.taken),
            *(f"{self.layout.cells[cell]} = {self.value(word)}" for cell, word in action.signals),
        ]
        met = self.layout.among_hosts
        meeting = reads & met, [w for w in self.stores(writes) if w[0] in met]
        if any(meeting):
            marks = list(self.marked(*meeting, "++"))
            ends = list(self.marked(*meeting, "--"))
            yield from atomic([*guard, *checks, *marks], indent, ";")
            yield from atomic([*effects, *ends], indent, ";")
        else:
            yield from atomic([*guard, *checks, *effects], indent, ";")

    def guard(self, action: Action) -> Iterator[str]:
        """What a host action waits for."""
        if not action.guard:
            return
        kind, *rest = action.guard
        if kind == "done":
            yield from (f"({each})" for each in self.are_done(action, rest[0]))
        elif kind == "pending":
            yield f"(!({' && '.join(self.are_done(action, rest[0])) or 'true'}))"
        elif kind == "cell":
            yield f"({self.layout.cells[rest[0]]} >= {self.value(rest[1])})"
        elif kind == "join":
            yield f"({self.ended(rest[0])})"
        elif kind == "never":
            yield "false"
        elif kind == "start":
            yield f"run {self.process(rest[0])}()"
        elif kind == "acquire":
            yield f"(!{self.thing(rest[0])})"
            yield f"{self.thing(rest[0])} = 1"
        elif kind == "release":
            yield f"{self.thing(rest[0])} = 0"
        else:
            yield f"{self.thing(rest[0])} {'!' if kind == 'put' else '?'} {rest[1]}"

    def are_done(self, action: Action, atoms: Atoms) -> list[str]:
        """For each lane, that what atoms stand for is done."""
        return [
            f"{self.done(lane)} >= {mark}"
            for lane in sorted(self.layout.lanes_in(atoms, action))
            for mark in self.terms(action, atoms, lane, 0)
        ]

    def sends(self, action: Action) -> Iterator[str]:
        """Issue the operations, then note what tails and events stand for."""
        for number, op in enumerate(action.issues):
            yield f"{self.queue(op.lane)} ! {', '.join(self.message(action, number))}"
            yield from self.pend(op)
            if self.counts(op):
                yield f"{self.issued(op.lane)}++"
        yield from self.assignments(action)

    def message(self, action: Action, number: int) -> Iterator[str]:
        """The fields of the message that issues an operation."""
        op = action.issues[number]
        yield self.kinds[op.lane, kind_of(op)]
        if self.layout.counts(op.lane):
            offset = grown_by(op)
            yield "0" if offset is None else self.value(Plus(offset))
        for lane in self.layout.foreign[op.lane]:
            yield greatest(self.terms(action, op.before, lane, number))
        carried = [self.region(action.taken[at]) for at in op.carries]
        yield from carried + ["0"] * (self.layout.carried[op.lane] - len(carried))

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


def macro(label: str) -> str:
    """An operation's name, from its call in words."""
    words = "".join(c if c.isalnum() else "_" for c in label.partition(" ")[2])
    return "_".join(part for part in words.split("_") if part)[:40].upper() or "OP"


def has_steps(code: list[Any]) -> bool:
    """Whether a piece of code counts steps."""
    return any(
        isinstance(part, Loop) and (part.first is not None or has_steps(part.body)) for part in code
    )


def repeats(code: list[Any], depth: int = 0) -> Iterator[tuple[str, bool]]:
    """The counters of repetitions on the spot."""
    found = nesting(code)
    return ((f"i{at}", True) for at in range(depth, depth + found))


def nesting(code: list[Any]) -> int:
    """How deep repetitions on the spot are nested."""
    depths = [nesting(p.body) + (p.first is None) for p in code if isinstance(p, Loop)]
    return max(depths, default=0)


def messages(code: list[Any], lane: int) -> int:
    """How many messages a piece of code sends to a lane at most."""
    count = 0
    for part in code:
        if isinstance(part, Batch):
            count += part.lane == lane
        elif isinstance(part, Action):
            count += sum(op.lane == lane for op in part.issues)
        elif isinstance(part, Loop):
            count += part.times * messages(part.body, lane)
        elif isinstance(part, Branch):
            # What is gone to is written in one way only: together they are no less than any.
            count += sum(messages(way, lane) for way in part.ways)
    return count


def count_puts(code: list[Any], queue: Any) -> int:
    """How many items a piece of code puts into a queue at most."""
    count = 0
    for part in code:
        if isinstance(part, Action):
            count += part.guard[:2] == ("put", queue)
        elif isinstance(part, Loop):
            count += part.times * count_puts(part.body, queue)
        elif isinstance(part, Branch):
            count += sum(count_puts(way, queue) for way in part.ways)
    return count
