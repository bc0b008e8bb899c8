"""The stream API, streams: kernels, events, graphs, cells, agents, and waits for them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .checks import Checks
from .errors import BadProtocol
from .memory import Expectation, Idempotent, Region
from .objects import Agent, Cell, Event, Graph, Stream, Ticket

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .calls import Reads


class StreamCalls(Checks):
    """What happens on streams, and who waits for it."""

    def stream(self, name: str, blocking: bool = False, device: int = 0) -> Stream:
        """Make a stream: non-blocking unless said otherwise, as torch's pool streams are (R1.8)."""
        self.null(self._device_number(device))
        return self._stream(name, blocking, device)

    @property
    def per_thread_stream(self) -> Stream:
        """The calling host thread's own default stream; it is a blocking one (R1.5)."""
        key = ("per-thread", self.reading.thread)
        if key not in self._made:
            number = self.reading.thread or ""
            made = Stream(self.as_gpu, f"per-thread{number}", len(self.cells), True, False)
            self._made[key] = made
            self.cells.append(made)
            self.streams.append(made)
        self.reading.mark("made", self._made[key])
        return self._made[key]

    def _stream(self, name: str, blocking: bool, device: int) -> Stream:
        made = self._make(Stream, self.cells, name, bool(blocking), False, device)
        if made not in self.streams:
            self.streams.append(made)
        return made

    def event(self, name: str) -> Event:
        """Make an event, not recorded yet (R3.4)."""
        return self._make(Event, self.cells, name)

    # --- work ---

    def launch(
        self,
        kernel: str,
        stream: Stream,
        reads: Expectation | Mapping[Any, Any] | Iterable[Any] = (),
        writes: Mapping[Any, Any] = {},
        early: bool | str = False,
    ) -> object:
        """Launch a kernel on a stream (R1.1, R1.3, R2.13).

        `reads` maps regions to the version that the kernel must find there; None, or an iterable
        of regions instead of a mapping, asks only that nothing writes them meanwhile. `writes`
        maps regions to the version written; a region as the version means a copy of what it holds.
        `early` (programmatic dependent launch, R8.4): the kernel may start before the one before it
        in the stream is done; `"waits"`: and waits for that one itself before it touches memory.
        Returns the operation, for `concurrent`.
        """
        if type(stream) is not Stream or stream.gpu is not self:
            raise self._foreign(stream, "stream")
        if type(reads) is Expectation and reads.gpu is self:
            pairs = reads.pairs
        else:
            pairs = self._reads(reads)
        written: Reads = ()
        if writes:
            written = self._writes(writes)
            pairs += sources_of(written, pairs)
        if type(kernel) is not str:
            raise BadProtocol(f"a kernel's name must be a string, not {kernel!r}")
        if early is not False and early is not True and early != "waits":
            raise BadProtocol(f"early is True, False or 'waits', not {early!r}")
        return self._call(("launch", stream, kernel, pairs, written, early))

    def host_func(
        self,
        name: str,
        stream: Stream,
        reads: Mapping[Any, Any] | Iterable[Any] = (),
        writes: Mapping[Any, Any] = {},
    ) -> object:
        """Run a host function in stream order (R8.1); it may touch any host memory."""
        self._own(stream, Stream)
        if type(name) is not str:
            raise BadProtocol(f"a host function's name must be a string, not {name!r}")
        written = self._writes(writes, host=True)
        pairs = self._reads(dict(reads.pairs) if type(reads) is Expectation else reads, host=True)
        pairs += sources_of(written, pairs)
        return self._call(("host_func", stream, name, pairs, written))

    def write_value(self, stream: Stream, cell: Cell, value: int) -> None:
        """Store a value into a cell in stream order (R8.2, R8.3)."""
        self._own(stream, Stream)
        self._own(cell, Cell)
        self._call(("write_value", stream, cell, self._word(value)))

    def wait_value(self, stream: Stream, cell: Cell, value: int) -> None:
        """Hold the stream until the cell is at least this value; a spinning kernel likewise."""
        self._own(stream, Stream)
        self._own(cell, Cell)
        self._call(("wait_value", stream, cell, self._word(value)))

    def idempotent(self, value: object) -> Idempotent:
        """A version whose writers need no order among themselves; for `writes` of a launch."""
        return Idempotent(self.check_version(value))

    # --- agents ---

    def agent(self, name: str) -> Agent:
        """Make an agent outside every stream: a NIC, a peer."""
        return self._make(Agent, self.syncs, name)

    def post(self, agent: Agent, target: Any, *, writes: bool, version: object = None) -> Event:
        """`agent.read(target, expect)` or `agent.write(target, value)`."""
        self._own(agent, Agent)
        if writes and version is None:
            raise BadProtocol("an agent writes a version, not None")
        event = self._make(Event, self.cells, f"{agent.name}.done")
        regions = self._regions(target)
        pairs = tuple((region, self.check_version(version)) for region in regions)
        self._call(("post", agent, event, () if writes else pairs, pairs if writes else ()))
        return event

    # --- graphs ---

    @contextmanager
    def capture(self, stream: Stream, name: str = "graph") -> Iterator[Graph]:
        """Capture what is issued to a stream, and to those that join it, into a graph (R5.5)."""
        self._own(stream, Stream)
        graph = self._make(Graph, self.cells, name)
        self._call(("capture", stream, graph))
        yield graph
        self._call(("end_capture", stream, graph))

    def graph_launch(self, graph: Graph, stream: Stream, reads: Any = ()) -> object:
        """`graph.launch(stream, reads)`."""
        self._own(graph, Graph)
        self._own(stream, Stream)
        pairs = reads.pairs if type(reads) is Expectation else self._reads(reads)
        return self._call(("graph_launch", graph, stream, pairs))

    # --- order ---

    def record(self, event: Event, stream: Stream, external: bool = False) -> None:
        """`event.record(stream)`."""
        self._own(event, Event)
        self._own(stream, Stream)
        self._call(("record", event, stream, external))

    def wait(self, stream: Stream, event: Event, external: bool = False) -> None:
        """`stream.wait(event)`."""
        self._own(stream, Stream)
        self._own(event, Event)
        self._call(("wait", stream, event, external))

    def synchronize(self, device: int = 0) -> None:
        """Block the host until a whole device is idle, non-blocking streams included (R1.6)."""
        self._call(("synchronize_device", self._device_number(device)))

    def synchronize_event(self, event: Event) -> None:
        """`event.synchronize()`."""
        self._own(event, Event)
        self._call(("synchronize_event", event))

    def synchronize_stream(self, stream: Stream) -> None:
        """`stream.synchronize()`."""
        self._own(stream, Stream)
        self._call(("synchronize_stream", stream))

    def query(self, target: Event | Stream) -> bool:
        """`event.query()` or `stream.query()`."""
        self._own(target, Stream if isinstance(target, Stream) else Event)
        return self._call(("query", target))

    def poll(self, event: Event) -> None:
        """`event.poll()`."""
        self._own(event, Event)
        self._call(("poll", event))

    def destroy(self, stream: Stream) -> None:
        """`stream.destroy()`."""
        self._own(stream, Stream)
        if stream.is_null:
            raise BadProtocol("the NULL stream cannot be destroyed")
        self._call(("destroy", stream))

    def concurrent(self, first: object, second: object) -> None:
        """State a property: these two operations are *not* ordered, their overlap was not lost."""
        known = (tuple, Ticket)
        if not all(type(op) in known or hasattr(op, "children") for op in (first, second)):
            raise BadProtocol(
                "concurrent() takes two operations, as launch, memcpy_async and memset_async "
                "return them"
            )
        self._call(("concurrent", first, second))


def sources_of(writes: Reads, reads: Reads) -> Reads:
    """The regions whose content is written elsewhere are read too."""
    known = {region.slot for region, _expected in reads}
    copied = [version for _region, version in writes if isinstance(version, Region)]
    return tuple((region, None) for region in copied if region.slot not in known)
