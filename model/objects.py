"""The objects of the stream API: streams, events, graphs, cells, agents, and host threads' own.

Each is a handle: it knows its `Gpu`, its name, and its *slot*, a small integer that is the same in
every trace of the same program. Slots index the state of whoever reads the protocol (clocks,
sets of pending operations), so a handle itself never changes once made. Buffers are in `memory`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import UnknownCall

if TYPE_CHECKING:
    from types import TracebackType

    from .gpu import Gpu


DESTROYED = "destroyed"


class Handle:
    """Base of every API object. Equality is identity: one object a creation, in every trace.

    `slot` is its place in a table of its kind, `serial` its number among all objects.
    """

    __slots__ = ("gpu", "name", "serial", "slot")

    def __init__(self, gpu: Gpu, name: str, slot: int) -> None:
        self.gpu = gpu
        self.name = name
        self.slot = slot
        self.serial = gpu.count()

    def __repr__(self) -> str:
        return self.name

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise unknown_call(type(self), f"{type(self).__name__.lower()} {self.name!r}", name)


def unknown_call(cls: type, whose: str, name: str) -> AttributeError:
    """Why an API object has no such attribute, and which one may have been meant."""
    if name.startswith("_"):
        return AttributeError(name)
    from difflib import get_close_matches

    known = [known for known in dir(cls) if not known.startswith("_")]
    near = get_close_matches(name, known, 1) or get_close_matches(name.partition("_")[0], known, 1)
    hint = f": did you mean {near[0]}?" if near else ""
    return UnknownCall(f"{whose} has no {name!r}{hint}")


class Ticket:
    """An issued operation as a proof hands it out: nothing of its place can be read from it.

    `frontier` is that place, whose numbers grow from step to step.
    """

    __slots__ = ("frontier",)

    def __init__(self, frontier: Any) -> None:
        self.frontier = frontier

    def __repr__(self) -> str:
        return "operation"


class Stream(Handle):
    """A stream: operations run in the order in which they were issued (R1.1).

    - *non-blocking* (the default, as torch's pool streams are): ordered with no other stream;
    - *blocking*: ordered with the NULL stream of its device both ways (R1.3);
    - *NULL*: the legacy default stream itself, `gpu.null_stream`.
    """

    __slots__ = ("blocking", "device", "is_null")

    def __init__(
        self, gpu: Gpu, name: str, slot: int, blocking: bool, is_null: bool, device: int = 0
    ) -> None:
        super().__init__(gpu, name, slot)
        self.blocking = blocking
        self.is_null = is_null
        self.device = device

    def wait(self, event: Event, external: bool = False) -> None:
        """Order what is issued to this stream from now on after the event's last record (R3.5).

        `external`, inside a capture: an event node that waits, at each replay, for the record that
        the event holds then (CUDA only).
        """
        self.gpu.wait(self, event, external)

    def synchronize(self) -> None:
        """Block the host until everything issued to this stream is done (R1.6 for NULL)."""
        self.gpu.synchronize_stream(self)

    def query(self) -> bool:
        """Whether everything issued to this stream is done; both answers are explored (R9.6)."""
        return self.gpu.query(self)

    def destroy(self) -> None:
        """Destroy the stream; whether the host waits for its work is the contract's (R1.7)."""
        self.gpu.destroy(self)


class Event(Handle):
    """An event: a cell that holds a snapshot of a stream (R3.1).

    - never recorded: complete, and a wait for it does nothing (R3.4);
    - recorded: stands for the work issued to that stream before the record;
    - recorded again: the older snapshot is forgotten; waits already made keep theirs (R3.2, R3.3).
    """

    __slots__ = ()

    def record(self, stream: Stream, external: bool = False) -> None:
        """Take a snapshot of the work issued to the stream so far (R3.1).

        `external`, inside a capture: an event node that records anew at each replay (CUDA only).
        """
        self.gpu.record(self, stream, external)

    def synchronize(self) -> None:
        """Block the host until the snapshot taken by the last record is done (R3.6)."""
        self.gpu.synchronize_event(self)

    def query(self) -> bool:
        """Whether the last record's snapshot is done; both answers are explored (R3.6)."""
        return self.gpu.query(self)

    def poll(self) -> None:
        """Loop around `query` until it answers true: the host goes on when the work is done."""
        self.gpu.poll(self)


class Graph(Handle):
    """An executable graph: what a stream and those that joined it issued during a capture (R5.*).

    - *capturing*: calls are kept as nodes and nothing runs; host accesses run once, now;
    - *captured*: `launch` instantiates all nodes; addresses are fixed, contents are read anew.
    """

    __slots__ = ()

    def launch(self, stream: Stream, reads: Any = ()) -> object:
        """Replay the graph on a stream (R5.1).

        `reads` binds, for this replay, the versions that nodes must find in the regions they read.
        """
        return self.gpu.graph_launch(self, stream, reads)


class Cell(Handle):
    """A word that host and streams signal and wait through (R8.2, R8.3); it begins at 0.

    Accesses of a cell are atomic and never a hazard; a wait is satisfied by any value that is
    greater or equal. Ordering through a cell gives no promise of progress.
    """

    __slots__ = ()

    def set(self, value: int) -> None:
        """Store a value from the host, now."""
        self.gpu.set_cell(self, value)

    def wait(self, value: int) -> None:
        """Spin on the host until the cell holds at least this value."""
        self.gpu.wait_cell(self, value)


class Agent(Handle):
    """A NIC or a peer: it accesses memory on its own, ordered with no stream.

    Each post begins when the host makes it and is a stream of its own.
    """

    __slots__ = ()

    def read(self, target: Any, expect: object = None) -> Event:
        """Post a read; the event completes when it is done."""
        return self.gpu.post(self, target, writes=False, version=expect)

    def write(self, target: Any, value: object) -> Event:
        """Post a write of a version; the event completes when it is done."""
        return self.gpu.post(self, target, writes=True, version=value)


class HostThread(Handle):
    """A host thread made by `gpu.thread(fn)`; it starts at once. `index` 0 is the main thread."""

    __slots__ = ()

    def join(self) -> None:
        """Block this host thread until the other has returned."""
        self.gpu.join(self)


class Lock(Handle):
    """A lock between host threads: it orders their calls, never what runs on a stream."""

    __slots__ = ()

    def acquire(self) -> None:
        """Block until the lock is free, then take it."""
        self.gpu.acquire(self)

    def release(self) -> None:
        """Give the lock back; only its holder may."""
        self.gpu.release(self)

    def __enter__(self) -> Lock:  # noqa: PYI034 - nothing inherits
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _at: TracebackType | None,
    ) -> None:
        if kind is None:
            self.release()


class Queue(Handle):
    """A queue between host threads; `capacity` bounds it (None: unbounded). FIFO."""

    __slots__ = ("capacity",)

    def __init__(self, gpu: Gpu, name: str, slot: int, capacity: int | None) -> None:
        super().__init__(gpu, name, slot)
        self.capacity = capacity

    def put(self, item: object) -> None:
        """Append an item; blocks while the queue is full."""
        self.gpu.put(self, item)

    def get(self) -> Any:
        """Take the oldest item; blocks while the queue is empty."""
        return self.gpu.get(self)
