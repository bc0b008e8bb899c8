"""What memory holds in a simulation: the version of every region, and cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.memory import POISON, UNINITIALISED, UNWRITTEN, Idempotent, Region, spoiled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.calls import Reads
    from ..model.objects import Cell


class Held:
    """A version that a staged copy took at its call and carries to its destination."""

    __slots__ = ("version",)

    def __init__(self, version: object) -> None:
        self.version = version

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and self.version == other.version

    def __hash__(self) -> int:
        return hash(self.version)

    def __repr__(self) -> str:
        return repr(self.version)


class Wrong(NamedTuple):
    """An access that found another version than it expects, or freed memory."""

    region: Region
    expected: object
    found: object


class Contents:
    """Versions by slot (a region that nothing has written is absent), and the cells' words."""

    def __init__(self) -> None:
        self.versions: dict[int, Any] = {}
        self.words: dict[Cell, int] = {}

    def version(self, region: Region) -> object:
        """What a region holds."""
        return self.versions.get(region.slot, UNWRITTEN)

    def word(self, cell: Cell) -> int:
        """What a cell holds."""
        return self.words.get(cell, 0)

    def access(self, reads: Reads, writes: Reads) -> list[Wrong]:
        """All the reads, then all the writes; what they found wrong."""
        wrong = [*self.wrong_reads(reads), *self.wrong_writes(writes)]
        values = [self.meant(version) for _region, version in writes]
        for (region, _version), value in zip(writes, values, strict=True):
            if value is UNWRITTEN:
                self.versions.pop(region.slot, None)
            else:
                self.versions[region.slot] = value
        return wrong

    def wrong_reads(self, reads: Reads) -> Iterator[Wrong]:
        """Reads of another version than expected, and of freed memory."""
        for region, expected in reads:
            found = self.version(region)
            if spoiled(found, expected):
                yield Wrong(region, expected, found)

    def wrong_writes(self, writes: Reads) -> Iterator[Wrong]:
        """Writes of data into freed memory: only an allocator may write there."""
        for region, version in writes:
            allocates = version is UNINITIALISED or version is POISON
            if not allocates and self.version(region) is POISON:
                yield Wrong(region, None, POISON)

    def meant(self, version: object) -> object:
        """The version that a write stores: a region stands for what it holds."""
        if isinstance(version, Region):
            return self.version(version)
        if isinstance(version, Held):
            return version.version
        return version.value if isinstance(version, Idempotent) else version

    def as_key(self) -> tuple[Any, ...]:
        """The contents as part of a state."""
        return frozenset(self.versions.items()), frozenset(self.words.items())
