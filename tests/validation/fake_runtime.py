"""A runtime without a device: streams are threads, memory is the host's.

It keeps the rules that programs rely on (order in a stream, events, the NULL stream, staging of
pageable uploads with a late write), and dawdles at random, so that what is not ordered shows.
"""

from __future__ import annotations

import ctypes
import random
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from streamorder.validation.rows import ROW_WORDS, WORD, decoded
from streamorder.validation.runtime import DeviceInfo, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

INFO = DeviceInfo("fake", "threads", "0", "0", "none", "none", {})
WAIT = 5.0
DEVICES = 2


class Ticket:
    """Something that happens once; work that follows waits for it."""

    def __init__(self, done: bool = False) -> None:
        self.happened = threading.Event()
        if done:
            self.happened.set()

    def wait(self) -> None:
        """Block until it has happened."""
        assert self.happened.wait(WAIT), "the fake device hangs"


class FakeStream:
    """A thread that carries out closures in order."""

    def __init__(self, device: FakeRuntime, blocking: bool, number: int = 0) -> None:
        self.device = device
        self.blocking = blocking
        self.number = number
        self.work: deque[tuple[list[Ticket], Callable[[], None], Ticket]] = deque()
        self.ready = threading.Semaphore(0)
        self.last = Ticket(done=True)
        self.waits: list[Ticket] = []
        self.captured: list[Callable[[], None]] | None = None
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        """Do one thing after another."""
        while True:
            self.ready.acquire()
            before, action, ticket = self.work.popleft()
            for other in before:
                other.wait()
            self.device.dawdle()
            action()
            ticket.happened.set()

    def issue(self, action: Callable[[], None]) -> Ticket:
        """Append work; NULL and blocking streams take one another's edges."""
        if self.captured is not None:
            self.captured.append(action)
            return self.last
        with self.device.lock:
            before = [*self.waits, *self.device.null_edges(self)]
            self.waits = []
            ticket = Ticket()
            self.last = ticket
            self.work.append((before, action, ticket))
            self.ready.release()
        return ticket


class FakeEvent:
    """A snapshot of a stream; it remembers whether a capture recorded it."""

    def __init__(self) -> None:
        self.ticket = Ticket(done=True)
        self.stream: FakeStream | None = None


