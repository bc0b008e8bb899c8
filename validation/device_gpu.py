"""`TorchGpu`: the stream API carried out on a real device.

The protocol's own Python runs, host threads are real threads, and every call is made for real. A
buffer holds its version in every byte; kernels report what they saw (`touch`), the host what it
read. Nothing here knows the rules of `model`: what a device shows is compared with them elsewhere.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.checks import Checks
from ..model.gpu import Gpu
from ..model.memory import PINNED, Buffer, Region, spoiled
from ..model.objects import Cell, Event, Stream
from .device_calls import DeviceCalls
from .device_threads import GaveUp
from .pace import Free
from .runtime import int32_at
from .versions import Versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..model.calls import Call
    from .bench import Bench, Slot
    from .pace import Pace

Key = tuple[int, int, int]
RESCUE = 0.5
"""After how long a run that waits for cells counts as a hang, s."""

FAREWELL = 1.0
"""How long a thread of a run that hangs may take to notice, s."""


class Sight(NamedTuple):
    """What a read saw: whose (`key`), of which region, what it expects (None: nothing), found."""

    key: Key
    region: str
    expected: object
    found: object

    @property
    def wrong(self) -> bool:
        """Whether it found another version than it expects, or freed memory."""
        return spoiled(self.found, self.expected)


class Lane:
    """The reading of one host thread: counts its calls and has them carried out."""

    def __init__(self, gpu: TorchGpu, thread: int) -> None:
        self.gpu = gpu
        self.thread = thread
        self.made = 0
        self.allowed: str | None = None
        self.depth = -1

    def call(self, call: Call) -> Any:
        """Carry out one call."""
        self.depth += 1
        return self.gpu.carry_out(self, call)

    def mark(self, what: str, value: Any) -> None:
        """Give an object that was made what it stands for on the device."""
        if what in {"made", "grown"}:
            self.gpu.born(self, value)


class TorchGpu(DeviceCalls, Gpu):
    """A device for one replay of a protocol.

    `facts` are the verbs that the protocol uses, where known: a stream that is destroyed must not
    be one of torch's, and what is freed needs a twin.
    """

    def __init__(
        self,
        bench: Bench,
        steps: int,
        pace: Pace | None = None,
        replay: int = 0,
        facts: frozenset[str] = frozenset(),
    ) -> None:
        self.lanes = threading.local()
        self.bench = bench
        self.runtime = bench.runtime
        self.pace = pace or Free()
        self.versions = Versions(replay)
        self.facts = facts
        self.things: dict[Any, Any] = {}
        self.twins: dict[Buffer, int] = {}
        self.operations: dict[Key, tuple[Slot, int]] = {}
        self.expectations: list[tuple[Key, Any]] = []
        self.sights: list[Sight] = []
        self.capturing: list[Slot] | None = None
        self.later: list[Callable[[], None]] = []
        self.failures: list[BaseException] = []
        self.running: dict[Any, threading.Thread] = {}
        self.freed: set[Buffer] = set()
        self.handed_back: set[Buffer] = set()
        self.armed: dict[Key, Slot] = {}
        self.hung = False
        super().__init__(steps)
        self.things[self.null_stream] = self.runtime.null

    # --- readings: one a real thread ---

    @property
    def reading(self) -> Any:
        """The calling thread's."""
        return getattr(self.lanes, "reading", None)

    @reading.setter
    def reading(self, reading: Any) -> None:
        self.lanes.reading = reading

    def attach(self, reading: Any) -> None:
        """Hand this thread's calls to a reading."""
        self.reading = reading
        Checks.current = self

    def _call(self, call: Call) -> Any:
        return self.reading.call(call)

    # --- a run ---

    def run(self, body: Callable[[Gpu], None]) -> None:
        """Run a protocol's main thread and wait for everything; raises what any thread raised.

        Of a run that hangs nothing is collected: what it read was read once it had been let go.
        """
        self.bench.begin()
        self.pace.begin(self)
        rescue = threading.Timer(RESCUE, self.rescue)
        if self.facts & {"wait_value", "wait_cell"}:
            rescue.start()
        self.attach(Lane(self, 0))
        try:
            body(self)
            for thread in self.running.values():
                self.patiently(lambda seconds, each=thread: self.has_ended(each, seconds))
        except GaveUp:
            for thread in self.running.values():
                thread.join(FAREWELL)
        finally:
            self.pace.end()
            for slot in self.armed.values():
                slot.open()
            with suppress(Exception):
                self.settle()
            rescue.cancel()
            self.bench.later += self.later
        if self.failures:
            raise self.failures[0]
        self.settle()
        if not self.hung:
            self.collect()

    def settle(self) -> None:
        """Wait until every device that the protocol uses is idle."""
        for device in {0, *(stream.device for stream in self.streams)}:
            self.runtime.synchronize(device)

    def rescue(self) -> None:
        """Satisfy every wait for a cell: what has not ended by now hangs."""
        self.hung = True
        for thing, address in list(self.things.items()):
            if isinstance(thing, Cell):
                int32_at(address).value = 1 << 30

    def collect(self) -> None:
        """What kernels saw, beside what they expect."""
        self.bench.read_reports()
        for key, pairs in self.expectations:
            slot, run = self.operations[key]
            expected = dict(pairs)
            for region, words in zip(slot.reads, self.bench.report(slot, run), strict=True):
                found = self.versions.of_words(*words)
                self.sights.append(Sight(key, repr(region), expected.get(region), found))

    def unfinished(self) -> list[Key]:
        """Operations that never ran: a run in which there are any says nothing."""
        return [key for key, _pairs in self.expectations if not self.has_run(key)]

    def has_run(self, key: Key) -> bool:
        """Whether an operation has finished."""
        slot, run = self.operations[key]
        return slot.done(run) or not slot.counted

    def observed(self, names: Iterable[str]) -> dict[str, object]:
        """What buffers hold in the end, by region."""
        wanted = tuple(names)
        return {
            repr(region): self.versions.of_bytes(self.bench.look(region.kind, self.address(region)))
            for region in self.regions
            if any(repr(region) == name or repr(region).startswith(f"{name}.") for name in wanted)
        }

    # --- objects ---

    def born(self, lane: Lane, thing: Any) -> None:
        """What an object stands for."""
        if thing in self.things:
            return
        if isinstance(thing, Stream):
            self.things[thing] = self.stream_for(lane, thing)
        elif isinstance(thing, Event):
            self.things[thing] = None
        elif isinstance(thing, Buffer):
            self.things[thing] = self.memory_for(thing)
        elif isinstance(thing, Cell):
            self.things[thing] = self.bench.region_memory(PINNED, 1)

    def stream_for(self, lane: Lane, stream: Stream) -> Any:
        """A stream: the same one for the same creation in every replay."""
        if stream.is_null:
            return self.runtime.null_of(stream.device)
        if stream.name.startswith("per-thread"):
            return self.runtime.per_thread
        own = "destroy" in self.facts
        return self.bench.stream((lane.thread, lane.made), stream.blocking, own, stream.device)

    def memory_for(self, buffer: Buffer) -> int:
        """A buffer's address; a stream-ordered allocation has it from its own call."""
        if buffer.of is not None:
            return self.things[buffer.of]
        if buffer.pooled:
            return 0
        address = self.bench.region_memory(buffer.kind, len(buffer.regions), device=buffer.device)
        if "free" in self.facts and buffer.kind == "device":
            self.twins[buffer] = self.runtime.allocate(
                buffer.kind, self.bench.nbytes, buffer.device
            )
        return address

    def address(self, region: Region) -> int:
        """Where a region is."""
        return self.things[region.buffer] + region.index * self.bench.nbytes
