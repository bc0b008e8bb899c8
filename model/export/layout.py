"""What an exported model has to keep: names, counters, and which accesses can ever meet.

Operations of one lane are done in the order in which they are issued. So whatever a stream's tail
or an event's snapshot stands for is, for each lane, how many of its operations must be done: a
*mark*. Only marks that some wait or some operation of another lane reads are kept.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .action import Action, Plus
from .watched import flat, with_watched

if TYPE_CHECKING:
    from .action import Atoms, Operation
    from .flow import Flow

Owner = tuple[str, int]
Mark = tuple[Any, int]


class Layout:
    """A program's parts by name, and what has to be kept of them.

    - `lanes`, `threads`, `regions`, `cells` are names by number;
    - `kinds[lane]` lists the distinct operations of a lane; `carried[lane]` is how many versions
      one of them carries at most, `foreign[lane]` the other lanes that some operation waits for;
    - `marks` holds the (tail or snapshot, lane) pairs that are kept;
    - `shared` are the regions where accesses of different threads or lanes could meet.
    """

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.code = with_watched(flow.code)
        self.actions = [action for code in self.code.values() for action in flat(code)]
        gpu = flow.host.gpu
        self.names = Names()
        self.threads = {t.slot: self.names.give(t.name) for t in gpu.threads if t.slot in self.code}
        self.lanes = {
            number: self.names.give(stream.name) for stream, number in flow.symbolic.lanes.items()
        }
        used = {slot for action in self.actions for slot in touched(action)}
        self.regions = {slot: self.names.give(repr(gpu.regions[slot])) for slot in sorted(used)}
        self.cells = {n: self.names.give(cell.name) for cell, n in flow.symbolic.cells.items()}
        self.kinds: dict[int, dict[Any, Operation]] = {lane: {} for lane in self.lanes}
        for action in self.actions:
            for op in action.issues:
                self.kinds[op.lane].setdefault(kind_of(op), relative(op))
        self.holds = self.may_hold()
        self.lane_of = {stream.slot: n for stream, n in flow.symbolic.lanes.items()}
        self.last = {place for place in self.lane_of if self.is_last_issued(place)}
        self.marks = self.kept_marks()
        self.foreign = {lane: self.foreign_to(lane) for lane in self.lanes}
        self.carried = {
            lane: max((len(op.carries) for op in kinds.values()), default=0)
            for lane, kinds in self.kinds.items()
        }
        self.owners = self.accessors()
        self.shared = {slot for slot, owners in self.owners.items() if len(owners) > 1}
        self.among_hosts = {
            slot
            for slot, owners in self.owners.items()
            if sum(kind == "thread" for kind, _number in owners) > 1
        }
        self.idempotent = {
            write.slot
            for action in self.actions
            for write in (*action.writes, *(w for op in action.issues for w in op.writes))
            if write.idempotent
        }
        self.frees = any(
            getattr(write.value, "number", 0) == -3
            for action in self.actions
            for write in (*action.writes, *(w for op in action.issues for w in op.writes))
        )

    # --- names ---

    def mark_name(self, mark: Mark) -> str:
        """A mark's name: whose it is, and the lane in which it counts."""
        place, lane = mark
        if self.is_alias(mark):
            return self.issued_name(lane)
        if isinstance(place, tuple):
            return self.names.of(
                ("mark", mark), f"{self.threads[place[1]]}_awaits_{self.lanes[lane]}"
            )
        owner = self.flow.host.gpu.cells[place].name
        return self.names.of(("mark", mark), f"{owner}_in_{self.lanes[lane]}")

    def issued_name(self, lane: int) -> str:
        """The counter of a lane's operations that were issued."""
        return self.names.of(("issued", lane), f"issued_{self.lanes[lane]}")

    # --- marks ---

    def is_alias(self, mark: Mark) -> bool:
        """Whether a mark is always the number of operations issued: a stream's tail in its lane."""
        return mark[0] in self.last and self.lane_of[mark[0]] == mark[1]

    def is_last_issued(self, place: int) -> bool:
        """Whether a stream's tail always stands for the last operation of the stream's own lane."""
        lane = self.lane_of[place]
        for action in self.actions:
            issued = [at for at, op in enumerate(action.issues) if op.lane == lane]
            updates = dict(action.updates)
            last = ("op", issued[-1]) if issued else ("cell", place)
            if last not in updates.get(place, {("cell", place)}):
                return False
        return True

    def may_hold(self) -> dict[Any, set[int]]:
        """The lanes whose operations a tail or snapshot can ever stand for."""
        holds: dict[Any, set[int]] = {}
        changed = True
        while changed:
            changed = False
            for action in self.actions:
                for place, atoms in action.updates:
                    known = holds.setdefault(place, set())
                    before = len(known)
                    for atom in atoms:
                        known |= self.lanes_of(atom, action, holds)
                    changed |= len(known) > before
        return holds

    def lanes_of(self, atom: Any, action: Action, holds: dict[Any, set[int]]) -> set[int]:
        """The lanes that an atom can stand for."""
        kind, at = atom
        return {action.issues[at].lane} if kind == "op" else holds.get(at, set())

    def lanes_in(self, atoms: Atoms, action: Action) -> set[int]:
        """The lanes that several can stand for."""
        return {lane for atom in atoms for lane in self.lanes_of(atom, action, self.holds)}

    def kept_marks(self) -> set[Mark]:
        """The marks that some wait reads, or some operation of another lane, and what they need."""
        kept: set[Mark] = set()
        for action in self.actions:
            if action.guard and action.guard[0] in {"done", "pending"}:
                kept |= self.marks_in(action.guard[1])
            for op in action.issues:
                kept |= {mark for mark in self.marks_in(op.before) if mark[1] != op.lane}
        changed = True
        while changed:
            before = len(kept)
            for action in self.actions:
                for place, atoms in action.updates:
                    known = kept - {mark for mark in kept if self.is_alias(mark)}
                    kept |= {mark for mark in self.marks_in(atoms) if (place, mark[1]) in known}
            changed = len(kept) > before
        return kept

    def marks_in(self, atoms: Atoms) -> set[Mark]:
        """Every mark that atoms consist of."""
        return {
            (at, lane) for kind, at in atoms if kind == "cell" for lane in self.holds.get(at, ())
        }

    def foreign_to(self, lane: int) -> list[int]:
        """The other lanes that some operation of a lane waits for."""
        found = {
            other
            for action in self.actions
            for op in action.issues
            if op.lane == lane
            for other in self.lanes_in(op.before, action)
        }
        return sorted(found - {lane})

    # --- accesses ---

    def accessors(self) -> dict[int, set[Owner]]:
        """Who accesses each region: host threads and lanes."""
        found: dict[int, set[Owner]] = {slot: set() for slot in self.regions}
        for thread, code in self.code.items():
            for action in flat(code):
                for slot in action.slots:
                    found[slot].add(("thread", thread))
        for action in self.actions:
            for op in action.issues:
                for slot in op.slots:
                    found[slot].add(("lane", op.lane))
        return found

    def counts(self, lane: int) -> bool:
        """Whether the operations of a lane carry a step counter."""
        return any(grown_by(op) is not None for op in self.kinds[lane].values())


