"""Rules of allocation (R6.*): a free is a write of poison, reuse is a second name for an address.

So a use after free is an ordinary hazard with that write, or a read that finds poison, also where
the address was baked into a graph. A pool that only keeps books on the host (torch's caching
allocators, an arena) hands an address out again without any access: only its new owner's are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from .copies import Copies
from .errors import BadProtocol
from .memory import PAGEABLE, POISON, UNINITIALISED
from .trace import described

if TYPE_CHECKING:
    from .calls import Call, Reads
    from .memory import Buffer
    from .streams import Await

F = TypeVar("F")
FREED = "freed"


class Allocation(Copies[F]):
    """Plain and stream-ordered allocation."""

    def malloc(self, call: Call) -> None:
        """R6.1, R6.2: no wait is promised. An address that was freed comes back uninitialised."""
        _verb, buffer, of = call
        if of is not None and self.take_back(of):
            self.sink.host_write(filled(buffer, UNINITIALISED))

    def free(self, call: Call) -> Await[F]:
        """R6.1, R6.2: the host waits for the whole device, where that is promised; then the memory
        is gone. Ordinary host memory is freed at once; HIP does not wait for memory of a pool.
        """
        buffer = self.give_up(call[1])
        waits = buffer.kind != PAGEABLE
        if buffer.pooled and not self.contract.pool_free_awaits:
            waits = False
        if waits and not self.promised("free_awaits"):
            waits = False
        return (self.whole_device(buffer.device) if waits else self.sink.empty), self.freed

    def freed(self, call: Call) -> None:
        """R6.2: from here on the memory is someone else's."""
        self.sink.host_write(filled(call[1], POISON))

    def malloc_async(self, call: Call) -> None:
        """R6.3: the memory is there, uninitialised, for what comes after in the stream; it was
        freed before, where the allocator takes care of that (R6.4).
        """
        _verb, buffer, of, stream = call
        if of is not None and self.take_back(of) and self.promised("pool_reuse_ordered"):
            freed = self.cells[self.hidden("allocation", root(of)).slot]
            self.cells[stream.slot] = self.sink.join(self.cells[stream.slot], freed)
        self.captured = described(call)
        self.enqueue(stream, (), filled(buffer, UNINITIALISED))

    def free_async(self, call: Call) -> None:
        """R6.3: after the stream's earlier work; R6.5: and after the work recorded on others."""
        _verb, buffer, stream, used_by = call
        tail = self.cells[self.usable(stream).slot]
        for user in used_by:
            tail = self.sink.join(tail, self.cells[self.usable(user).slot])
        self.cells[stream.slot] = tail
        self.captured = described(call)
        freed = self.enqueue(stream, (), filled(self.give_up(buffer), POISON))
        self.cells[self.hidden("allocation", root(buffer)).slot] = freed

    def give_up(self, buffer: Buffer) -> Buffer:
        """Note that a buffer's address is free; refuses to free it twice."""
        self.touch(self.hidden("allocation", root(buffer)))
        if self.notes.get(root(buffer)) == FREED:
            raise BadProtocol(f"buffer {buffer.name!r} was freed before: it is freed twice")
        self.notes[root(buffer)] = FREED
        return buffer

    def take_back(self, of: Buffer) -> bool:
        """Note that an address is in use again; whether it was free."""
        self.touch(self.hidden("allocation", root(of)))
        return self.notes.pop(root(of), None) == FREED


def filled(buffer: Buffer, version: object) -> Reads:
    """Every region of a buffer with one version."""
    return tuple((region, version) for region in buffer.regions)


def root(buffer: Buffer) -> Buffer:
    """The first buffer that had this one's address."""
    while buffer.of is not None:
        buffer = buffer.of
    return buffer
