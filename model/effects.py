"""What a call does, as sets of pending operations: the machine's sink.

An operation's identity is (node, phase, number within the phase), which gives it a bit; a frontier
is a mask of such bits. Bits are handed out once and never depend on the interleaving.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .clocks import UNWRITTEN
from .frontend import Frontend
from .objects import Region

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .contract import Contract
    from .gpu import Reads
    from .host import Host, Node
    from .objects import Stream

Accesses = tuple[tuple[Region, bool], ...]


class Carried:
    """A version that a staged copy took at its call and carries to its destination."""

    __slots__ = ("key", "region")

    def __init__(self, key: int, region: Region) -> None:
        self.key = key
        self.region = region

    def held_in(self, holds: dict[int, Any]) -> object:
        """The carried version."""
        return holds.get(self.key, UNWRITTEN)


class Copied:
    """A version that stands for what a region holds."""

    __slots__ = ("region",)

    def __init__(self, region: Region) -> None:
        self.region = region

    def held_in(self, holds: dict[int, Any]) -> object:
        """What the region holds."""
        return holds.get(self.region.slot, UNWRITTEN)


class Operation:
    """An issued operation: its stream, what it reads and writes, and (with one host thread) what
    it starts after.
    """

    __slots__ = (
        "before",
        "bit",
        "carried",
        "index",
        "loads",
        "node",
        "reads",
        "stores",
        "stream",
        "writes",
    )

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

    def accesses(self) -> Iterator[tuple[Region, bool]]:
        """Each region that is read (False) or written (True)."""
        yield from ((region, False) for region, _expected in self.reads)
        yield from ((region, True) for region, _version in self.writes)


class Effect:
    """What one phase of a call does: host accesses, operations, a wait, and what is left of it."""

    __slots__ = (
        "awaited", "befores", "cells", "issued", "reads", "rest", "staged", "started", "used",
        "writes",
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
        self.started: Node | None = None


class Effects:
    """Effects of calls, found by the front end over bit masks; kept while one thread calls."""

    empty = 0

    def __init__(
        self, host: Host, contract: Contract, uncertain: tuple[str, ...], alone: bool
    ) -> None:
        self.host = host
        self.ops: list[Operation] = []
        self.front: Frontend[int] = Frontend(host.gpu, contract, self, uncertain)
        self.alone = alone
        self._ids: dict[tuple[Node, int, int], Operation] = {}
        self._carried: dict[tuple[Node, int, int], Carried] = {}
        self._rests: dict[tuple[Node, int], Any] = {}
        self._known: dict[tuple[Node, int, Any], Effect] = {}
        self._cells: dict[tuple[Node, int], tuple[int, ...]] = {(host.root, 0): ()}
        self._touches: dict[tuple[Node, int], tuple[int, int, Accesses]] = {}

    # --- effects ---

    def of(
        self,
        node: Node,
        phase: int,
        cells: tuple[int, ...],
        result: object,
        destroyed: frozenset[int],
    ) -> Effect:
        """The effect of a phase of a node's call, from these cells."""
        if not self.alone:
            return self.find(node, phase, cells, result, destroyed)
        known = self._known.get((node, phase, result))
        if known is None:
            known = self.find(node, phase, cells, result, destroyed)
            self._known[node, phase, result] = known
            for op, before in zip(known.issued, known.befores, strict=True):
                op.before = before
            follows = (node, known.rest) if known.rest else (self.host.child(node, result), 0)
            self._cells[follows] = known.cells
        return known

    def find(
        self,
        node: Node,
        phase: int,
        cells: tuple[int, ...],
        result: object,
        destroyed: frozenset[int],
    ) -> Effect:
        """Run the front end once."""
        assert node.call is not None
        front, effect = self.front, Effect()
        front.cells = list(cells)
        front.grow()
        front.destroyed = set(destroyed)
        self.node, self.phase, self.effect, self.staged = node, phase, effect, 0
        if phase:
            awaits = self._rests[node, phase](node.call)
        elif node.call[0] == "query":
            awaits = front.query(node.call) if result else None
        elif node.call[0] == "concurrent":
            awaits = None
        else:
            awaits = front.call(node.call)
        if awaits is not None:
            effect.awaited, rest = awaits
            if rest is not None:
                effect.rest = phase + 1
                self._rests[node, phase + 1] = rest
        if node.call[0] == "thread":
            effect.started = self.host.spawn(node)
        effect.cells = tuple(front.cells)
        return effect

    def touches(self, node: Node, phase: int) -> tuple[int, int, Accesses]:
        """The host's own accesses in a phase: masks of regions read and written, and a list."""
        known = self._touches.get((node, phase))
        if known is None:
            result = True if node.call and node.call[0] == "query" else None
            effect = self.find(node, phase, (), result, frozenset())
            reads = [region for region, _expected in effect.reads]
            reads += [value.region for value in effect.staged]
            writes = [region for region, _version in effect.writes]
            listed = (*((r, False) for r in reads), *((r, True) for r in writes))
            known = self._touches[node, phase] = mask(reads), mask(writes), listed
        return known

    def index_of(self, node: Node, phase: int, number: int | None) -> int:
        """The index of an operation that was issued; -1 for one that was not."""
        op = self._ids.get((node, phase, number or 0))
        return -1 if op is None else op.index

    def snapshot(self, node: Node, cells: tuple[int, ...]) -> int:
        """What a query asks about."""
        assert node.call is not None
        self.front.cells = list(cells)
        self.front.grow()
        return self.front.query(node.call)[0]

    def cells_at(self, node: Node, phase: int) -> tuple[int, ...]:
        """The frontiers when the only thread is here."""
        return self._cells[node, phase]

    # --- the sink ---

    def join(self, first: int, second: int) -> int:
        """The union."""
        return first | second

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


def lifted(version: object) -> object:
    """A region as a version stands for what it holds."""
    return Copied(version) if isinstance(version, Region) else version


def mask(regions: Any) -> int:
    """Regions as a bit mask."""
    bits_set = 0
    for region in regions:
        bits_set |= 1 << region.slot
    return bits_set


def bits(number: int) -> Iterator[int]:
    """The indices of the bits set, lowest first."""
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low
