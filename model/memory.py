"""Memory: buffers, their regions, versions, and what a call says about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import BadProtocol, UnknownPart
from .objects import Handle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .gpu import Gpu

DEVICE, PINNED, PAGEABLE, MANAGED = "device", "pinned", "pageable", "managed"


class Special:
    """A version that no protocol writes by name; it equals only itself."""

    def __init__(self, words: str) -> None:
        self.words = words

    def __repr__(self) -> str:
        return self.words


UNWRITTEN = Special("nothing")
"""The version of memory that nothing has written yet."""

UNINITIALISED = Special("uninitialised")
"""The version of memory that was allocated again and not written since."""

POISON = Special("freed memory")
"""The version of memory that was freed: whoever finds it uses it after the free."""


def spoiled(found: object, expected: object) -> bool:
    """Whether a read that finds this version is wrong."""
    return (expected is not None and found != expected) or found is POISON


class Idempotent:
    """A version whose writers need no order among themselves: all write the same."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Idempotent) and self.value == other.value

    def __hash__(self) -> int:
        return hash(("idempotent", self.value))


def conflict(first: bool | Idempotent, second: bool | Idempotent) -> bool:
    """Whether two accesses of one region conflict: False is a read, True a write."""
    if isinstance(first, Idempotent) and first == second:
        return False
    return bool(first) or bool(second)


class Region:
    """One part of a buffer: the unit of every access, of versions and of hazards.

    Buffers that share an address share slots: it is the slot that identifies the memory.
    """

    __slots__ = ("buffer", "index", "part", "slot")

    def __init__(self, buffer: Buffer, part: str, index: int, slot: int) -> None:
        self.buffer = buffer
        self.part = part
        self.index = index
        self.slot = slot

    @property
    def kind(self) -> str:
        """The kind of memory: device, pinned, pageable or managed."""
        return self.buffer.kind

    @property
    def nbytes(self) -> int | None:
        """Its size in bytes, where the protocol says it."""
        sizes = self.buffer.nbytes
        return sizes[self.index] if sizes else None

    def __repr__(self) -> str:
        return f"{self.buffer.name}.{self.part}" if self.part else self.buffer.name


class Expectation:
    """Regions with the version that a reader must find there; made by `Buffer.expect`.

    `pairs` is a tuple of (region, version); `|` joins two of them. It is immutable, so that a
    launch that is repeated for 61 layers is checked for misuse once.
    """

    __slots__ = ("gpu", "pairs", "version")

    def __init__(self, gpu: Gpu, pairs: tuple[tuple[Region, Any], ...], version: object) -> None:
        self.gpu = gpu
        self.pairs = pairs
        self.version = version

    def __repr__(self) -> str:
        return " ".join(f"{region!r}={version!r}" for region, version in self.pairs)

    def __or__(self, other: Expectation) -> Expectation:
        if other.gpu is not self.gpu:
            raise BadProtocol(f"the expectation {other!r} belongs to another Gpu")
        return Expectation(self.gpu, self.pairs + other.pairs, None)


class Pairs(tuple[tuple[Region, Region], ...]):  # noqa: SLOT001
    """What a copy moves: a (destination, source) a part, with the kinds of memory at both ends.

    `reads` is the sources as an operation reads them: without an expectation. `device` is where
    the destination lives, or the source where that is host memory.
    """

    @property
    def nbytes(self) -> int | None:
        """How many bytes are moved; None where the size of neither end was given."""
        sizes = [src.nbytes or dst.nbytes for dst, src in self]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    # No slots: a tuple cannot have any, and these are asked for at every copy.
    def __init__(self, pairs: Iterable[tuple[Region, Region]]) -> None:  # noqa: ARG002
        self.dst = self[0][0].kind
        self.src = self[0][1].kind
        self.reads = tuple((src, None) for _dst, src in self)
        ends = [region.buffer for region in self[0] if region.kind in {DEVICE, MANAGED}]
        self.device = ends[0].device if ends else 0


