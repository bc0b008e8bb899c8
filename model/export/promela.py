"""The program as a Promela model: a process for each host thread and each lane of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import BadInput
from .action import Action, Branch, Goto, Label, Loop, Plus
from .batches import Batch
from .layout import grown_by, kind_of
from .promela_lanes import Lanes
from .promela_words import atomic, greatest
from .watched import flat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .action import Atoms

DEEPEST = 255
"""The most messages that one of Promela's channels holds."""


class Promela(Lanes):
    """Writes a layout as Promela; `lines()` is the model without its heading."""

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

    # --- host threads ---

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
