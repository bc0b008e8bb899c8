"""The program as a TLA+ specification: one action for each thing that can happen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .accesses import Accesses
from .action import Action, Held, Plus, Taken, Value
from .layout import grown_by, kind_of
from .places import Counting, Places
from .promela_lanes import macro

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .accesses import Counter, Stores
    from .action import Atoms, Operation, Read, Write
    from .layout import Layout
    from .places import Entry

WIDTH = 100
AND = " /\\ "
Changes = dict[str, list[tuple[str, str]]]
"""For each variable that is a function: where it changes, and to what (`@` is the old value)."""


class Tla:
    """Writes a layout as TLA+; `lines(module)` is the specification."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.accesses = Accesses(layout)
        self.live = self.accesses.live
        self.places = {thread: Places(code) for thread, code in layout.code.items()}
        self.kinds = {
            (lane, key): layout.names.of(("kind", lane, key), macro(op.label))
            for lane, kinds in layout.kinds.items()
            for key, op in kinds.items()
        }
        self.initial = {name: value for name, value in self.variables() if value != "<<>>"}
        self.actions: list[str] = []

    # --- the whole ---

    def variables(self) -> Iterator[tuple[str, str]]:
        """Every variable with its first value; all but `wrong` are functions from names."""
        layout = self.layout
        lanes = list(layout.lanes.values())
        threads = list(layout.threads.values())
        yield "wrong", '""'
        yield (
            "pc",
            function(
                (self.thread(t), str(places.first) if not t else "-1")
                for t, places in self.places.items()
            ),
        )
        yield "n", function((thread, "0") for thread in threads)
        yield "again", function((thread, "[i0 |-> 0, i1 |-> 0, i2 |-> 0]") for thread in threads)
        yield "memory", function((layout.regions[slot], "-1") for slot in sorted(self.live))
        counters = [c for slot in sorted(layout.shared) for c in self.accesses.counters(slot)]
        yield "underway", function((self.counter(counter), "0") for counter in counters)
        yield "stores", function((layout.regions[s], "-1") for s in sorted(layout.idempotent))
        yield "queue", function((lane, "<<>>") for lane in lanes)
        yield "running", function((lane, "<<>>") for lane in lanes)
        yield "issued", function((lane, "0") for lane in lanes)
        yield "done", function((lane, "0") for lane in lanes)
        marks = sorted(m for m in map(self.mark_or_none, layout.marks) if m)
        yield "mark", function((mark, "0") for mark in marks)
        yield "cell", function((name, "0") for name in layout.cells.values())
        guards = dict.fromkeys(a.guard[:2] for a in layout.actions if len(a.guard) > 1)
        locks = [thing for verb, thing in guards if verb == "acquire"]
        pipes = dict.fromkeys(thing for verb, thing in guards if verb in {"put", "get"})
        yield "lock", function((self.thing(lock), "0") for lock in locks)
        yield "pipe", function((self.thing(pipe), "<<>>") for pipe in pipes)

    def lines(self, module: str) -> Iterator[str]:
        """The specification without its heading comment."""
        names = ", ".join(self.initial)
        body = [*self.lanes(), *self.threads()]
        yield f"---- MODULE {module} ----"
        yield "EXTENDS Integers, Sequences"
        yield ""
        yield f"VARIABLES {names}"
        yield f"vars == <<{names}>>"
        yield ""
        yield "Most(a, b) == IF a > b THEN a ELSE b"
        yield ""
        yield "Init =="
        for name, value in self.initial.items():
            yield from wrapped(f"    /\\ {name} = {value}")
        yield from body
        yield from (
            "",
            "\\* Everything is done: every thread that was started has returned.",
            "Finished ==",
        )
        for thread, places in self.places.items():
            started = f'pc["{self.thread(thread)}"] = {places.end}'
            yield (
                f"    /\\ {started}"
                if not thread
                else f'    /\\ ({started} \\/ pc["{self.thread(thread)}"] = -1)'
            )
        for lane in self.layout.lanes.values():
            yield f'    /\\ queue["{lane}"] = <<>> /\\ running["{lane}"] = <<>>'
        yield ""
        yield "Next =="
        for action in self.actions:
            yield f"    \\/ {action}"
        yield "    \\/ Finished /\\ UNCHANGED vars"
        yield ""
        yield 'Right == wrong = ""'
        yield "===="

    def step(
        self, name: str, note: str, conditions: Iterable[str], must: list[str], changes: Changes
    ) -> Iterator[str]:
        """One action: when it is possible, what must be so, what changes."""
        self.actions.append(name)
        yield ""
        yield f"\\* {note}"
        yield f"{name} =="
        for condition in conditions:
            yield f"    /\\ {condition}"
        if must:
            yield from wrapped(f'    /\\ wrong\' = IF {AND.join(must)} THEN wrong ELSE "{name}"')
        for variable, at in changes.items():
            if at:
                parts = ", ".join(f"!{place} = {value}" for place, value in at)
                yield from wrapped(f"    /\\ {variable}' = [{variable} EXCEPT {parts}]")
        same = [v for v in self.initial if not changes.get(v) and not (v == "wrong" and must)]
        yield f"    /\\ UNCHANGED <<{', '.join(same)}>>"

    # --- lanes ---

    def lanes(self) -> Iterator[str]:
        """Operations: begun and ended, or both at once where no access of theirs can be met."""
        for lane, name in self.layout.lanes.items():
            for key, op in self.layout.kinds[lane].items():
                kind = self.kinds[lane, key]
                label = f"{name}: {op.label}"
                head = f'Head(queue["{name}"])'
                first = [
                    f'queue["{name}"] # <<>>',
                    f'{head}.op = "{kind}"',
                    f'running["{name}"] = <<>>',
                ]
                first += self.may_start(op, head)
                if not self.accesses.marked(op):
                    must, changes = self.finish(op, head)
                    changes["queue"] = [(f'["{name}"]', "Tail(@)")]
                    yield from self.step(f"{kind}_done", label, first, must, changes)
                    continue
                reads, writes = self.accesses.of(op.reads, op.writes, ())
                stores = self.stores(writes, head)
                begun: Changes = self.counted(reads, stores, "+")
                begun["queue"] = [(f'["{name}"]', "Tail(@)")]
                begun["running"] = [(f'["{name}"]', f"<<{head}>>")]
                must = list(self.checks(reads, stores))
                yield from self.step(f"{kind}_begins", f"{label}, begun", first, must, begun)
                now = f'running["{name}"][1]'
                must, changes = self.finish(op, now)
                for variable, at in self.counted(reads, self.stores(writes, now), "-").items():
                    changes.setdefault(variable, []).extend(at)
                changes["running"] = [(f'["{name}"]', "<<>>")]
                last = [f'running["{name}"] # <<>>', f'{now}.op = "{kind}"']
                yield from self.step(f"{kind}_ends", f"{label}, done", last, must, changes)

    def may_start(self, op: Operation, message: str) -> Iterator[str]:
        """What an operation waits for at the head of its lane."""
        for at, lane in enumerate(self.layout.foreign[op.lane], 1):
            yield f'done["{self.layout.lanes[lane]}"] >= {message}.after[{at}]'
        if op.cell is not None and op.waits:
            yield f'cell["{self.layout.cells[op.cell]}"] >= {self.value(op.word, message)}'

    def finish(self, op: Operation, message: str) -> tuple[list[str], Changes]:
        """What an operation must find, and what it changes."""
        changes: Changes = {"memory": self.stored(op.writes, message, ())}
        if op.watched:
            changes["done"] = [(f'["{self.layout.lanes[op.lane]}"]', "@ + 1")]
        if op.cell is not None and not op.waits:
            changes["cell"] = [(f'["{self.layout.cells[op.cell]}"]', self.value(op.word, message))]
        return list(self.found(op.reads, op.writes, (), message)), changes

    # --- host threads ---

    def threads(self) -> Iterator[str]:
        """Each place of each thread."""
        for thread, places in self.places.items():
            seen: dict[int, int] = {}
            for entry in places.entries:
                number = seen[entry.place] = seen.get(entry.place, 0) + 1
                name = f"{self.thread(thread)}_{entry.place}" + (f"_{number}" if number > 1 else "")
                yield from self.entry(thread, name, entry)

    def entry(self, thread: int, name: str, entry: Entry) -> Iterator[str]:
        """What can happen at one place of a thread."""
        if isinstance(entry.what, Action):
            yield from self.action(thread, name, entry, entry.what)
            return
        at = f'["{self.thread(thread)}"]'
        conditions, changes = [f"pc{at} = {entry.place}"], {"pc": [(at, str(entry.following))]}
        note = "choose"
        if isinstance(entry.what, Counting):
            what, counter, value, otherwise = entry.what
            note = f"loop: {what} {counter}"
            variable, place = ("n", at) if counter == "n" else ("again", f"{at}.{counter}")
            if what == "test":
                chosen = f"IF {variable}{place} < {value} THEN {entry.following} ELSE {otherwise}"
                changes["pc"] = [(at, chosen)]
                changes[variable] = [(place, f"IF @ < {value} THEN @ ELSE 0")]
            else:
                changes[variable] = [(place, str(value) if what == "set" else f"@ + {value}")]
        yield from self.step(name, note, conditions, [], changes)

    def action(self, thread: int, name: str, entry: Entry, action: Action) -> Iterator[str]:
        """A host action; in two steps where host threads can meet."""
        at = f'["{self.thread(thread)}"]'
        here = f"pc{at} = {entry.place}"
        guards, changes = self.guard(action)
        reads, writes = self.accesses.of(action.reads, action.writes, action.taken)
        own = f"[n |-> n{at}]"
        stores = self.stores(writes, own)
        must = list(self.checks(reads, stores))
        effects = self.effects(action, thread)
        found = list(self.found(action.reads, action.writes, action.taken, own))
        met = self.layout.among_hosts
        meeting = reads & met, [store for store in stores if store[0] in met]
        if not any(meeting):
            merged = merge(changes, effects, {"pc": [(at, str(entry.following))]})
            yield from self.step(name, action.comment, [here, *guards], [*must, *found], merged)
            return
        begun = merge(changes, self.counted(*meeting, "+"), {"pc": [(at, str(-1 - entry.place))]})
        yield from self.step(
            f"{name}_begins", f"{action.comment}, begun", [here, *guards], must, begun
        )
        ended = merge(self.counted(*meeting, "-"), effects, {"pc": [(at, str(entry.following))]})
        within = [f"pc{at} = {-1 - entry.place}"]
        yield from self.step(f"{name}_ends", f"{action.comment}, done", within, found, ended)

    def effects(self, action: Action, thread: int) -> Changes:
        """What a host action stores, signals, issues and notes."""
        own = f'[n |-> n["{self.thread(thread)}"]]'
        changes: Changes = {"memory": self.stored(action.writes, own, action.taken)}
        changes["cell"] = [
            (f'["{self.layout.cells[cell]}"]', self.value(word, own))
            for cell, word in action.signals
        ]
        changes["queue"] = [
            (f'["{self.layout.lanes[op.lane]}"]', f"Append(@, {self.message(action, at, own)})")
            for at, op in enumerate(action.issues)
        ]
        changes["issued"] = [
            (f'["{self.layout.lanes[op.lane]}"]', "@ + 1") for op in action.issues if op.watched
        ]
        changes["mark"] = [
            (f'["{self.mark(mark)}"]', greatest(self.terms(action, atoms, mark[1])))
            for place, atoms in action.updates
            for mark in sorted(self.layout.marks, key=repr)
            if mark[0] == place and not self.layout.is_alias(mark)
        ]
        return changes

    def guard(self, action: Action) -> tuple[list[str], Changes]:
        """What a host action waits for, and what it takes."""
        if not action.guard:
            return [], {}
        kind, *rest = action.guard
        if kind in {"done", "pending"}:
            return self.awaited(action, kind, rest[0]), {}
        if kind == "never":
            return ["FALSE"], {}
        if kind == "cell":
            return [f'cell["{self.layout.cells[rest[0]]}"] >= {self.value(rest[1], "")}'], {}
        if kind in {"start", "join"}:
            at, places = f'["{self.thread(rest[0])}"]', self.places[rest[0]]
            if kind == "join":
                return [f"pc{at} = {places.end}"], {}
            return [], {"pc": [(at, str(places.first))]}
        return self.taken(kind, *rest)

    def awaited(self, action: Action, kind: str, atoms: Atoms) -> list[str]:
        """That operations are done, or (`pending`) not all of them."""
        done = [
            f'done["{self.layout.lanes[lane]}"] >= {term}'
            for lane in sorted(self.layout.lanes_in(atoms, action))
            for term in self.terms(action, atoms, lane)
        ]
        return done if kind == "done" else [f"~({AND.join(done) or 'TRUE'})"]

    def taken(self, kind: str, thing: Any, item: int = 0) -> tuple[list[str], Changes]:
        """Locks, and queues between threads."""
        at = f'["{self.thing(thing)}"]'
        if kind in {"acquire", "release"}:
            free = [f"lock{at} = 0"] if kind == "acquire" else []
            return free, {"lock": [(at, str(int(kind == "acquire")))]}
        if kind == "put":
            room = [] if thing.capacity is None else [f"Len(pipe{at}) < {thing.capacity}"]
            return room, {"pipe": [(at, f"Append(@, {item})")]}
        return [f"pipe{at} # <<>>", f"Head(pipe{at}) = {item}"], {"pipe": [(at, "Tail(@)")]}

    def message(self, action: Action, number: int, own: str) -> str:
        """What goes into a lane's queue."""
        op = action.issues[number]
        offset = grown_by(op)
        fields = [f'op |-> "{self.kinds[op.lane, kind_of(op)]}"']
        if self.layout.counts(op.lane):
            fields.append(f"n |-> {'0' if offset is None else self.value(Plus(offset), own)}")
        foreign = self.layout.foreign[op.lane]
        if foreign:
            after = [greatest(self.terms(action, op.before, lane)) for lane in foreign]
            fields.append(f"after |-> <<{', '.join(after)}>>")
        if self.layout.carried[op.lane]:
            carried = [self.region(action.taken[at]) for at in op.carries]
            fields.append(f"v |-> <<{', '.join(carried)}>>")
        return f"[{', '.join(fields)}]"

    def terms(self, action: Action, atoms: Atoms, lane: int) -> list[str]:
        """The counts of a lane that atoms stand for, in terms of the state before the action."""
        lanes = [op.lane if op.watched else None for op in action.issues]
        issued = f'issued["{self.layout.lanes[lane]}"]'
        ranks = [
            lanes[: at + 1].count(lane)
            for kind, at in atoms
            if kind == "op" and action.issues[at].lane == lane
        ]
        if ranks:
            return [f"{issued} + {max(ranks)}"]
        marks = [
            (at, lane) for kind, at in atoms if kind == "cell" and (at, lane) in self.layout.marks
        ]
        return sorted(
            {issued if self.layout.is_alias(m) else f'mark["{self.mark(m)}"]' for m in marks}
        )

    # --- accesses ---

    def stores(self, writes: list[Write], message: str) -> Stores:
        """Regions written, with the version where the write is idempotent."""
        return [(w.slot, self.value(w.value, message) if w.idempotent else None) for w in writes]

    def checks(self, reads: set[int], stores: Stores) -> Iterator[str]:
        """Nothing that conflicts may be under way."""
        for zero, slot, version in self.accesses.free(reads, stores):
            yield from (f'underway["{self.counter(counter)}"] = 0' for counter in zero)
            if version is not None:
                same = f'stores["{self.layout.regions[slot]}"] = {version}'
                yield f'(underway["{self.counter(("storing", slot))}"] = 0 \\/ {same})'

    def counted(self, reads: set[int], stores: Stores, sign: str) -> Changes:
        """Count accesses that begin (+) or end (-)."""
        changes: Changes = {
            "underway": [
                (f'["{self.counter(counter)}"]', f"@ {sign} 1")
                for counter in self.accesses.under_way(reads, stores)
            ]
        }
        if sign == "+":
            changes["stores"] = [
                (f'["{self.layout.regions[slot]}"]', version)
                for slot, version in stores
                if version is not None
            ]
        return changes

    def found(
        self, reads: Iterable[Read], writes: Iterable[Write], taken: Iterable[int], message: str
    ) -> Iterator[str]:
        """What accesses must find in memory."""
        for read in reads:
            if read.expected is not None:
                yield f"{self.region(read.slot)} = {self.value(read.expected, message)}"
            elif self.layout.frees:
                yield f"{self.region(read.slot)} # -3"
        if self.layout.frees:
            yield from (f"{self.region(slot)} # -3" for slot in taken)
            for write in writes:
                if getattr(write.value, "number", 0) not in {-2, -3}:
                    yield f"{self.region(write.slot)} # -3"

    def stored(
        self, writes: Iterable[Write], message: str, taken: tuple[int, ...]
    ) -> list[tuple[str, str]]:
        """Writes, all of what memory held before them."""
        return [
            (f'["{self.layout.regions[w.slot]}"]', self.value(w.value, message, taken))
            for w in writes
            if w.slot in self.live
        ]

    def value(self, value: Any, message: str, taken: tuple[int, ...] = ()) -> str:
        """A value as an expression; `message` is what holds the step counter."""
        if isinstance(value, Value):
            return str(value.number)
        if isinstance(value, Plus):
            counter = (
                message[len("[n |-> ") : -1] if message.startswith("[n |-> ") else f"{message}.n"
            )
            sign = "+" if value.offset > 0 else "-"
            return f"{counter} {sign} {abs(value.offset)}" if value.offset else counter
        if isinstance(value, Held):
            return self.region(value.slot)
        assert isinstance(value, Taken)
        return self.region(taken[value.index]) if taken else f"{message}.v[{value.index + 1}]"

    def region(self, slot: int) -> str:
        """What a region holds; nobody looks at one that is not kept."""
        return f'memory["{self.layout.regions[slot]}"]' if slot in self.live else "-1"

    # --- names ---

    def thread(self, thread: int) -> str:
        """A host thread's name."""
        return self.layout.threads[thread]

    def counter(self, counter: Counter) -> str:
        """A counter of accesses under way."""
        return f"{counter[0]}_{self.layout.regions[counter[1]]}"

    def mark(self, mark: Any) -> str:
        """A mark's name."""
        return self.layout.mark_name(mark)

    def mark_or_none(self, mark: Any) -> str | None:
        """A mark's name, if it is kept as one."""
        return None if self.layout.is_alias(mark) else self.layout.mark_name(mark)

    def thing(self, thing: Any) -> str:
        """A lock's or queue's name."""
        return self.layout.names.of(thing, thing.name)


def function(pairs: Iterable[tuple[str, str]]) -> str:
    """A function from names; `<<>>` where there are none."""
    listed = [f"{name} |-> {value}" for name, value in pairs]
    return f"[{', '.join(listed)}]" if listed else "<<>>"


def wrapped(line: str) -> Iterator[str]:
    """A line; where it is too long, broken at its conjunctions or commas."""
    separator = AND if AND in line[7:] else ", "
    first, *rest = line[7:].split(separator)
    if len(line) <= WIDTH or not rest:
        yield line
    elif separator == AND:
        yield line[:7] + first
        yield from (f"        /\\ {part}" for part in rest)
    else:
        yield f"{line[:7]}{first},"
        yield from (f"        {part}," for part in rest[:-1])
        yield f"        {rest[-1]}"


def greatest(terms: list[str]) -> str:
    """The greatest of several counts."""
    if not terms:
        return "0"
    first, *rest = terms
    return f"Most({first}, {greatest(rest)})" if rest else first


def merge(*several: Changes) -> Changes:
    """Changes of several kinds, together."""
    merged: Changes = {}
    for changes in several:
        for variable, at in changes.items():
            merged.setdefault(variable, []).extend(at)
    return merged
