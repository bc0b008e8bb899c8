"""What each call does, with the frontiers of streams and events left as names.

The front end is written over an abstract frontier; here a frontier is a set of atoms (see
`action`), so that one run of a rule says what the call does from whatever state it is made in. No
rule is written again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import sync
from ..effects import Idempotent
from ..errors import BadInput, BadProtocol
from ..frontend import front_end
from ..memory import Region
from ..trace import described, named
from .action import NOTHING, Action, Atoms, Held, Operation, Read, Taken, Value, Write

if TYPE_CHECKING:
    from ..calls import Reads
    from ..contract import Contract
    from ..frontend import Frontend
    from ..host import Host, Node
    from ..objects import Cell, Stream
    from .versions import Versions

HOST_ONLY = sync.CONTROL | {"wait_cell"}


class Carried:
    """A version that was read at the call; `index` is its place there."""

    def __init__(self, index: int) -> None:
        self.index = index


class Symbolic:
    """Turns calls into actions: the sink of a front end whose frontiers are atoms."""

    empty = NOTHING

    def __init__(
        self, host: Host, contract: Contract, versions: Versions, uncertain: tuple[str, ...] = ()
    ) -> None:
        self.host = host
        self.versions = versions
        self.alone = not host.gpu.threads_used
        self.lanes: dict[Stream, int] = {}
        self.cells: dict[Cell, int] = {}
        self.front: Frontend[Atoms] = front_end(host.gpu, contract, self, uncertain)
        if self.front.may_hold:
            raise BadInput(
                "a masking under which the host waits for places in queues, or before a first use, "
                "is not exported: whether it waits depends on what has been issued"
            )

    def actions(self, node: Node, notes: dict[Any, Any]) -> tuple[list[Action], dict[Any, Any]]:
        """A call's actions, one for each of its phases and waits, and the notes after it."""
        assert node.call is not None
        self.node = node
        if node.call[0] == "concurrent":
            raise BadInput(
                f"{node.where}: concurrent() states an order that must not be, which an exported "
                "model does not ask about: leave it out to export the rest"
            )
        if node.call[0] in HOST_ONLY:
            return self.host_only(node), notes
        found: list[Action] = []
        phase = self.front.call
        guard: tuple[Any, ...] = ()
        while phase is not None:
            action, awaits, notes = self.phase(phase, notes, guard)
            found.append(action)
            guard, phase = (), None
            if awaits is not None:
                guard, phase = self.waiting(found, awaits[0]), awaits[1]
        if guard:
            found.append(self.bare(guard))
        return [action for action in found if not action.idle], notes

    def waiting(self, found: list[Action], awaited: Atoms) -> tuple[Any, ...]:
        """The guard of what comes after a wait. What is awaited is fixed when the call begins."""
        if not awaited:
            return ()
        last = found[-1]
        fixed = self.alone and not last.updates and all(kind == "cell" for kind, _at in awaited)
        if not fixed:
            place = ("wait", self.node.thread)
            found[-1] = last._replace(updates=(*last.updates, (place, awaited)))
            awaited = frozenset({("cell", place)})
        return ("done", awaited)

    def phase(
        self, rule: Any, notes: dict[Any, Any], guard: tuple[Any, ...]
    ) -> tuple[Action, Any, dict[Any, Any]]:
        """One phase of a call. A lane that it makes is there from the start: it is run again."""
        while True:
            known = len(self.host.gpu.cells)
            self.front.cells = [frozenset({("cell", at)}) for at in range(known)]
            self.front.notes = dict(notes)
            self.action = self.bare(guard)
            awaits = self.carry_out(rule)
            if len(self.host.gpu.cells) == known:
                break
        updates = tuple(
            (at, atoms)
            for at, atoms in enumerate(self.front.cells)
            if atoms != frozenset({("cell", at)})
        )
        return self.action._replace(updates=updates), awaits, self.front.notes

    def carry_out(self, rule: Any) -> Any:
        """Run a rule; a protocol's mistake carries its source line."""
        try:
            return rule(self.node.call)
        except BadProtocol as error:
            error.where = error.where or str(self.node.where)
            raise

    def query(self, node: Node, notes: dict[Any, Any]) -> Atoms:
        """What a query asks about."""
        assert node.call is not None
        self.node = node
        self.front.cells = [frozenset({("cell", at)}) for at in range(len(self.host.gpu.cells))]
        self.front.notes = dict(notes)
        return self.front.query(node.call)[0]

    def bare(self, guard: tuple[Any, ...]) -> Action:
        """An action that only waits."""
        return Action(comment(self.node), self.node.step, guard)

    def host_only(self, node: Node) -> list[Action]:
        """Calls that the front end never sees; a choice is no action of its own."""
        assert node.call is not None
        verb, thing = node.call[:2]
        if verb == "wait_cell":
            return [self.bare(("cell", self.cell(thing), Value(node.call[2])))]
        if verb in {"acquire", "release"}:
            return [self.bare((verb, thing))]
        if verb in {"thread", "join"}:
            return [self.bare(("start" if verb == "thread" else "join", thing.slot))]
        return []

    # --- the sink ---

    def grow(self) -> None:
        """Places are given when a phase begins."""

    def join(self, first: Atoms, second: Atoms) -> Atoms:
        """The union."""
        return first | second

    def passed(self, frontier: Atoms) -> bool:
        """Only asked where the host may have to wait before it issues anything."""
        return not frontier

    def op(self, stream: Stream, before: Atoms, reads: Reads, writes: Reads) -> Atoms:
        """Note an operation; an atom stands for it."""
        carried = [version for _region, version in writes if isinstance(version, Carried)]
        places = {version.index: at for at, version in enumerate(carried)}
        made = Operation(
            self.lanes.setdefault(stream, len(self.lanes)),
            comment(self.node),
            self.reads(reads),
            tuple(self.write(region, version, places) for region, version in writes),
            tuple(places),
            before,
        )
        issued = (*self.action.issues, made)
        self.action = self.action._replace(issues=issued)
        return frozenset({("op", len(issued) - 1)})

    def signal(self, stream: Stream, before: Atoms, cell: Cell, value: int) -> Atoms:
        """An operation that stores into a cell."""
        return self.on_cell(stream, before, cell, value, waits=False)

    def await_cell(self, stream: Stream, before: Atoms, cell: Cell, value: int) -> Atoms:
        """An operation that waits for a cell."""
        return self.on_cell(stream, before, cell, value, waits=True)

    def on_cell(self, stream: Stream, before: Atoms, cell: Cell, value: int, waits: bool) -> Atoms:
        """An operation with a cell."""
        atoms = self.op(stream, before, (), ())
        *others, last = self.action.issues
        last = last._replace(cell=self.cell(cell), word=Value(value), waits=waits)
        self.action = self.action._replace(issues=(*others, last))
        return atoms

    def cell(self, cell: Cell) -> int:
        """A cell's number."""
        return self.cells.setdefault(cell, len(self.cells))

    def host_signal(self, cell: Cell, value: int) -> None:
        """The host stores into a cell."""
        signals = (*self.action.signals, (self.cell(cell), Value(value)))
        self.action = self.action._replace(signals=signals)

    def host_read(self, reads: Reads) -> None:
        """The host loads."""
        self.action = self.action._replace(reads=self.reads(reads))

    def host_write(self, writes: Reads) -> None:
        """The host stores."""
        written = tuple(self.write(region, version, None) for region, version in writes)
        self.action = self.action._replace(writes=written)

    def stage(self, regions: tuple[Region, ...]) -> tuple[Carried, ...]:
        """The runtime reads on the host thread now."""
        taken = self.action.taken
        self.action = self.action._replace(taken=(*taken, *(r.slot for r in regions)))
        return tuple(Carried(len(taken) + at) for at in range(len(regions)))

    def reads(self, reads: Reads) -> tuple[Read, ...]:
        """Loads with the versions that they expect."""
        return tuple(
            Read(region.slot, None if expected is None else self.value(expected))
            for region, expected in reads
        )

    def write(self, region: Region, version: object, places: dict[int, int] | None) -> Write:
        """A store with what it stores; `places` says where in an operation something travels."""
        if isinstance(version, Region):
            return Write(region.slot, Held(version.slot))
        if isinstance(version, Carried):
            at = version.index
            return Write(region.slot, Taken(at if places is None else places[at]))
        if isinstance(version, Idempotent):
            return Write(region.slot, self.value(version.value), idempotent=True)
        return Write(region.slot, self.value(version))

    def value(self, version: object) -> Value:
        """A version's number."""
        return Value(self.versions.number(version))


def comment(node: Node) -> str:
    """The call in words with its source line."""
    assert node.call is not None
    assert node.where is not None
    name = node.where.filename.replace("\\", "/").rpartition("/")[2]
    verb, *rest = node.call
    words = f"write({named(rest[0])})" if verb == "write" else described(node.call)
    text = f"{name}:{node.where.line} {words}"
    return " ".join(text.replace("*/", "* /").replace("*)", "* )").split())
