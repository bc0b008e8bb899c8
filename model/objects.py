"""The objects of the stream API: streams, events, buffers and what host threads share.

Each is a handle: it knows its `Gpu`, its name, and its *slot*, a small integer that is the same in
every trace of the same program. Slots index the state of whoever reads the protocol (clocks,
sets of pending operations), so a handle itself never changes once made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import BadProtocol, UnknownPart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from .gpu import Gpu

DEVICE, PINNED, PAGEABLE, MANAGED = "device", "pinned", "pageable", "managed"


class Handle:
    """Base of every API object. Equality is identity: one object a creation, in every trace."""

    __slots__ = ("gpu", "name", "slot")

    def __init__(self, gpu: Gpu, name: str, slot: int) -> None:
        self.gpu = gpu
        self.name = name
        self.slot = slot

    def __repr__(self) -> str:
        return self.name


class Stream(Handle):
    """A stream: operations run in the order in which they were issued (R1.1).

    - *non-blocking* (the default, as torch's pool streams are): ordered with no other stream;
    - *blocking*: ordered with the NULL stream of its device both ways (R1.3);
    - *NULL*: the legacy default stream itself, `gpu.null_stream`.
    """

    __slots__ = ("blocking", "is_null")

    def __init__(self, gpu: Gpu, name: str, slot: int, blocking: bool, is_null: bool) -> None:
        super().__init__(gpu, name, slot)
        self.blocking = blocking
        self.is_null = is_null

    def wait(self, event: Event) -> None:
        """Order what is issued to this stream from now on after the event's last record (R3.5)."""
        self.gpu.wait(self, event)

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

    def record(self, stream: Stream) -> None:
        """Take a snapshot of the work issued to the stream so far (R3.1)."""
        self.gpu.record(self, stream)

    def synchronize(self) -> None:
        """Block the host until the snapshot taken by the last record is done (R3.6)."""
        self.gpu.synchronize_event(self)

    def query(self) -> bool:
        """Whether the last record's snapshot is done; both answers are explored (R3.6)."""
        return self.gpu.query(self)

    def poll(self) -> None:
        """Loop around `query` until it answers true: the host goes on when the work is done."""
        self.gpu.poll(self)


class Region:
    """One part of a buffer: the unit of every access, of versions and of hazards."""

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

    def __or__(self, other: Expectation) -> Expectation:
        return Expectation(self.gpu, self.pairs + other.pairs, None)


class Pairs(tuple[tuple[Region, Region], ...]):  # noqa: SLOT001
    """What a copy moves: a (destination, source) a part, with the kinds of memory at both ends.

    `reads` is the sources as an operation reads them: without an expectation.
    """

    # No slots: a tuple cannot have any, and these three are asked for at every copy.
    def __init__(self, pairs: Iterable[tuple[Region, Region]]) -> None:  # noqa: ARG002
        self.dst = self[0][0].kind
        self.src = self[0][1].kind
        self.reads = tuple((src, None) for _dst, src in self)


class Buffer(Handle):
    """A buffer of one kind of memory. `buf.part` and `buf["part"]` select a named region."""

    __slots__ = ("_expected", "by_part", "kind", "regions")

    def __init__(self, gpu: Gpu, name: str, slot: int, kind: str, parts: tuple[str, ...]) -> None:
        super().__init__(gpu, name, slot)
        self.kind = kind
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
        made = Expectation(self.gpu, tuple((self[part], version) for part in parts), version)
        self._expected[parts] = made
        return made


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
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __mod__ = __getitem__ = _refuse

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
