"""R2.2 on a device: is a blocking upload from pageable memory on the device when it returns?

A kernel waits on a non-blocking stream and is let go by the host right after the copy returned. It
reads the end of the destination, which is written last. Old data there means that the copy had not
landed, which is what refutes `fp8-prefill/synchronize-first` under CUDA.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ..model.memory import DEVICE, PAGEABLE, PINNED
from .bench import Bench, Hold
from .runtime import fill
from .runtime_library import HOST_TO_DEVICE
from .statistics import wilson

if TYPE_CHECKING:
    from .runtime import Runtime

SIZES = tuple(4096 << shift for shift in range(15))
"""4 KiB to 64 MiB."""

TAIL = 4096
"""Bytes at the end that the kernel reads."""

LIMIT = 300_000_000


class Uploads:
    """Blocking uploads of up to `largest` bytes, each read by a kernel that waits already."""

    def __init__(self, runtime: Runtime, largest: int) -> None:
        self.runtime = runtime
        self.bench = Bench(runtime, TAIL)
        self.reader = runtime.stream(blocking=False)
        self.device = [runtime.allocate(DEVICE, largest) for _ in range(2)]
        self.source = {kind: runtime.allocate(kind, largest) for kind in (PAGEABLE, PINNED)}
        self.byte = 1

    def trial(self, kind: str, sizes: tuple[int, ...], *, waiting: bool) -> list[str]:
        """Upload as many buffers in a row as there are sizes; what the reader saw of each.

        `waiting`: the reader waits at a gate before the first copy; otherwise it is launched once
        the last has returned.
        """
        old, new = self.byte, self.byte % 100 + 1
        self.byte = new
        self.bench.begin()
        for at, nbytes in zip(self.device, sizes, strict=False):
            self.bench.fill_device(at, old, nbytes)
        fill(self.source[kind], new, max(sizes))
        slot = self.bench.slot()
        ends = [at + n - TAIL for at, n in zip(self.device, sizes, strict=False)]
        slot.reads = tuple(ends[::-1])
        slot.write(ends[::-1], [], Hold(LIMIT) if waiting else None)
        if waiting:
            self.runtime.launch("touch", slot.row, self.reader)
            time.sleep(0.00005)
        gate = slot.gate
        for at, nbytes in zip(self.device, sizes, strict=False):
            self.runtime.memcpy(at, self.source[kind], nbytes, HOST_TO_DEVICE)
        gate.value = 1
        if not waiting:
            self.runtime.launch("touch", slot.row, self.reader)
        self.runtime.stream_synchronize(self.reader)
        self.runtime.synchronize()
        self.bench.read_reports()
        seen = [judged(pair, old, new) for pair in self.bench.report(slot, 1)]
        return seen[::-1]


def judged(pair: tuple[int, int], old: int, new: int) -> str:
    """What a region held: `old`, `new`, `torn`, or something else."""
    words = {old * 0x01010101: "old", new * 0x01010101: "new"}
    found = {words.get(value, "other") for value in pair}
    return found.pop() if len(found) == 1 else ("torn" if "other" not in found else "other")


def late_uploads(
    runtime: Runtime, sizes: tuple[int, ...] = SIZES, trials: int = 300, two_trials: int = 100
) -> dict[str, Any]:
    """The share of late uploads by size, with controls: pinned memory, and an ordinary launch."""
    sizes = tuple(sizes)
    uploads = Uploads(runtime, max(sizes))
    uploads.trial(PAGEABLE, (sizes[0],), waiting=True)
    rows = [row(uploads, PAGEABLE, size, trials, waiting=True) for size in sizes]
    few = max(trials // 3, 1)
    return {
        "pageable": rows,
        "pinned": [row(uploads, PINNED, size, few, waiting=True) for size in sizes[::2]],
        "pageable_launched_after": [
            row(uploads, PAGEABLE, size, few, waiting=False) for size in sizes[::2]
        ],
        "two_in_a_row": [
            two(uploads, first, second, two_trials)
            for first in sizes[0:11:4]
            for second in sizes[0:11:4]
        ],
    }


def row(uploads: Uploads, kind: str, size: int, trials: int, *, waiting: bool) -> dict[str, Any]:
    """One size."""
    seen = [uploads.trial(kind, (size,), waiting=waiting)[0] for _ in range(trials)]
    late = trials - seen.count("new")
    low, high = wilson(late, trials)
    counts = {name: seen.count(name) for name in ("old", "torn", "new", "other")}
    return {"nbytes": size, "trials": trials, "late": late, "low": low, "high": high, **counts}


def two(uploads: Uploads, first: int, second: int, trials: int) -> dict[str, Any]:
    """Two uploads in a row: R2.2's stream synchronisation comes before the second."""
    seen = [uploads.trial(PAGEABLE, (first, second), waiting=True) for _ in range(trials)]
    return {
        "first_nbytes": first,
        "second_nbytes": second,
        "trials": trials,
        "first_late": sum(pair[0] != "new" for pair in seen),
        "second_late": sum(pair[1] != "new" for pair in seen),
    }
