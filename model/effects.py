"""What a call does, as sets of pending operations: the machine's sink.

An operation's identity is (node, phase, number within the phase), which gives it a bit; a frontier
is a mask of such bits. Bits are handed out once and never depend on the interleaving.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import sync
from .errors import BadProtocol
from .frontend import Frontend, front_end
from .memory import UNWRITTEN, Idempotent, Region

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .calls import Reads
    from .contract import Contract
    from .host import Host, Node
    from .objects import Cell, Stream

Accesses = tuple[tuple[Region, "bool | Idempotent"], ...]
CELLS = 1 << 40
"""Where cells are in memory, beyond every region."""


class Late:
    """A version that is known when it is written: it stands for something that memory holds."""

    __slots__ = ()

    def held_in(self, holds: dict[int, Any]) -> object:
        """The version, in this memory."""
        raise NotImplementedError


class Carried(Late):
    """A version that a staged copy took at its call and carries to its destination."""

    __slots__ = ("key", "region")

    def __init__(self, key: int, region: Region) -> None:
        self.key = key
        self.region = region

    def held_in(self, holds: dict[int, Any]) -> object:
        """The carried version."""
        return holds.get(self.key, UNWRITTEN)


class Copied(Late):
    """A version that stands for what a region holds."""

    __slots__ = ("region",)

    def __init__(self, region: Region) -> None:
        self.region = region

    def held_in(self, holds: dict[int, Any]) -> object:
        """What the region holds."""
        return holds.get(self.region.slot, UNWRITTEN)


class Operation:
    """An issued operation: its lane, what it reads and writes, and (with one host thread) what it
    starts after. `cell` and `value` are what it stores, or with `awaits` what it waits for.
    """

    __slots__ = (
        "awaits", "before", "bit", "carried", "cell", "index", "loads", "node", "reads", "stores",
        "stream", "value", "writes",
    )  # fmt: skip

    def __init__(self, index: int, node: Node, stream: Stream, reads: Reads, writes: Reads) -> None:
        self.index = index
        self.bit = 1 << index
        self.node = node
        self.stream = stream
        self.reads = reads
        self.writes = tuple((region, lifted(version)) for region, version in writes)
        self.carried = [version for _region, version in writes if isinstance(version, Carried)]
        self.before = 0
        self.loads = mask(region for region, _expected in reads)
        self.stores = mask(region for region, _version in writes)
        self.cell: Cell | None = None
        self.value = 0
        self.awaits = False

    def accesses(self) -> Iterator[tuple[Region, bool | Idempotent]]:
        """Each region that is read (False) or written (True, or an idempotent version)."""
        yield from ((region, False) for region, _expected in self.reads)
        yield from ((region, mode(version)) for region, version in self.writes)

    def satisfied(self, holds: dict[int, Any]) -> bool:
        """Whether the cell it waits for is large enough."""
        return self.cell is None or not self.awaits or word(holds, self.cell) >= self.value


class Effect:
    """What one phase of a call does: host accesses, operations, a wait, and what is left of it."""

    __slots__ = (
        "awaited", "befores", "cells", "issued", "notes", "reads", "rest", "signals", "staged",
        "started", "used", "writes",
    )  # fmt: skip

    def __init__(self) -> None:
        self.reads: Reads = ()
        self.writes: Reads = ()
        self.staged: list[Carried] = []
        self.used: list[Carried] = []
        self.issued: list[Operation] = []
        self.befores: list[int] = []
        self.awaited = 0
        self.rest = 0
        self.cells: tuple[int, ...] = ()
        self.notes: dict[Any, Any] = {}
        self.signals: list[tuple[Cell, int]] = []
        self.started: Node | None = None


class Effects:
    """Effects of calls, found by the front end over bit masks; kept while one thread calls."""

    empty = 0

    def __init__(
        self, host: Host, contract: Contract, uncertain: tuple[str, ...], alone: bool
    ) -> None:
        self.host = host
        self.ops: list[Operation] = []
        self.front: Frontend[int] = front_end(host.gpu, contract, self, uncertain)
        self.alone = alone
        self._ids: dict[tuple[Node, int, int], Operation] = {}
        self._carried: dict[tuple[Node, int, int], Carried] = {}
        self._rests: dict[tuple[Node, int], Any] = {}
        self._known: dict[tuple[Node, int, Any], Effect] = {}
        self._places: dict[tuple[Node, int], tuple[tuple[int, ...], dict[Any, Any]]] = {}
        self._places[host.root, 0] = (), {}
        self._touches: dict[tuple[Node, int], tuple[int, int, Accesses]] = {}

    # --- effects ---

    def of(
        self, node: Node, phase: int, cells: tuple[int, ...], result: object, notes: dict[Any, Any]
    ) -> Effect:
        """The effect of a phase of a node's call, from these cells and notes; while one thread
        calls, they are known here.
        """
        if not self.alone:
            return self.find(node, phase, cells, result, notes)
        known = self._known.get((node, phase, result))
        if known is None:
            known = self.find(node, phase, cells, result, notes)
            self._known[node, phase, result] = known
            for op, before in zip(known.issued, known.befores, strict=True):
                op.before = before
            follows = (node, known.rest) if known.rest else (self.host.child(node, result), 0)
            self._places[follows] = known.cells, known.notes
        return known

    def find(
        self, node: Node, phase: int, cells: tuple[int, ...], result: object, notes: dict[Any, Any]
    ) -> Effect:
        """Run the front end once."""
        assert node.call is not None
        front, effect = self.front, Effect()
        self.stand_at(node, phase, cells, notes)
        self.node, self.phase, self.effect = node, phase, effect
        awaits = self.run(node, phase, result)
        if awaits is not None:
            effect.awaited, rest = awaits
            if rest is not None:
                effect.rest = following(rest, phase)
                self._rests[node, effect.rest] = rest
        if node.call[0] == "thread":
            effect.started = self.host.spawn(node)
        effect.cells, effect.notes = tuple(front.cells), front.notes
        return effect

    def stand_at(
        self, node: Node, phase: int, cells: tuple[int, ...], notes: dict[Any, Any]
    ) -> None:
        """Give the front end what is known before a phase."""
        if self.alone:
            cells, notes = self._places[node, phase]
        self.front.cells, self.front.notes = list(cells), dict(notes)
        self.front.grow()

    def run(self, node: Node, phase: int, result: object) -> Any:
        """What a phase awaits; a protocol's mistake carries its source line."""
        call = node.call
        assert call is not None
        try:
            if phase:
                return self._rests[node, phase](call)
            if call[0] == "query":
                return self.front.query(call) if result else None
            if call[0] in sync.CONTROL or call[0] in {"concurrent", "wait_cell"}:
                return None
            return self.front.call(call)
        except BadProtocol as error:
            error.where = error.where or str(node.where)
            raise

    def touches(
        self, node: Node, phase: int, cells: tuple[int, ...], notes: dict[Any, Any]
    ) -> tuple[int, int, Accesses]:
        """The host's own accesses in a phase: masks of regions read and written, and a list."""
        known = self._touches.get((node, phase))
        if known is None:
            assert node.call is not None
            result = True if node.call[0] == "query" else None
            effect = self.find(node, phase, cells, result, notes)
            known = touched(effect)
            if self.alone or (
                node.call[0] not in {"malloc", "graph_launch"} and not self.front.may_hold
            ):
                self._touches[node, phase] = known
        return known

    def index_of(self, node: Node, phase: int, number: int | None) -> int:
        """The index of an operation that was issued; -1 for one that was not."""
        op = self._ids.get((node, phase, number or 0))
        return -1 if op is None else op.index

    def identity_of(self, op: Operation) -> tuple[Node, int, int]:
        """The call of an operation, in which phase it was issued, and as which of that phase."""
        return next(key for key, known in self._ids.items() if known is op)

    def snapshot(self, node: Node, cells: tuple[int, ...], notes: dict[Any, Any]) -> int:
        """What a query asks about."""
        assert node.call is not None
        self.stand_at(node, 0, cells, notes)
        return self.front.query(node.call)[0]

    # --- the sink ---

    def grow(self) -> None:
        """Memory is kept by region: nothing to do."""

    def join(self, first: int, second: int) -> int:
        """The union."""
        return first | second

    def passed(self, frontier: int) -> bool:
        """Whether everything in the frontier is done; cells keep only what is not, except where
        one thread calls, which goes on only then.
        """
        return self.alone or not frontier

    def op(self, stream: Stream, before: int, reads: Reads, writes: Reads) -> int:
        """Issue an operation; done, it stands for everything before it."""
        key = (self.node, self.phase, len(self.effect.issued))
        op = self._ids.get(key)
        if op is None:
            op = self._ids[key] = Operation(len(self.ops), self.node, stream, reads, writes)
            self.ops.append(op)
        self.effect.issued.append(op)
        self.effect.befores.append(before)
        return op.bit

    def signal(self, stream: Stream, before: int, cell: Cell, value: int) -> int:
        """Issue an operation that stores into a cell."""
        bit = self.op(stream, before, (), ())
        op = self.effect.issued[-1]
        op.cell, op.value = cell, value
        return bit

    def await_cell(self, stream: Stream, before: int, cell: Cell, value: int) -> int:
        """Issue an operation that is not done before the cell is large enough."""
        bit = self.signal(stream, before, cell, value)
        self.effect.issued[-1].awaits = True
        return bit

    def host_signal(self, cell: Cell, value: int) -> None:
        """The host stores into a cell now."""
        self.effect.signals.append((cell, value))

    def host_read(self, reads: Reads) -> None:
        """The host loads now."""
        self.effect.reads = reads

    def host_write(self, writes: Reads) -> None:
        """The host stores now."""
        self.effect.writes = tuple((region, lifted(version)) for region, version in writes)
        self.effect.used += [version for _r, version in writes if isinstance(version, Carried)]

    def stage(self, regions: tuple[Region, ...]) -> tuple[Carried, ...]:
        """The runtime reads on the host thread now."""
        carried = []
        for region in regions:
            key = (self.node, self.phase, len(self.effect.staged))
            value = self._carried.setdefault(key, Carried(-1 - len(self._carried), region))
            self.effect.staged.append(value)
            carried.append(value)
        return tuple(carried)


