"""Rules of allocation (R6.*): a free is a write of poison, reuse is a second name for an address.

So a use after free is an ordinary hazard with that write, or a read that finds poison, also where
the address was baked into a graph. A pool that only keeps books on the host (torch's caching
allocators, an arena) hands an address out again without any access: only its new owner's are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from .copies import Copies
from .memory import POISON, UNINITIALISED

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
        if of is not None:
            self.touch(self.hidden("allocation", root(of)))
        if of is not None and self.notes.pop(root(of), None) == FREED:
            self.sink.host_write(filled(buffer, UNINITIALISED))

    def free(self, call: Call) -> Await[F]:
        """R6.1, R6.2: the host waits for the whole device, where that is promised; then it is
        gone.
        """
        waits = self.promised("free_awaits")
        everything = self.whole_device(call[1].device)
        return (everything if waits else self.sink.empty), self.freed

    def freed(self, call: Call) -> None:
        """R6.2: from here on the memory is someone else's."""
        self.touch(self.hidden("allocation", root(call[1])))
        self.notes[root(call[1])] = FREED
        self.sink.host_write(filled(call[1], POISON))

    def malloc_async(self, call: Call) -> None:
        """R6.3: the memory is there, uninitialised, for what comes after in the stream."""
        _verb, buffer, _of, stream = call
        self.enqueue(stream, (), filled(buffer, UNINITIALISED))

    def free_async(self, call: Call) -> None:
        """R6.3: after the stream's earlier work; R6.5: and after the work recorded on others."""
        _verb, buffer, stream, used_by = call
        tail = self.cells[self.usable(stream).slot]
        for user in used_by:
            tail = self.sink.join(tail, self.cells[self.usable(user).slot])
        self.cells[stream.slot] = tail
        self.enqueue(stream, (), filled(buffer, POISON))


def filled(buffer: Buffer, version: object) -> Reads:
    """Every region of a buffer with one version."""
    return tuple((region, version) for region in buffer.regions)


def root(buffer: Buffer) -> Buffer:
    """The first buffer that had this one's address."""
    while buffer.of is not None:
        buffer = buffer.of
    return buffer