class Names:
    """Identifiers for both languages, each given once."""

    def __init__(self) -> None:
        self.given: set[str] = set(RESERVED)
        self.known: dict[Any, str] = {}

    def give(self, wanted: str) -> str:
        """An identifier like this that nothing has yet."""
        base = re.sub(r"\W+", "_", wanted, flags=re.ASCII).strip("_") or "it"
        base = f"x{base}" if base[0].isdigit() else base
        base = base[0].lower() + base[1:] if base[:1].isupper() and not base.isupper() else base
        name, number = base, 2
        while name.lower() in self.given:
            name, number = f"{base}_{number}", number + 1
        self.given.add(name.lower())
        return name

    def of(self, key: Any, wanted: str) -> str:
        """The identifier of this thing."""
        if key not in self.known:
            self.known[key] = self.give(wanted)
        return self.known[key]


RESERVED = frozenset(
    [
        "active",
        "assert",
        "atomic",
        "bit",
        "bool",
        "break",
        "byte",
        "chan",
        "d_step",
        "do",
        "else",
        "empty",
        "enabled",
        "end",
        "eval",
        "false",
        "fi",
        "for",
        "full",
        "goto",
        "hidden",
        "if",
        "in",
        "init",
        "inline",
        "int",
        "len",
        "local",
        "mtype",
        "nempty",
        "never",
        "nfull",
        "notrace",
        "np_",
        "od",
        "of",
        "pc_value",
        "pid",
        "printf",
        "priority",
        "proctype",
        "provided",
        "return",
        "run",
        "select",
        "short",
        "show",
        "skip",
        "timeout",
        "trace",
        "true",
        "typedef",
        "unless",
        "unsigned",
        "xr",
        "xs",
        "step",
        "op",
        "action",
        "assume",
        "assumption",
        "axiom",
        "by",
        "case",
        "choose",
        "constant",
        "constants",
        "corollary",
        "define",
        "defs",
        "domain",
        "except",
        "extends",
        "have",
        "hide",
        "instance",
        "lambda",
        "lemma",
        "let",
        "local",
        "module",
        "new",
        "obvious",
        "omitted",
        "only",
        "other",
        "pick",
        "proof",
        "proposition",
        "prove",
        "qed",
        "recursive",
        "sf_",
        "state",
        "subset",
        "suffices",
        "take",
        "temporal",
        "then",
        "theorem",
        "union",
        "unchanged",
        "use",
        "variable",
        "variables",
        "wf_",
        "with",
        "witness",
        "nat",
        "seq",
        "head",
        "tail",
        "append",
        "sequences",
        "integers",
        "tlc",
        "main",
        "n",
        "r",
        "i",
        "pc",
        "steps",
        "next",
        "spec",
        "done",
        "wrong",
        "inner",
        "vars",
        "init",
        "host_done",
    ]
)
"""Words that no identifier may be: of Promela, of TLA+, and of the models themselves."""


def kind_of(op: Operation) -> Any:
    """What distinguishes operations of a lane, but for what travels in them."""
    op = relative(op)
    return op._replace(label="", before=frozenset(), carries=op.carries and (len(op.carries),))


def relative(op: Operation) -> Operation:
    """An operation with its versions relative to the step counter that travels in it."""
    least = grown_by(op)
    return op if least is None else shifted(op, least)


def shifted(thing: Any, offset: int) -> Any:
    """Anything with each offset to the step counter made smaller."""
    if isinstance(thing, Plus):
        return Plus(thing.offset - offset)
    if isinstance(thing, tuple):
        parts = [shifted(part, offset) for part in thing]
        return type(thing)(*parts) if hasattr(thing, "_fields") else tuple(parts)
    return thing


def grown_by(op: Operation) -> int | None:
    """The least offset to the step counter in an operation; None if it does not depend on it."""
    values = [read.expected for read in op.reads] + [write.value for write in op.writes]
    return min(
        (value.offset for value in (*values, op.word) if isinstance(value, Plus)), default=None
    )


def touched(action: Action) -> set[int]:
    """Every region in an action, the host's and its operations'."""
    return action.slots | {slot for op in action.issues for slot in op.slots}
