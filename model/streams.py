"""Rules of streams, events and host synchronisation (R1.*, R3.*), over an abstract frontier.

A *frontier* stands for a set of operations and everything before them. Who reads the protocol
chooses what it is: the order engine uses vector clocks, the machine sets of pending operations.
The front end keeps one frontier a stream (its tail) and one an event (its last snapshot), in
`cells`, and hands every effect to a *sink*:

- `op(lane, before, reads, writes)` issues an operation that starts after `before`;
- `host_read`, `host_write`, `stage` are accesses of the host, now;
- what a rule returns is what the call awaits: None, or (frontier, the rest of the call or None).

One short method a rule; each names the rule it implements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from .errors import Again, BadProtocol, NotModelled
from .objects import DESTROYED, Event, Stream
from .trace import described

if TYPE_CHECKING:
    from collections.abc import Callable

    from .calls import Call, Reads
    from .contract import Contract
    from .gpu import Gpu
    from .memory import Region
    from .objects import Cell, Handle

F = TypeVar("F")

# What a call awaits, and the rest of the call once that is done.
Await = tuple[F, "Callable[[Call], Any] | None"]


class Sink(Protocol[F]):
    """Where effects go."""

    empty: F

    def grow(self) -> None:
        """Give regions made since a place."""

    def join(self, first: F, second: F) -> F:
        """The frontier of everything in either."""
        ...

    def passed(self, frontier: F) -> bool:
        """Whether everything in a frontier that the host has awaited is done for certain."""
        ...

    def op(self, stream: Stream, before: F, reads: Reads, writes: Reads) -> F:
        """Issue an operation on a lane that starts when `before` is done; its own frontier."""
        ...

    def host_read(self, reads: Reads) -> None:
        """The host loads these regions now."""

    def host_write(self, writes: Reads) -> None:
        """The host stores these versions now."""

    def signal(self, stream: Stream, before: F, cell: Cell, value: int) -> F:
        """Issue an operation that stores into a cell."""
        ...

    def await_cell(self, stream: Stream, before: F, cell: Cell, value: int) -> F:
        """Issue an operation that is not done before the cell is at least this value."""
        ...

    def host_signal(self, cell: Cell, value: int) -> None:
        """The host stores into a cell now."""

    def stage(self, regions: tuple[Region, ...]) -> tuple[Any, ...]:
        """The runtime reads these host regions now, on the host thread; what they held."""
        ...


class Streams(Generic[F]):
    """Streams, events and host waits.

    - `cells[slot]` is the frontier of a stream's tail or of an event's snapshot;
    - `notes` says what else is known of an object: a stream that was destroyed or is captured, an
      event recorded in a capture, a graph's nodes; values never change, they are replaced;
    - `consulted` collects the uncertain promises on which some call depended;
    - `issued` is the last operation; `captured` the call that becomes a node, in words.
    """

    def __init__(
        self, gpu: Gpu, contract: Contract, sink: Sink[F], uncertain: tuple[str, ...] = ()
    ) -> None:
        self.gpu = gpu
        self.contract = contract
        self.uncertain = uncertain
        self.sink = sink
        self.cells: list[F] = []
        self.notes: dict[Handle, Any] = {}
        self.consulted: set[str] = set()
        self.issued: F = sink.empty
        self.captured = ""
        self.grow()

    def grow(self) -> None:
        """Give objects made since a cell each: a new stream is idle, a new event complete."""
        missing = len(self.gpu.cells) - len(self.cells)
        self.cells.extend([self.sink.empty] * missing)
        self.sink.grow()

    def promised(self, field: str) -> bool:
        """Whether the contract keeps this promise; an uncertain one is noted as consulted."""
        if field in self.uncertain:
            self.consulted.add(field)
        return bool(getattr(self.contract, field))

    # --- issuing ---

    def launch(self, call: Call) -> None:
        """R1.1, R2.13: a kernel is an operation of its stream; the host does not wait."""
        _verb, stream, _kernel, reads, writes, early = call
        if self.notes:
            self.captured = described(call)
        if early and self.contract.early_launch:
            self.early(call)
        elif self.gpu.early_used and stream not in self.notes:
            self.kernel_before_early(stream, reads, writes)
        else:
            self.enqueue(stream, reads, writes)

    def host_func(self, call: Call) -> None:
        """R8.1: after the earlier work of the stream, before the later."""
        self.captured = described(call)
        self.enqueue(call[1], call[3], call[4])

    def enqueue(self, stream: Stream, reads: Reads, writes: Reads) -> F:
        """R1.1: after everything issued to the stream before; R1.3 for NULL and blocking ones."""
        if self.notes and stream in self.notes:
            return self.enqueue_noted(stream, reads, writes)
        before = self.before(stream) if stream.blocking else self.cells[stream.slot]
        after = self.issued = self.sink.op(stream, before, reads, writes)
        self.advance(stream, after)
        return after

    def advance(self, stream: Stream, tail: F) -> None:
        """The stream has a new tail, which also an early kernel must wait for."""
        self.cells[stream.slot] = tail
        if self.gpu.early_used:
            self.cells[self.hidden("earlier", stream).slot] = tail
            self.cells[self.hidden("last", stream).slot] = tail

    def enqueue_noted(self, stream: Stream, _reads: Reads, _writes: Reads) -> F:
        """An operation on a stream of which something else is known: destroyed, or captured."""
        raise self.gone(stream)

    def before(self, stream: Stream) -> F:
        """What an operation issued to this stream now starts after (R1.1, R1.3)."""
        return self.null_edges(stream, self.cells[stream.slot])

    def null_edges(self, stream: Stream, tail: F) -> F:
        """R1.3: a frontier with the edges of the NULL stream."""
        if stream.is_null:
            return self.gather(stream, tail)
        if stream.blocking:
            return self.sink.join(tail, self.cells[self.gpu.null(stream.device).slot])
        return tail

    def gather(self, null: Stream, tail: F) -> F:
        """R1.3: the NULL stream waits for what was issued to every blocking stream."""
        for other in self.gpu.streams:
            if other.blocking and not other.is_null and other.device == null.device:
                tail = self.sink.join(tail, self.cells[other.slot])
        return tail

    def early(self, call: Call) -> None:
        """R8.4: the kernel may start as soon as the kernel before it could, and need not wait for
        it; for anything else it waits. A lane of its own: such a stream is no chain.
        """
        _verb, stream, _kernel, reads, writes, early = call
        if not self.gpu.early_used:
            self.gpu.early_used = True
            raise Again
        if self.usable(stream) in self.notes:
            raise NotModelled("an early launch inside a capture is not modelled")
        number = self.notes.get(self.hidden("early", stream), 0) + 1
        self.notes[self.hidden("early", stream)] = number
        earlier, last = self.hidden("earlier", stream).slot, self.hidden("last", stream).slot
        before = self.null_edges(stream, self.cells[earlier])
        if early == "waits":
            kept = self.promised("early_wait_transitive")
            awaited = self.cells[stream.slot] if kept else self.cells[last]
            before = self.sink.join(before, awaited)
        lane = self.hidden(f"{stream.name} (early)", stream, number)
        after = self.issued = self.sink.op(lane, before, reads, writes)
        self.cells[earlier], self.cells[last] = before, after
        self.cells[stream.slot] = self.sink.join(self.cells[stream.slot], after)

    def kernel_before_early(self, stream: Stream, reads: Reads, writes: Reads) -> None:
        """R8.4: a kernel that an early one may overtake: what it waited for is kept."""
        before = self.before(stream)
        after = self.enqueue(stream, reads, writes)
        self.cells[self.hidden("earlier", stream).slot] = before
        self.cells[self.hidden("last", stream).slot] = after

    def hidden(self, name: str, *key: object) -> Stream:
        """A lane or cell that no protocol names."""
        found = self.gpu.hidden(name, *key)
        self.grow()
        return found

    def touch(self, thing: Handle) -> None:
        """A use of what is noted of an object: other threads' calls on it depend on this one."""
        self.cells[thing.slot] = self.cells[thing.slot]

    def usable(self, stream: Stream) -> Stream:
        """The stream, unless this trace has destroyed it."""
        if self.notes.get(stream) is DESTROYED:
            raise self.gone(stream)
        return stream

    def gone(self, stream: Stream) -> BadProtocol:
        """Why a destroyed stream is refused."""
        return BadProtocol(f"stream {stream.name!r} was destroyed earlier: make a new one")

    # --- events ---

    def record(self, call: Call) -> None:
        """R3.1: a snapshot of the stream; R3.3: it replaces the older one."""
        _verb, event, stream, external = call
        self.usable(stream)
        if external:
            raise BadProtocol("external=True belongs inside a capture: it makes an event node")
        if stream.is_null or (stream.blocking and self.contract.record_joins_null):
            # R1.3: the record is an operation of the stream: what comes after it is after these.
            self.cells[stream.slot] = self.before(stream)
        self.cells[event.slot] = self.cells[stream.slot]

    def wait(self, call: Call) -> None:
        """R3.2, R3.5: what is issued to the stream later starts after the snapshot held now."""
        _verb, stream, event, external = call
        tail = self.cells[self.usable(stream).slot]
        if external:
            raise BadProtocol("external=True belongs inside a capture: it makes an event node")
        takes_edges = "wait_joins_blocking" if stream.is_null else "wait_joins_null"
        if stream.blocking and self.promised(takes_edges):
            tail = self.before(stream)
        self.cells[stream.slot] = self.sink.join(tail, self.cells[event.slot])
        if self.gpu.early_used:
            earlier = self.hidden("earlier", stream).slot
            self.cells[earlier] = self.sink.join(self.cells[earlier], self.cells[event.slot])
            last = self.hidden("last", stream).slot
            self.cells[last] = self.sink.join(self.cells[last], self.cells[event.slot])

    # --- host waits ---

    def synchronize_event(self, call: Call) -> Await[F]:
        """R3.6: return when the snapshot that the event holds now is done."""
        return self.cells[call[1].slot], None

    poll = synchronize_event

    def synchronize_stream(self, call: Call) -> Await[F]:
        """R1.6: return when the stream is idle; NULL stands for the blocking streams too."""
        return self.idle(self.usable(call[1])), None

    def idle(self, stream: Stream) -> F:
        """R1.6: what must be done for a stream to be idle; for NULL the blocking streams too."""
        tail = self.cells[stream.slot]
        others = any(s.blocking and not s.is_null for s in self.gpu.streams)
        if stream.is_null and others and self.promised("null_sync_covers_blocking"):
            return self.gather(stream, tail)
        return tail

    def synchronize_device(self, call: Call) -> Await[F]:
        """R1.6: return when every stream is idle, non-blocking ones included."""
        return self.whole_device(call[1]), None

    def whole_device(self, device: int) -> F:
        """Everything issued to the streams of a device."""
        everything = self.sink.empty
        for other in self.gpu.streams:
            if other.device == device:
                everything = self.sink.join(everything, self.cells[other.slot])
        return everything

    def query(self, call: Call) -> Await[F]:
        """R3.6, R9.6: what the answer `true` waits for."""
        if isinstance(call[1], Event):
            return self.synchronize_event(call)
        return self.synchronize_stream(call)

    def destroy(self, call: Call) -> Await[F] | None:
        """R1.7: HIP waits for the stream's work; under CUDA it runs on and the call returns."""
        stream = self.usable(call[1])
        tail = self.cells[stream.slot]
        self.touch(stream)
        self.notes[stream] = DESTROYED
        return (tail, None) if self.contract.destroy_awaits else None
