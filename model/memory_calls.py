"""The stream API, memory: buffers of every kind, copies, fills, allocation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .checks import Checks
from .errors import BadProtocol
from .memory import DEVICE, MANAGED, PAGEABLE, PINNED, Buffer, Region
from .objects import Stream

if TYPE_CHECKING:
    from collections.abc import Iterable

    Size = int | dict[str, int] | None


class MemoryCalls(Checks):
    """Buffers, and what moves data between them.

    `nbytes`, the size of each part in bytes or a dict from parts to sizes, changes no promise:
    it tells a runtime's masking which way a copy takes.
    """

    def device(
        self, name: str, parts: Iterable[str] = (), device: int = 0, nbytes: Size = None
    ) -> Buffer:
        """Make a buffer in a device's memory; the host may not touch it."""
        return self._buffer(name, DEVICE, parts, self._device_number(device), nbytes=nbytes)

    def pinned(self, name: str, parts: Iterable[str] = (), nbytes: Size = None) -> Buffer:
        """Make a buffer in page-locked host memory; kernels may read it in place (R9.4)."""
        return self._buffer(name, PINNED, parts, nbytes=nbytes)

    def pageable(self, name: str, parts: Iterable[str] = (), nbytes: Size = None) -> Buffer:
        """Make a buffer in ordinary host memory; copies stage it (R2.2, R2.6, R2.7)."""
        return self._buffer(name, PAGEABLE, parts, nbytes=nbytes)

    def managed(self, name: str, parts: Iterable[str] = (), nbytes: Size = None) -> Buffer:
        """Make a buffer in managed memory: host and kernels both access it (R2.11)."""
        return self._buffer(name, MANAGED, parts, nbytes=nbytes)

    def _buffer(
        self,
        name: str,
        kind: str,
        parts: Iterable[str],
        device: int = 0,
        of: Buffer | None = None,
        pooled: bool = False,
        nbytes: Size = None,
    ) -> Buffer:
        if isinstance(parts, str):
            raise BadProtocol(
                f"buffer {name!r}: parts is an iterable of names, not the string {parts!r}"
            )
        parts = tuple(parts)
        for part in parts:
            if (
                not part
                or not isinstance(part, str)
                or hasattr(Buffer, part)
                or part in Buffer.__slots__
            ):
                raise BadProtocol(f"buffer {name!r}: {part!r} cannot be the name of a part")
        if len(set(parts)) != len(parts):
            raise BadProtocol(f"buffer {name!r}: two parts have one name")
        sizes = sizes_of(name, parts, nbytes)
        return self._make(Buffer, self.regions, name, kind, parts, device, of, pooled, sizes)

    # --- allocation ---

    def malloc(self, name: str, parts: Iterable[str] = (), of: Buffer | None = None) -> Buffer:
        """Allocate device memory (R6.1, R6.2).

        `of` names an earlier buffer whose address is handed out again, as a pool does on the host
        alone; after `free(of)` the memory is uninitialised.
        """
        made = self._allocated(name, parts, of)
        self._call(("malloc", made, of))
        return made

    def free(self, buffer: Buffer) -> None:
        """Free a buffer: the host waits as the runtime does (R6.1, R6.2), then it is poison."""
        self._call(("free", self._freeable(buffer)))

    def malloc_async(
        self, name: str, stream: Stream, parts: Iterable[str] = (), of: Buffer | None = None
    ) -> Buffer:
        """Allocate in stream order (R6.3); `of` is an earlier buffer whose address is reused."""
        self._own(stream, Stream)
        made = self._allocated(name, parts, of, stream)
        self._call(("malloc_async", made, of, stream))
        return made

    def free_async(self, buffer: Buffer, stream: Stream, used_by: Iterable[Stream] = ()) -> None:
        """Free in stream order: poison from there on (R6.3).

        `used_by` are streams whose work so far the free also waits for, as torch's
        `record_stream` makes it (R6.5).
        """
        self._own(stream, Stream)
        if isinstance(used_by, Stream):
            raise BadProtocol(f"used_by takes several streams: write used_by=[{used_by.name}]")
        users = tuple(used_by)
        for user in users:
            self._own(user, Stream)
        self._call(("free_async", self._freeable(buffer), stream, users))

    def _allocated(
        self, name: str, parts: Iterable[str], of: Buffer | None, stream: Stream | None = None
    ) -> Buffer:
        pooled = stream is not None
        if of is None:
            device = stream.device if stream is not None else 0
            return self._buffer(name, DEVICE, parts, device, None, pooled)
        if type(of) is not Buffer or of.gpu is not self:
            raise self._foreign(of, "buffer")
        parts = tuple(parts) or tuple(of.by_part)
        if len(parts or ("",)) != len(of.regions):
            raise BadProtocol(f"{name!r} reuses {of.name!r}, which has {len(of.regions)} parts")
        if pooled and of.kind != DEVICE:
            raise BadProtocol(f"malloc_async allocates device memory; {of.name!r} is {of.kind}")
        return self._buffer(name, of.kind, parts, of.device, of, pooled)

    def _freeable(self, buffer: Buffer) -> Buffer:
        if type(buffer) is not Buffer or buffer.gpu is not self:
            raise self._foreign(buffer, "buffer")
        return buffer

    # --- copies ---

    def memcpy(self, dst: Buffer | Region, src: Buffer | Region) -> None:
        """Copy on the NULL stream; what has happened on return is the contract's (R2.1-R2.3)."""
        pairs = self._pairs(dst, src)
        self._call(("memcpy", pairs, self.null(pairs.device)))

    def memcpy_async(
        self, dst: Buffer | Region, src: Buffer | Region, stream: Stream, source: str | None = None
    ) -> object:
        """Copy on a stream; whether the host waits is the contract's (R2.5-R2.8).

        `source` is when host memory is read, for calls that state it: during the `call`, in
        `stream` order, or at `any` time up to the copy (batched copies).
        """
        self._own(stream, Stream)
        pairs = self._pairs(dst, src)
        if source is not None:
            if not isinstance(source, str) or source not in {"call", "stream", "any"}:
                raise BadProtocol(f"source is 'call', 'stream' or 'any', not {source!r}")
            if pairs.src == DEVICE:
                raise BadProtocol(
                    "source= says when host memory is read; this copies from a device"
                )
        return self._call(("memcpy_async", pairs, stream, source))

    def memset(self, target: Buffer | Region, value: object) -> None:
        """Fill on the NULL stream (R2.10)."""
        regions = self._fillable(target)
        null = self.null(regions[0].buffer.device)
        self._call(("memset", regions, self.check_version(value), null))

    def memset_async(self, target: Buffer | Region, value: object, stream: Stream) -> object:
        """Fill on a stream (R2.10)."""
        self._own(stream, Stream)
        return self._call(
            ("memset_async", self._fillable(target), self.check_version(value), stream)
        )


def sizes_of(name: str, parts: tuple[str, ...], nbytes: Size) -> tuple[int, ...] | None:
    """The size of each part in bytes."""
    if nbytes is None:
        return None
    parts = parts or ("",)
    given = dict.fromkeys(parts, nbytes) if isinstance(nbytes, int) else nbytes
    fits = isinstance(given, dict) and given.keys() == set(parts)
    if not fits or any(type(size) is not int or size < 1 for size in given.values()):
        raise BadProtocol(
            f"buffer {name!r}: nbytes is the size of each part in bytes, a positive whole number, "
            f"or a dict from every part to one, not {nbytes!r}"
        )
    return tuple(given[part] for part in parts)
