"""Rules of copies and fills (R2.*): what is read when, and what has happened on return.

A copy is one operation with one (destination, source) pair a part and no order among parts. A
pageable source is staged: the runtime reads it on the host, within the call, and the value travels
in the operation; a pinned or device source is read by the operation itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from .memory import DEVICE, MANAGED, PAGEABLE, PINNED
from .streams import Await, Streams
from .trace import described

if TYPE_CHECKING:
    from .calls import Call, Reads
    from .memory import Pairs
    from .objects import Stream

F = TypeVar("F")
HOST = (PINNED, PAGEABLE)


class Copies(Streams[F]):
    """Copies and fills between every pair of memory kinds."""

    # --- blocking copies: operations of the NULL stream (R2.1) ---------------------------------

    def memcpy(self, call: Call) -> Await[F] | None:
        """R2.1: an operation of the NULL stream; what the host awaits depends on the ends."""
        _verb, pairs, null = call
        dst, src = pairs.dst, pairs.src
        if dst in HOST and src in HOST:
            return self.host_to_host(call, null)
        if src == PAGEABLE:
            return self.blocking_upload(call)
        self.copy(null, pairs)
        return (self.issued, None) if self.blocks(dst, src) else None

    def blocks(self, dst: str, src: str) -> bool:
        """R2.2, R2.3: the host waits unless both ends are on the device; R2.11 for managed ones."""
        if dst in HOST or src in HOST:
            return True
        return MANAGED in {dst, src} and self.promised("managed_copy_awaits")

    def blocking_upload(self, call: Call) -> Await[F] | None:
        """R2.2: CUDA synchronises the stream, stages the source, and returns; R2.3: HIP stages
        and waits for the device write.
        """
        _verb, pairs, null = call
        if self.contract.upload_awaits_write:
            self.upload(null, pairs)
            return self.issued, None
        return self.idle(null), self.staged_upload

    def staged_upload(self, call: Call) -> Await[F] | None:
        """R2.2: the source is staged now; the device write may still be pending on return."""
        _verb, pairs, null = call
        self.upload(null, pairs)
        managed = pairs.dst == MANAGED and self.promised("managed_copy_awaits")
        return (self.issued, None) if managed else None

    # --- asynchronous copies ---

    def memcpy_async(self, call: Call) -> Await[F] | None:
        """R2.5: an operation of the stream and no wait; R2.6 to R2.8 for pageable memory."""
        _verb, pairs, stream, source = call
        if self.notes:
            self.captured = described(call)
        dst, src = pairs.dst, pairs.src
        if dst in HOST and src in HOST:
            return self.host_to_host(call, stream)
        if source == "any":
            self.copy_any_time(stream, pairs)
        elif source == "call" or (source is None and self.stages(stream, src)):
            self.upload(stream, pairs)
        else:
            self.copy(stream, pairs)
        return (self.issued, None) if self.holds_host(stream, dst, src) else None

    def holds_host(self, stream: Stream, dst: str, src: str) -> bool:
        """R2.6, R2.7: whether an asynchronous copy keeps the host waiting until it is complete."""
        if stream in self.notes:
            return False
        if dst == PAGEABLE:
            promised = self.contract
            return promised.pageable_download_awaits or promised.pageable_downloads_return is False
        return src == PAGEABLE and self.contract.pageable_uploads_return is False

    def stages(self, _stream: Stream, src: str) -> bool:
        """R2.6, R2.7: pageable memory is staged at the call; in a capture see `Graphs`."""
        return src == PAGEABLE and self.promised("pageable_staged")

    # --- how data moves ---

    def copy(self, stream: Stream, pairs: Pairs) -> F:
        """The operation reads the source itself (pinned, device and managed memory)."""
        return self.move(stream, pairs.device, pairs.reads, pairs)

    def upload(self, stream: Stream, pairs: Pairs) -> F:
        """The source is read on the host now; the operation carries the value (R2.6, R2.7)."""
        self.usable(stream)
        held = self.sink.stage(tuple(src for _dst, src in pairs))
        writes = tuple((dst, value) for (dst, _src), value in zip(pairs, held, strict=True))
        return self.move(stream, pairs.device, (), writes)

    def move(self, stream: Stream, device: int, reads: Reads, writes: Reads) -> F:
        """R2.9: HIP runs a copy of another device's memory on the NULL stream there, after the
        caller's stream, which then waits for it.
        """
        if device == stream.device or not self.contract.peer_copies_on_null:
            return self.enqueue(stream, reads, writes)
        tail, null = self.before(self.usable(stream)), self.gpu.null(device)
        self.grow()
        self.cells[null.slot] = self.sink.join(self.cells[null.slot], tail)
        after = self.enqueue(null, reads, writes)
        self.advance(stream, self.sink.join(tail, after))
        return after

    def copy_any_time(self, stream: Stream, pairs: Pairs) -> F:
        """A batched copy that may read its source at any time from the call on: an operation of
        its own reads, another in stream order writes.
        """
        self.usable(stream)
        number = self.notes.get(self.hidden("any", stream), 0) + 1
        self.notes[self.hidden("any", stream)] = number
        lane = self.hidden(f"{stream.name} (source)", stream, number)
        held = tuple(self.gpu.scratch(src, number) for _dst, src in pairs)
        self.grow()
        copied = tuple((at, src) for at, (_dst, src) in zip(held, pairs, strict=True))
        early = self.sink.op(lane, self.sink.empty, pairs.reads, copied)
        self.cells[stream.slot] = self.sink.join(self.cells[stream.slot], early)
        reads = tuple((at, None) for at in held)
        writes = tuple((dst, at) for at, (dst, _src) in zip(held, pairs, strict=True))
        return self.move(stream, pairs.device, reads, writes)

    def host_to_host(self, call: Call, stream: Stream) -> Await[F]:
        """R2.2, R2.8: CUDA runs it on the stream and waits; HIP drains the stream, then the CPU
        copies.
        """
        if self.contract.host_copies_by_cpu:
            self.issued = None  # type: ignore[assignment] - the CPU copies: there is no operation
            return self.before(self.usable(stream)), self.cpu_copy
        self.copy(stream, call[1])
        return self.issued, None

    def cpu_copy(self, call: Call) -> None:
        """R2.8: the host thread itself reads and writes."""
        pairs = call[1]
        held = self.sink.stage(tuple(src for _dst, src in pairs))
        self.sink.host_write(
            tuple((dst, value) for (dst, _src), value in zip(pairs, held, strict=True))
        )

    # --- fills ---

    def memset(self, call: Call) -> Await[F] | None:
        """R2.10: an operation of the NULL stream; the host waits for pinned and managed memory,
        and under HIP for device memory away from the start of its allocation.
        """
        _verb, regions, _value, null = call
        kind = regions[0].kind
        if kind == PINNED and self.contract.memset_pinned_by_cpu:
            return self.before(null), self.cpu_fill
        self.enqueue(null, (), self.filled(call))
        interior = self.contract.memset_interior_awaits and regions[0].index > 0
        return (self.issued, None) if kind != DEVICE or interior else None

    def memset_async(self, call: Call) -> Await[F] | None:
        """R2.10: an operation of the stream; HIP fills pinned memory by CPU, the stream drained."""
        _verb, regions, _value, stream = call
        if self.notes:
            self.captured = described(call)
        if regions[0].kind == PINNED and self.contract.memset_pinned_by_cpu:
            self.issued = None  # type: ignore[assignment] - the CPU fills: there is no operation
            return self.before(self.usable(stream)), self.cpu_fill
        self.enqueue(stream, (), self.filled(call))
        return None

    def cpu_fill(self, call: Call) -> None:
        """R2.10: the host thread itself writes."""
        self.sink.host_write(self.filled(call))

    def filled(self, call: Call) -> Reads:
        """The regions that a fill writes, with the version."""
        return tuple((region, call[2]) for region in call[1])