class Buffer(Handle):
    """A buffer of one kind of memory. `buf.part` and `buf["part"]` select a named region.

    `of` is the buffer whose address this one reuses, None for memory of its own; `pooled` says that
    it came from a stream-ordered allocation; `nbytes` is the size of each part in bytes, None where
    nothing was said of it.
    """

    __slots__ = ("_expected", "by_part", "device", "kind", "nbytes", "of", "pooled", "regions")

    def __init__(
        self,
        gpu: Gpu,
        name: str,
        slot: int,
        kind: str,
        parts: tuple[str, ...],
        device: int = 0,
        of: Buffer | None = None,
        pooled: bool = False,
        nbytes: tuple[int, ...] | None = None,
    ) -> None:
        super().__init__(gpu, name, of.slot if of else slot)
        slot = self.slot
        self.kind = kind
        self.device = device
        self.of = of
        self.pooled = pooled
        self.nbytes = nbytes
        names = parts or ("",)
        self.regions = tuple(Region(self, part, i, slot + i) for i, part in enumerate(names))
        self.by_part = {region.part: region for region in self.regions if region.part}
        self._expected: dict[tuple[str, ...], Expectation] = {}

    def __getitem__(self, part: str) -> Region:
        try:
            return self.by_part[part]
        except KeyError:
            raise UnknownPart(self._unknown(part)) from None

    def __getattr__(self, part: str) -> Region:
        if part.startswith("__"):
            raise AttributeError(part)
        return self[part]

    def _unknown(self, part: str) -> str:
        has = ", ".join(self.by_part) or "none: it was made without parts"
        return f"buffer {self.name!r} has no part {part!r}; its parts are: {has}"

    def expect(self, parts: tuple[str, ...], version: object) -> Expectation:
        """What a reader of these parts must find: `version` in each of them."""
        # Only the last version is kept for each choice of parts: launches repeat it layer after
        # layer, and a long run must not grow.
        last = self._expected.get(parts) if type(parts) is tuple else None
        if last is not None and last.version is version:
            return last
        if self.kind == PAGEABLE:
            raise kernel_on_pageable(self)
        parts = tuple(parts)
        if not parts:
            raise BadProtocol(f"buffer {self.name!r}: expect() needs at least one part")
        version = self.gpu.check_version(version)
        made = Expectation(self.gpu, tuple((self[part], version) for part in parts), version)
        self._expected[parts] = made
        return made


class Opaque:
    """Data that the host read without saying what it expects; nothing may depend on it."""

    __slots__ = ("what",)

    def __init__(self, what: str) -> None:
        self.what = what

    def _refuse(self, *_args: object) -> Any:
        raise BadProtocol(
            f"host control may not depend on data read from {self.what}: use read(..., expect=v), "
            "which returns v, or choose(...) to explore both ways"
        )

    __bool__ = __int__ = __index__ = __float__ = __len__ = __iter__ = __hash__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __getitem__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __rmod__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __neg__ = __format__ = _refuse

    def __repr__(self) -> str:
        return f"<data read from {self.what}>"


def kernel_on_pageable(buffer: Buffer) -> BadProtocol:
    """Why a kernel that names pageable memory is refused."""
    return BadProtocol(
        f"a kernel cannot access pageable buffer {buffer.name!r}: give it device, pinned or "
        "managed memory"
    )


def regions_of(target: Buffer | Region) -> tuple[Region, ...]:
    """The regions of a buffer, or the one region itself."""
    return target.regions if isinstance(target, Buffer) else (target,)


def each(targets: object, refuse: Callable[[object], BadProtocol]) -> Iterator[Region]:
    """Every region named by a buffer, a region or an iterable of them."""
    if isinstance(targets, (Buffer, Region)):
        yield from regions_of(targets)
        return
    if isinstance(targets, str) or not hasattr(targets, "__iter__"):
        raise refuse(targets)
    for target in targets:  # type: ignore[attr-defined]
        yield from each(target, refuse)
