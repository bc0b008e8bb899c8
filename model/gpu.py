"""The stream API: what a protocol is written against.

Names are the CUDA runtime's. Every method checks its arguments, turns itself into a *call*, and
hands it to the *reading* in charge: the order engine, the explicit-state machine, a simulation or
a real GPU. A call is plain data, a tuple of its verb and its objects:

    ("launch", stream, kernel, reads, writes)         ("memcpy", pairs)
    ("memcpy_async", pairs, stream)                   ("memset", regions, value)
    ("memset_async", regions, value, stream)          ("write", regions, value)
    ("read", reads)                                   ("record", event, stream)
    ("wait", stream, event)                           ("synchronize_event", event)
    ("synchronize_stream", stream)                    ("synchronize_device",)
    ("query", event or stream)                        ("poll", event)
    ("destroy", stream)                               ("choose", number of options)
    ("thread", thread, fn, args)                      ("join", thread)
    ("acquire", lock)                                 ("release", lock)
    ("put", queue, item)                              ("get", queue)
    ("concurrent", op, op)

`reads` is a tuple of (region, expected version or None); `writes` of (region, version), where a
region as the version means "what that region holds"; `pairs` of (destination, source).
Graphs, allocation, cells, agents and early launch are further verbs of the same form.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from .errors import BadProtocol
from .objects import (
    DEVICE,
    MANAGED,
    PAGEABLE,
    PINNED,
    Buffer,
    Event,
    Expectation,
    Handle,
    HostThread,
    Lock,
    Opaque,
    Pairs,
    Queue,
    Region,
    Stream,
    each,
    kernel_on_pageable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

Call = tuple[Any, ...]
Reads = tuple[tuple[Region, Any], ...]


class Reading(Protocol):
    """Who carries out the calls. One host thread has one reading at a time.

    `thread` is the host thread's index and `made` counts the objects that it has created: together
    they give an object the same identity in every trace.
    """

    thread: int
    made: int

    def call(self, call: Call) -> Any:
        """Carry out one call and return its result."""

    def mark(self, what: str, value: object) -> None:
        """Note something that is not a call: a step begins, waits are allowed or no longer."""


class Gpu:
    """The device and its runtime as a protocol sees them. The checker makes it, never the user."""

    def __init__(self, steps: int) -> None:
        self.step_count = steps
        self.cells: list[Stream | Event] = []
        self.regions: list[Region] = []
        self.threads: list[HostThread] = []
        self.syncs: list[Handle] = []
        self._made: dict[tuple[Any, ...], Any] = {}
        self._copies: dict[tuple[Any, Any], Pairs] = {}
        self.null_stream = Stream(self, "NULL", 0, blocking=True, is_null=True)
        self.cells.append(self.null_stream)
        self.streams: list[Stream] = [self.null_stream]
        self.threads.append(HostThread(self, "host", 0))

    def attach(self, reading: Reading) -> None:
        """Hand the calls that follow to this reading."""
        self.reading = reading
        self._call = reading.call

    # --- objects ---

    def stream(self, name: str, blocking: bool = False) -> Stream:
        """Make a stream: non-blocking unless said otherwise, as torch's pool streams are (R1.8)."""
        made = self._make(Stream, self.cells, name, bool(blocking), False)
        if made.slot > self.streams[-1].slot:
            self.streams.append(made)
        return made

    def event(self, name: str) -> Event:
        """Make an event, not recorded yet (R3.4)."""
        return self._make(Event, self.cells, name)

    def device(self, name: str, parts: Iterable[str] = ()) -> Buffer:
        """Make a buffer in device memory; the host may not touch it."""
        return self._buffer(name, DEVICE, parts)

    def pinned(self, name: str, parts: Iterable[str] = ()) -> Buffer:
        """Make a buffer in page-locked host memory; kernels may read it in place (R9.4)."""
        return self._buffer(name, PINNED, parts)

    def pageable(self, name: str, parts: Iterable[str] = ()) -> Buffer:
        """Make a buffer in ordinary host memory; copies stage it (R2.2, R2.6, R2.7)."""
        return self._buffer(name, PAGEABLE, parts)

    def managed(self, name: str, parts: Iterable[str] = ()) -> Buffer:
        """Make a buffer in managed memory: host and kernels both access it (R2.11)."""
        return self._buffer(name, MANAGED, parts)

    def lock(self, name: str = "lock") -> Lock:
        """Make a lock for host threads."""
        return self._make(Lock, self.syncs, name)

    def queue(self, capacity: int | None = None, name: str = "queue") -> Queue:
        """Make a queue between host threads; at most `capacity` items, None for no bound."""
        if capacity is not None and (type(capacity) is not int or capacity < 1):
            raise BadProtocol(f"queue {name!r}: capacity must be a positive int or None")
        return self._make(Queue, self.syncs, name, capacity)

    def _buffer(self, name: str, kind: str, parts: Iterable[str]) -> Buffer:
        parts = tuple(parts)
        for part in parts:
            if not isinstance(part, str) or hasattr(Buffer, part) or part in Buffer.__slots__:
                raise BadProtocol(f"buffer {name!r}: {part!r} cannot be the name of a part")
        if len(set(parts)) != len(parts):
            raise BadProtocol(f"buffer {name!r}: two parts have one name")
        return self._make(Buffer, self.regions, name, kind, parts)

    def _make(self, cls: type[Any], table: list[Any], name: str, *args: object) -> Any:
        """Make an object, or find the one that this creation made in an earlier trace."""
        if not isinstance(name, str):
            raise BadProtocol(f"a {cls.__name__.lower()}'s name must be a string, not {name!r}")
        reading = self.reading
        reading.made += 1
        key = (cls, reading.thread, reading.made, name, args)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = cls(self, name, len(table), *args)
            table.extend(found.regions if isinstance(found, Buffer) else (found,))
        reading.mark("made", found)
        return found

    # --- the host's own accesses ---

    def write(self, target: Buffer | Region, value: object) -> None:
        """Store `value` into host memory now, in every part of `target` (R9.1)."""
        self._call(("write", self._host_memory(target, "write"), self._version(value)))

    def read(self, target: Buffer | Region, expect: object = None) -> Any:
        """Load from host memory now.

        Returns `expect` (a run in which anything else was read is already refuted), or without
        one an opaque object on which nothing may depend.
        """
        regions = self._host_memory(target, "read")
        self._call(("read", tuple((region, expect) for region in regions)))
        return Opaque(repr(target)) if expect is None else expect

    # --- work for the device ---

    def launch(
        self,
        kernel: str,
        stream: Stream,
        reads: Expectation | Mapping[Any, Any] | Iterable[Any] = (),
        writes: Mapping[Any, Any] = {},
    ) -> object:
        """Launch a kernel on a stream (R1.1, R1.3, R2.13).

        `reads` maps regions to the version that the kernel must find there; None, or an iterable
        of regions instead of a mapping, asks only that nothing writes them meanwhile. `writes`
        maps regions to the version written; a region as the version means a copy of what it holds.
        Returns the operation, for `concurrent`.
        """
        if type(stream) is not Stream or stream.gpu is not self:
            raise self._foreign(stream, "stream")
        if type(reads) is Expectation and reads.gpu is self:
            pairs = reads.pairs
        else:
            pairs = self._reads(reads)
        written = self._writes(writes) if writes else ()
        return self._call(("launch", stream, kernel, pairs, written))

    def memcpy(self, dst: Buffer | Region, src: Buffer | Region) -> None:
        """Copy on the NULL stream; what has happened on return is the contract's (R2.1-R2.3)."""
        self._call(("memcpy", self._pairs(dst, src)))

    def memcpy_async(self, dst: Buffer | Region, src: Buffer | Region, stream: Stream) -> object:
        """Copy on a stream; whether the host waits is the contract's (R2.5-R2.8)."""
        self._own(stream, Stream)
        return self._call(("memcpy_async", self._pairs(dst, src), stream))

    def memset(self, target: Buffer | Region, value: object) -> None:
        """Fill on the NULL stream (R2.10)."""
        self._call(("memset", self._fillable(target), self._version(value)))

    def memset_async(self, target: Buffer | Region, value: object, stream: Stream) -> object:
        """Fill on a stream (R2.10)."""
        self._own(stream, Stream)
        return self._call(("memset_async", self._fillable(target), self._version(value), stream))

    # --- order ---

    def record(self, event: Event, stream: Stream) -> None:
        """`event.record(stream)`."""
        self._own(event, Event)
        self._own(stream, Stream)
        self._call(("record", event, stream))

    def wait(self, stream: Stream, event: Event) -> None:
        """`stream.wait(event)`."""
        self._own(stream, Stream)
        self._own(event, Event)
        self._call(("wait", stream, event))

    def synchronize(self) -> None:
        """Block the host until the whole device is idle, non-blocking streams included (R1.6)."""
        self._call(("synchronize_device",))

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
        if first is None or second is None:
            raise BadProtocol(
                "concurrent() takes two operations, as launch, memcpy_async and memset_async "
                "return them"
            )
        self._call(("concurrent", first, second))

    # --- the host's control ---

    def steps(self) -> Iterator[int]:
        """The step loop: 0, 1, ...; how many steps is the checker's choice, not the protocol's."""
        for step in range(self.step_count):
            self.reading.mark("step", step)
            yield step
        self.reading.mark("step", None)

    def choose(self, *options: Any) -> Any:
        """The host does one of several things; every one is explored. Returns the option."""
        if not options:
            raise BadProtocol("choose() needs at least one option")
        return options[self._call(("choose", len(options)))]

    @contextmanager
    def sync_allowed(self, why: str) -> Iterator[None]:
        """Declare the host waits inside as intended; `streamorder audit` reports the others."""
        if not isinstance(why, str) or not why.strip():
            raise BadProtocol("sync_allowed() needs a reason in words")
        reading = self.reading
        reading.mark("allow", why)
        try:
            yield
        finally:
            reading.mark("allow", None)

    def thread(self, fn: Callable[..., None], *args: object) -> HostThread:
        """Start a host thread that runs `fn(*args)`; threads may share API objects only."""
        if not callable(fn):
            raise BadProtocol(f"thread() takes a function, not {fn!r}")
        name = getattr(fn, "__name__", "thread").replace("<lambda>", "thread")
        thread = self._make(HostThread, self.threads, name)
        self._call(("thread", thread, fn, args))
        return thread

    def join(self, thread: HostThread) -> None:
        """`thread.join()`."""
        self._own(thread, HostThread)
        self._call(("join", thread))

    def acquire(self, lock: Lock) -> None:
        """`lock.acquire()`."""
        self._own(lock, Lock)
        self._call(("acquire", lock))

    def release(self, lock: Lock) -> None:
        """`lock.release()`."""
        self._own(lock, Lock)
        self._call(("release", lock))

    def put(self, queue: Queue, item: object) -> None:
        """`queue.put(item)`."""
        self._own(queue, Queue)
        try:
            hash(item)
        except TypeError:
            raise BadProtocol(
                f"queue {queue.name!r}: an item must be immutable (a number, a string, an API "
                f"object or a tuple of these), not {item!r}"
            ) from None
        self._call(("put", queue, item))

    def get(self, queue: Queue) -> Any:
        """`queue.get()`."""
        self._own(queue, Queue)
        return self._call(("get", queue))

    # --- checks ---

    def _foreign(self, thing: object, noun: str) -> BadProtocol:
        if isinstance(thing, (Handle, Region)):
            owner = thing.buffer.gpu if isinstance(thing, Region) else thing.gpu
            if owner is not self:
                return BadProtocol(
                    f"{type(thing).__name__.lower()} {thing!r} belongs to another Gpu: make it "
                    "inside the protocol, from the gpu it is given"
                )
        return BadProtocol(f"expected a {noun}, got {thing!r}")

    def _own(self, thing: object, cls: type[Handle]) -> None:
        if type(thing) is not cls or thing.gpu is not self:
            noun = "host thread" if cls is HostThread else cls.__name__.lower()
            raise self._foreign(thing, noun)

    def _regions(self, targets: object) -> tuple[Region, ...]:
        if type(targets) is Region and targets.buffer.gpu is self:
            return (targets,)
        if type(targets) is Buffer and targets.gpu is self:
            return targets.regions
        noun = "buffer or a part of one"
        found = tuple(each(targets, lambda thing: self._foreign(thing, noun)))
        for region in found:
            if region.buffer.gpu is not self:
                raise self._foreign(region, noun)
        return found

    def _host_memory(self, target: Buffer | Region, verb: str) -> tuple[Region, ...]:
        regions = self._regions(target)
        if regions[0].kind == DEVICE:
            raise BadProtocol(
                f"the host cannot {verb} device buffer {regions[0].buffer.name!r}: copy through "
                "pinned or pageable memory, or launch a kernel"
            )
        return regions

    def _kernel_memory(self, targets: object) -> tuple[Region, ...]:
        regions = self._regions(targets)
        for region in regions:
            if region.kind == PAGEABLE:
                raise kernel_on_pageable(region.buffer)
        return regions

    def _fillable(self, target: Buffer | Region) -> tuple[Region, ...]:
        regions = self._regions(target)
        if regions[0].kind == PAGEABLE:
            raise BadProtocol(
                f"memset cannot fill pageable buffer {regions[0].buffer.name!r}: the runtimes "
                "take device, pinned or managed memory; use write()"
            )
        return regions

    def _version(self, value: object) -> object:
        if type(value) is int:
            return value
        if isinstance(value, (Opaque, Handle, Region)):
            raise BadProtocol(f"a version is a number or a string, not {value!r}")
        try:
            hash(value)
        except TypeError:
            raise BadProtocol(f"a version must be hashable, not {value!r}") from None
        return value

    def _reads(self, reads: Any) -> Reads:
        if isinstance(reads, Expectation):
            raise BadProtocol("the expectation belongs to another Gpu")
        if hasattr(reads, "items"):
            return tuple(
                (region, self._version(version))
                for target, version in reads.items()
                for region in self._kernel_memory(target)
            )
        return tuple((region, None) for region in self._kernel_memory(reads))

    def _writes(self, writes: Mapping[Any, Any]) -> Reads:
        if not hasattr(writes, "items"):
            raise BadProtocol("writes is a mapping from regions to versions")
        return tuple(
            pair for target, version in writes.items() for pair in self._written(target, version)
        )

    def _written(self, target: object, version: object) -> Iterator[tuple[Region, Any]]:
        regions = self._kernel_memory(target)
        if isinstance(version, (Buffer, Region)):
            yield from zip(regions, self._alike(regions, self._kernel_memory(version)), strict=True)
        else:
            checked = self._version(version)
            yield from ((region, checked) for region in regions)

    def _pairs(self, dst: Buffer | Region, src: Buffer | Region) -> Pairs:
        # The same copies come back step after step: each is checked once.
        known = self._copies.get((dst, src)) if isinstance(dst, (Buffer, Region)) else None
        if known is None:
            for end in (dst, src):
                if not isinstance(end, (Buffer, Region)):
                    raise self._foreign(end, "buffer or a part of one")
            targets, sources = self._regions(dst), self._regions(src)
            known = Pairs(zip(targets, self._alike(targets, sources), strict=True))
            self._copies[dst, src] = known
        return known

    def _alike(
        self, targets: tuple[Region, ...], sources: tuple[Region, ...]
    ) -> tuple[Region, ...]:
        """The sources in the order of the targets; whole buffers must have the same parts."""
        if len(targets) == 1 == len(sources):
            return sources
        by_part = {region.part: region for region in sources}
        if [t.part for t in targets if t.part not in by_part] or len(targets) != len(sources):
            raise BadProtocol(
                f"{targets[0].buffer.name!r} and {sources[0].buffer.name!r} have different parts: "
                "copy part by part"
            )
        return tuple(by_part[target.part] for target in targets)