class FakeRuntime:
    """Streams of two devices; `late` is how long a staged upload may take after its call, s."""

    def __init__(self, late: float = 0.0005, seed: int = 1) -> None:
        self.info = INFO
        self.lock = threading.RLock()
        self.random = random.Random(seed)  # noqa: S311 - delays, not secrets
        self.late = late
        self.streams: list[FakeStream] = []
        self.kept: list[Any] = []
        self.nulls = [self.stream(blocking=True, device=number) for number in range(DEVICES)]
        self.null = self.nulls[0]
        self.per_thread = self.stream(blocking=True)
        self.lazy = 0.0001

    def dawdle(self) -> None:
        """Take some time."""
        if self.random.random() < 0.2:
            time.sleep(self.random.random() * self.lazy)

    def null_edges(self, stream: FakeStream) -> list[Ticket]:
        """R1.3."""
        null = self.nulls[stream.number]
        if stream is null:
            return [o.last for o in self.streams if o.blocking and o.number == stream.number]
        return [null.last] if stream.blocking else []

    # --- streams and events ---

    def null_of(self, device: int) -> Any:
        """A device's NULL stream."""
        if device >= DEVICES:
            raise Unsupported("a second device")
        return self.nulls[device]

    def stream(self, blocking: bool, own: bool = False, device: int = 0) -> Any:
        """A stream."""
        del own
        if device >= DEVICES:
            raise Unsupported("a second device")
        made = FakeStream(self, blocking, device)
        self.streams.append(made)
        return made

    def destroy_stream(self, stream: Any) -> None:
        """Its work runs on."""

    def stream_synchronize(self, stream: Any) -> None:
        """Wait."""
        for ticket in [stream.last, *self.null_edges(stream)]:
            ticket.wait()

    def stream_query(self, stream: Any) -> bool:
        """Whether it is idle."""
        return stream.last.happened.is_set()

    def synchronize(self, device: int = 0) -> None:
        """Wait for every stream of a device."""
        for stream in list(self.streams):
            if stream.number == device:
                stream.last.wait()

    def event(self, external: bool = False) -> Any:
        """An event."""
        del external
        return FakeEvent()

    def record(self, event: Any, stream: Any, external: bool = False) -> None:
        """Snapshot."""
        del external
        event.stream = stream
        event.ticket = stream.last
        if stream in self.nulls:
            event.ticket = stream.issue(lambda: None)

    def wait(self, stream: Any, event: Any, external: bool = False) -> None:
        """Join; a stream that waits for a captured event is captured with it."""
        del external
        source = event.stream
        if source is not None and source.captured is not None:
            stream.captured = source.captured
            return
        stream.waits.append(event.ticket)

    def event_synchronize(self, event: Any) -> None:
        """Wait."""
        event.ticket.wait()

    def event_query(self, event: Any) -> bool:
        """Whether it is complete."""
        return event.ticket.happened.is_set()

    # --- memory ---

    def allocate(self, kind: str, nbytes: int, device: int = 0) -> int:
        """Host memory, whatever the kind."""
        del kind, device
        memory = ctypes.create_string_buffer(nbytes)
        self.kept.append(memory)
        return ctypes.addressof(memory)

    def free(self, address: int) -> None:
        """As cudaFree does in fact."""
        del address
        self.synchronize()

    def malloc_async(self, nbytes: int, stream: Any) -> int:
        """Never an address again."""
        del stream
        return self.allocate("device", nbytes)

    def free_async(self, address: int, stream: Any) -> None:
        """Nothing is unmapped."""

    def memcpy(self, dst: int, src: int, nbytes: int, kind: int) -> None:
        """Uploads are staged and land late; everything else is waited for."""
        if kind == 1 and self.is_pageable(src):
            self.stream_synchronize(self.null)
            staged = ctypes.string_at(src, nbytes)
            self.null.issue(lambda: self.land(dst, staged))
            return
        ticket = self.null.issue(lambda: ctypes.memmove(dst, src, nbytes) and None)
        if kind != 3:
            ticket.wait()

    def land(self, dst: int, staged: bytes) -> None:
        """The device's write of a staged upload."""
        time.sleep(self.random.random() * self.late)
        ctypes.memmove(dst, staged, len(staged))

    def is_pageable(self, address: int) -> bool:
        """Every upload is staged here: what kind memory has, addresses do not say."""
        return bool(address)

    def memcpy_async(self, dst: int, src: int, nbytes: int, kind: int, stream: Any) -> None:
        """A copy on a stream; its source is read when it runs."""
        del kind
        stream.issue(lambda: ctypes.memmove(dst, src, nbytes) and None)

    def memset(self, address: int, byte: int, nbytes: int) -> None:
        """A fill on NULL."""
        self.memset_async(address, byte, nbytes, self.null)

    def memset_async(self, address: int, byte: int, nbytes: int, stream: Any) -> None:
        """A fill."""
        stream.issue(lambda: ctypes.memset(address, byte, nbytes) and None)

    # --- work ---

    def launch(self, kernel: str, row: int, stream: Any, early: bool = False) -> None:
        """The kernels of `touch`, over bytes."""
        del early
        stream.issue(lambda: self.gate(row) if kernel == "gate" else self.touch(row))

    def hold(self, fields: dict[str, int], nth: int) -> None:
        """Wait at a gate until it is open, or the limit."""
        gate = ctypes.c_int32.from_address(fields["open"])
        until = time.monotonic_ns() + fields["limit"]
        while gate.value < nth:
            if time.monotonic_ns() > until:
                ctypes.c_int32.from_address(fields["late"]).value = 1
                break
            time.sleep(0)
        time.sleep(fields["delay"] / 1e9)

    def gate(self, row: int) -> None:
        """The gate kernel."""
        fields, _reads, _writes = decoded(ctypes.string_at(row, ROW_WORDS * WORD))
        count = ctypes.c_int32.from_address(fields["gates"])
        self.hold(fields, count.value + 1)
        count.value += 1

    def touch(self, row: int) -> None:
        """The touching kernel."""
        fields, reads, writes = decoded(ctypes.string_at(row, ROW_WORDS * WORD))
        count = ctypes.c_int32.from_address(fields["count"])
        nth = count.value + 1
        if fields["open"]:
            self.hold(fields, nth)
        nbytes = 4 * fields["words"]
        report = fields["report"] + 4 * fields["stride"] * nth
        for i, address in enumerate(reads):
            words = (ctypes.c_int32 * fields["words"]).from_address(address)
            low, high = min(words), max(words)
            (ctypes.c_int32 * 2).from_address(report + 8 * i)[:] = [low, high]
        for target, value, source in writes:
            if source:
                ctypes.memmove(target, source, nbytes)
            else:
                ctypes.memset(target, value & 0xFF, nbytes)
        count.value = nth
        ctypes.c_int32.from_address(fields["done"]).value = nth

    def host_func(self, stream: Any, function: Callable[[], None]) -> None:
        """A host function."""
        stream.issue(function)

    def begin_capture(self, stream: Any) -> None:
        """Keep closures."""
        stream.captured = []

    def end_capture(self, stream: Any) -> Any:
        """The closures, in issue order, which agrees with every edge."""
        made = stream.captured
        for other in self.streams:
            if other.captured is made:
                other.captured = None
        return made

    def graph_launch(self, graph: Any, stream: Any) -> None:
        """Replay in issue order."""

        def replay() -> None:
            for action in graph:
                action()

        stream.issue(replay)

    def write_value(self, stream: Any, address: int, value: int) -> None:
        """Store."""
        word = ctypes.c_int32.from_address(address)
        stream.issue(lambda: setattr(word, "value", value))

    def wait_value(self, stream: Any, address: int, value: int) -> None:
        """Wait."""
        word = ctypes.c_int32.from_address(address)

        def wait() -> None:
            until = time.monotonic() + WAIT
            while word.value < value and time.monotonic() < until:
                time.sleep(0)

        stream.issue(wait)