def following(rest: Any, phase: int) -> int:
    """The phase that the rest of a call is: one of its own where the host may wait first (R4.5)."""
    return getattr(rest, "phase", phase + 1)


def touched(effect: Effect) -> tuple[int, int, Accesses]:
    """The host's accesses in an effect: masks of regions read and written, and a list."""
    reads = [region for region, _expected in effect.reads]
    reads += [value.region for value in effect.staged]
    stores = mask(region for region, _version in effect.writes)
    listed = (
        *((region, False) for region in reads),
        *((region, mode(version)) for region, version in effect.writes),
    )
    return mask(reads), stores, listed


def mode(version: object) -> bool | Idempotent:
    """How a write conflicts: True with any access, an idempotent version not with its equal."""
    return version if isinstance(version, Idempotent) else True


def word(holds: dict[int, Any], cell: Cell) -> int:
    """What a cell holds."""
    return holds.get(CELLS + cell.slot, 0)


def lifted(version: object) -> object:
    """A region as a version stands for what it holds."""
    return Copied(version) if isinstance(version, Region) else version


def mask(regions: Any) -> int:
    """Regions as a bit mask."""
    bits_set = 0
    for region in regions:
        bits_set |= 1 << region.slot
    return bits_set


def bits(number: int) -> list[int]:
    """The indices of the bits set, lowest first."""
    found: list[int] = []
    # What is pending lies close together: shifted down once, it is a small number.
    at = (number & -number).bit_length() - 1 if number else 0
    number >>= at
    while number:
        if number & 1:
            found.append(at)
        number >>= 1
        at += 1
    return found
