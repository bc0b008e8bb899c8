"""What lasts through the replays of one experiment: memory, rows, streams.

Nothing is allocated between two replays, since an allocation may wait for the device: each replay
takes the same memory and the same streams in the same order.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.memory import DEVICE, PAGEABLE, PINNED
from .rows import MOST_REGIONS, MOST_RUNS, ROW_WORDS, WORD, encoded
from .runtime import content, fill, int32_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from .runtime import Runtime

MOST_OPS = 256
FLAG = 64
"""Bytes between two words that device and host both use: a cache line each."""

STRIDE = 2 * MOST_REGIONS
REPORT = 4 * STRIDE * (MOST_RUNS + 1)
"""Bytes of one operation's reports; its runs count from 1."""

COUNTERS = 32
MOST_WAIT = 2_000_000_000
"""A gate's longest limit, ns: a gate never waits without one."""


class Hold(NamedTuple):
    """How long a gate holds an operation at most, and how much longer once it is open, ns."""

    limit: int
    delay: int = 0


class TooMany(Exception):
    """An experiment with more operations than there are rows."""


class Slot:
    """The row of one operation, and what host and device say to one another about it."""

    def __init__(self, bench: Bench, number: int) -> None:
        self.bench = bench
        self.number = number
        self.row = bench.rows + number * ROW_WORDS * WORD
        flags = bench.flags + number * 3 * FLAG
        self.gate, self.finished, self.late = (int32_at(flags + i * FLAG) for i in range(3))
        self.reads: tuple[Any, ...] = ()
        self.counted = False
        counters = bench.counters + number * COUNTERS
        self.fields = {
            "gates": counters,
            "count": counters + 16,
            "done": flags + FLAG,
            "late": flags + 2 * FLAG,
            "words": bench.nbytes // 4,
            "report": bench.reports + number * REPORT,
            "stride": STRIDE,
        }
        self.gate_address = flags

    def write(
        self, reads: list[int], writes: list[tuple[int, int, int]], hold: Hold | None = None
    ) -> None:
        """Write the row."""
        gate = 0 if hold is None else self.gate_address
        limit, delay = hold or (0, 0)
        fields = {**self.fields, "open": gate, "limit": min(limit, MOST_WAIT), "delay": delay}
        data = encoded(fields, reads, writes)
        ctypes.memmove(self.row, data, len(data))

    def open(self, times: int = 1) -> None:
        """Open the gate for as many runs."""
        self.gate.value = max(times, self.gate.value)

    def done(self, times: int = 1) -> bool:
        """Whether so many runs have finished."""
        return self.finished.value >= times


class Bench:
    """A device with memory for experiments whose regions are `nbytes` long."""

    def __init__(self, runtime: Runtime, nbytes: int) -> None:
        self.runtime = runtime
        self.nbytes = nbytes
        self.quiet = runtime.stream(blocking=False)
        self.rows = runtime.allocate(PINNED, MOST_OPS * ROW_WORDS * WORD)
        self.flags_size = MOST_OPS * 3 * FLAG
        self.flags = runtime.allocate(PINNED, self.flags_size)
        self.device_size = MOST_OPS * (COUNTERS + REPORT)
        self.counters = runtime.allocate(DEVICE, self.device_size)
        self.reports = self.counters + MOST_OPS * COUNTERS
        self.copy = runtime.allocate(PINNED, MOST_OPS * REPORT)
        self.slots = [Slot(self, number) for number in range(MOST_OPS)]
        self.used = 0
        self.memory: dict[tuple[str, int, int], list[int]] = {}
        self.taken: dict[tuple[str, int, int], int] = {}
        self.streams: dict[Any, Any] = {}
        self.later: list[Callable[[], None]] = []

    def begin(self) -> None:
        """Make everything as it was at first."""
        self.runtime.synchronize()
        while self.later:
            self.later.pop()()
        self.used = 0
        self.taken.clear()
        fill(self.flags, 0, self.flags_size)
        self.fill_device(self.counters, 0, self.device_size)

    def fill_device(self, address: int, byte: int, nbytes: int) -> None:
        """Fill device memory apart from every experiment's stream, and wait for that."""
        self.runtime.memset_async(address, byte, nbytes, self.quiet)
        self.runtime.stream_synchronize(self.quiet)

    def slot(self) -> Slot:
        """A row that no operation has."""
        if self.used == MOST_OPS:
            raise TooMany(f"more than {MOST_OPS} operations")
        self.used += 1
        slot = self.slots[self.used - 1]
        slot.reads, slot.counted = (), False
        return slot

    def region_memory(self, kind: str, count: int, byte: int = 0, device: int = 0) -> int:
        """Memory of a device for so many regions side by side, filled with a byte."""
        key = (kind, count, device)
        known = self.memory.setdefault(key, [])
        at = self.taken.get(key, 0)
        self.taken[key] = at + 1
        if at == len(known):
            known.append(self.runtime.allocate(kind, count * self.nbytes, device))
        self.fill(kind, known[at], byte, count * self.nbytes)
        return known[at]

    def fill(self, kind: str, address: int, byte: int, nbytes: int) -> None:
        """Fill memory of a kind apart from the experiment."""
        if kind in {PINNED, PAGEABLE}:
            fill(address, byte, nbytes)
        else:
            self.fill_device(address, byte, nbytes)

    def stream(self, key: Any, blocking: bool, own: bool, device: int = 0) -> Any:
        """The stream that this key had in every replay; one to be destroyed is made anew."""
        if own:
            return self.runtime.stream(blocking, own=True, device=device)
        if key not in self.streams:
            self.streams[key] = self.runtime.stream(blocking, device=device)
        return self.streams[key]

    def read_reports(self) -> None:
        """Fetch what kernels saw."""
        nbytes = max(self.used, 1) * REPORT
        self.runtime.memcpy_async(self.copy, self.reports, nbytes, 2, self.quiet)
        self.runtime.stream_synchronize(self.quiet)

    def report(self, slot: Slot, run: int) -> list[tuple[int, int]]:
        """The (smallest, largest) word that a run saw in each region that it read."""
        at = self.copy + slot.number * REPORT + 4 * STRIDE * run
        words = (ctypes.c_int32 * (2 * max(len(slot.reads), 1))).from_address(at)
        return [(words[2 * i], words[2 * i + 1]) for i in range(len(slot.reads))]

    def look(self, kind: str, address: int) -> bytes:
        """The content of a region, once the device is idle."""
        if kind in {PINNED, PAGEABLE}:
            return content(address, self.nbytes)
        into = self.region_memory(PINNED, 1)
        self.runtime.memcpy_async(into, address, self.nbytes, 4, self.quiet)
        self.runtime.stream_synchronize(self.quiet)
        return content(into, self.nbytes)
