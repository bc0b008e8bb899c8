"""Rules of streams, events and host synchronisation (R1.*, R3.*), over an abstract frontier.

A *frontier* stands for a set of operations and everything before them. Who reads the protocol
chooses what it is: the order engine uses vector clocks, the machine sets of pending operations.
The front end keeps one frontier a stream (its tail) and one an event (its last snapshot), in
`cells`, and hands every effect to a *sink*:

- `op(stream, before, reads, writes)` issues an operation that starts after `before`;
- `host_read`, `host_write`, `stage` are accesses of the host, now;
- what a rule returns is what the call awaits: None, or (frontier, the rest of the call or None).

One short method a rule; each names the rule it implements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from .errors import BadProtocol
from .objects import Stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from .contract import Contract
    from .gpu import Call, Gpu, Reads
    from .objects import Region

F = TypeVar("F")

# What a call awaits, and the rest of the call once that is done.
Await = tuple[F, "Callable[[Call], Any] | None"]


class Sink(Protocol[F]):
    """Where effects go."""

    empty: F

    def join(self, first: F, second: F) -> F:
        """The frontier of everything in either."""
        ...

    def op(self, stream: Stream, before: F, reads: Reads, writes: Reads) -> F:
        """Issue an operation of `stream` that starts when `before` is done; its own frontier."""
        ...

    def host_read(self, reads: Reads) -> None:
        """The host loads these regions now."""

    def host_write(self, writes: Reads) -> None:
        """The host stores these versions now."""

    def stage(self, regions: tuple[Region, ...]) -> tuple[Any, ...]:
        """The runtime reads these host regions now, on the host thread; what they held."""
        ...


class Streams(Generic[F]):
    """Streams, events and host waits.

    - `cells[slot]` is the frontier of a stream's tail or of an event's snapshot;
    - `destroyed` holds the streams that no call may use any more;
    - `consulted` collects the uncertain promises on which some call depended.
    """

    def __init__(
        self, gpu: Gpu, contract: Contract, sink: Sink[F], uncertain: tuple[str, ...] = ()
    ) -> None:
        self.gpu = gpu
        self.contract = contract
        self.uncertain = uncertain
        self.sink = sink
        self.cells: list[F] = []
        self.destroyed: set[int] = set()
        self.consulted: set[str] = set()
        self.issued: F = sink.empty
        self.null = gpu.null_stream
        self.grow()

    def grow(self) -> None:
        """Give objects made since a cell each: a new stream is idle, a new event complete."""
        missing = len(self.gpu.cells) - len(self.cells)
        self.cells.extend([self.sink.empty] * missing)

    # --- issuing ---

    def launch(self, call: Call) -> None:
        """R1.1, R2.13: a kernel is an operation of its stream; the host does not wait."""
        self.enqueue(call[1], call[3], call[4])

    def enqueue(self, stream: Stream, reads: Reads, writes: Reads) -> F:
        """R1.1: after everything issued to the stream before; R1.3 for NULL and blocking ones."""
        if stream.slot in self.destroyed:
            raise self.gone(stream)
        before = self.before(stream) if stream.blocking else self.cells[stream.slot]
        after = self.sink.op(stream, before, reads, writes)
        self.cells[stream.slot] = self.issued = after
        return after

    def before(self, stream: Stream) -> F:
        """What an operation issued to this stream now starts after (R1.1, R1.3)."""
        tail = self.cells[stream.slot]
        if stream.is_null:
            return self.gather(tail)
        if stream.blocking:
            return self.sink.join(tail, self.cells[self.null.slot])
        return tail

    def gather(self, tail: F) -> F:
        """R1.3: the NULL stream waits for what was issued to every blocking stream."""
        for other in self.gpu.streams:
            if other.blocking and not other.is_null:
                tail = self.sink.join(tail, self.cells[other.slot])
        return tail

    def usable(self, stream: Stream) -> Stream:
        """The stream, unless this trace has destroyed it."""
        if stream.slot in self.destroyed:
            raise self.gone(stream)
        return stream

    def gone(self, stream: Stream) -> BadProtocol:
        """Why a destroyed stream is refused."""
        return BadProtocol(f"stream {stream.name!r} was destroyed earlier: make a new one")

    # --- events ---

    def record(self, call: Call) -> None:
        """R3.1: a snapshot of the stream; R3.3: it replaces the older one."""
        _verb, event, stream = call
        self.usable(stream)
        if stream.is_null or (stream.blocking and self.contract.record_joins_null):
            self.cells[event.slot] = self.before(stream)
        else:
            self.cells[event.slot] = self.cells[stream.slot]

    def wait(self, call: Call) -> None:
        """R3.2, R3.5: what is issued to the stream later starts after the snapshot held now."""
        _verb, stream, event = call
        tail = self.cells[self.usable(stream).slot]
        if stream.is_null and self.contract.wait_joins_blocking:
            tail = self.gather(tail)
        self.cells[stream.slot] = self.sink.join(tail, self.cells[event.slot])

    # --- host waits ---

    def synchronize_event(self, call: Call) -> Await[F]:
        """R3.6: return when the snapshot that the event holds now is done."""
        return self.cells[call[1].slot], None

    poll = synchronize_event

    def synchronize_stream(self, call: Call) -> Await[F]:
        """R1.6: return when the stream is idle; NULL stands for the blocking streams too."""
        stream = self.usable(call[1])
        return (self.gather(self.cells[0]) if stream.is_null else self.cells[stream.slot]), None

    def synchronize_device(self, _call: Call) -> Await[F]:
        """R1.6: return when every stream is idle, non-blocking ones included."""
        everything = self.sink.empty
        for other in self.gpu.streams:
            everything = self.sink.join(everything, self.cells[other.slot])
        return everything, None

    def query(self, call: Call) -> Await[F]:
        """R3.6, R9.6: what the answer `true` waits for."""
        target = call[1]
        if isinstance(target, Stream):
            return self.synchronize_stream(call)
        return self.cells[target.slot], None

    def destroy(self, call: Call) -> Await[F] | None:
        """R1.7: HIP waits for the stream's work; under CUDA it runs on and the call returns."""
        stream = self.usable(call[1])
        tail = self.cells[stream.slot]
        self.cells[stream.slot] = tail  # a use of the cell: other threads' calls depend on it
        self.destroyed.add(stream.slot)
        return (tail, None) if self.contract.destroy_awaits else None
