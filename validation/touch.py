"""The kernels of an experiment (Triton, for both vendors): touch memory, wait at a gate.

Everything that a kernel needs stands in a *row* of 64-bit words in pinned memory, so that its only
argument is an address: a new value never compiles a new kernel behind a waiting gate. A row is
written once an experiment, before the launch that reads it (`rows` gives its layout).

A kernel is one thread block, so that an operation takes time and its accesses have one order. It
reports the smallest and the largest value that it saw in each region: equal, the region held one
version; different, two of them.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .rows import ROW_FIELDS

HIP = tl.constexpr(torch.version.hip is not None)
BLOCK = tl.constexpr(2048)
OPEN = tl.constexpr(ROW_FIELDS.index("open"))
GATES = tl.constexpr(ROW_FIELDS.index("gates"))
COUNT = tl.constexpr(ROW_FIELDS.index("count"))
LIMIT = tl.constexpr(ROW_FIELDS.index("limit"))
DELAY = tl.constexpr(ROW_FIELDS.index("delay"))
DONE = tl.constexpr(ROW_FIELDS.index("done"))
LATE = tl.constexpr(ROW_FIELDS.index("late"))
READS = tl.constexpr(ROW_FIELDS.index("reads"))
WRITES = tl.constexpr(ROW_FIELDS.index("writes"))
WORDS = tl.constexpr(ROW_FIELDS.index("words"))
REPORT = tl.constexpr(ROW_FIELDS.index("report"))
STRIDE = tl.constexpr(ROW_FIELDS.index("stride"))
HEAD = tl.constexpr(len(ROW_FIELDS))


def _ticks() -> tl.tensor:
    """The device's clock in nanoseconds."""
    if HIP:
        return tl.extra.hip.memrealtime() * 10
    else:  # noqa: RET505 - a branch that is not taken is not compiled
        return tl.extra.cuda.globaltimer()


ticks = triton.jit(_ticks)


def _word(row: tl.tensor, field: tl.tensor) -> tl.tensor:
    """A field of a row, as the address of 32-bit words."""
    return tl.load(row + field).to(tl.pointer_type(tl.int32))


word = triton.jit(_word)


def _hold(row: tl.tensor, nth: tl.tensor) -> None:
    """Wait until the row's gate is open for the nth time, or the limit on the device clock; then
    for the row's delay.
    """
    gate = word(row, OPEN)
    late = word(row, LATE)
    limit = tl.load(row + LIMIT)
    delay = tl.load(row + DELAY)
    start = ticks()
    ticket = tl.load(gate, volatile=True)
    while ticket < nth:
        ticket = tl.load(gate, volatile=True)
        if ticks() - start > limit:
            tl.store(late, 1)
            ticket = nth
    opened = ticks()
    while ticks() - opened < delay:
        pass


hold = triton.jit(_hold)


def _tail(
    row: tl.tensor,
    index: tl.tensor,
    first: tl.tensor,
    second: tl.tensor,
    third: tl.tensor,
    fourth: tl.tensor,
) -> tl.tensor:
    """A word behind the row's fields; the first four were loaded before the gate, since a load of
    host memory takes longer than what is to be shown.
    """
    value = tl.where(index == 0, first, tl.where(index == 1, second, third))
    value = tl.where(index == 3, fourth, value)
    if index > 3:
        value = tl.load(row + HEAD + index)
    return value


tail = triton.jit(_tail)


def _touch(row: tl.tensor) -> None:
    """Wait at the row's gate if it has one, read and report, write, say that it is done."""
    nth = tl.load(word(row, COUNT), volatile=True) + 1
    gated = tl.load(row + OPEN) != 0
    words = tl.load(row + WORDS).to(tl.int32)
    reads = tl.load(row + READS).to(tl.int32)
    writes = tl.load(row + WRITES).to(tl.int32)
    report = word(row, REPORT) + nth * tl.load(row + STRIDE).to(tl.int32)
    count, done = word(row, COUNT), word(row, DONE)
    first, second = tl.load(row + HEAD), tl.load(row + HEAD + 1)
    third, fourth = tl.load(row + HEAD + 2), tl.load(row + HEAD + 3)
    lanes = tl.arange(0, BLOCK)
    if gated:
        hold(row, nth)
        tl.debug_barrier()
    for r in range(reads):
        region = tail(row, r, first, second, third, fourth).to(tl.pointer_type(tl.int32))
        low = tl.full((BLOCK,), 2147483647, tl.int32)
        high = tl.full((BLOCK,), -2147483648, tl.int32)
        for i in range(0, words, BLOCK):
            found = tl.load(region + i + lanes, mask=i + lanes < words, other=0, volatile=True)
            low = tl.minimum(low, tl.where(i + lanes < words, found, low))
            high = tl.maximum(high, tl.where(i + lanes < words, found, high))
        tl.store(report + 2 * r, tl.min(low, axis=0))
        tl.store(report + 2 * r + 1, tl.max(high, axis=0))
    for w in range(writes):
        at = reads + 3 * w
        target = tail(row, at, first, second, third, fourth).to(tl.pointer_type(tl.int32))
        value = tail(row, at + 1, first, second, third, fourth).to(tl.int32)
        source = tail(row, at + 2, first, second, third, fourth)
        if source != 0:
            copied = source.to(tl.pointer_type(tl.int32))
            for i in range(0, words, BLOCK):
                found = tl.load(copied + i + lanes, mask=i + lanes < words, volatile=True)
                tl.store(target + i + lanes, found, mask=i + lanes < words)
        else:
            for i in range(0, words, BLOCK):
                filled = tl.full((BLOCK,), 0, tl.int32) + value
                tl.store(target + i + lanes, filled, mask=i + lanes < words)
    tl.debug_barrier()
    tl.store(count, nth)
    tl.atomic_xchg(done, nth, sem="release", scope="sys")


touch = triton.jit(_touch)


def _gate(row: tl.tensor) -> None:
    """Hold the stream until the row's gate is open: before a copy, which cannot wait itself."""
    gates = word(row, GATES)
    nth = tl.load(gates, volatile=True) + 1
    hold(row, nth)
    tl.store(gates, nth)


gate = triton.jit(_gate)


def _early_touch(row: tl.tensor) -> None:
    """The same as `touch` for a kernel whose successor may start before it is done (CUDA)."""
    tl.extra.cuda.gdc_launch_dependents()
    touch(row)


early_touch = triton.jit(_early_touch)


def _waiting_touch(row: tl.tensor) -> None:
    """The same for a kernel that starts early and waits for the one before it (CUDA)."""
    tl.extra.cuda.gdc_launch_dependents()
    tl.extra.cuda.gdc_wait()
    touch(row)


waiting_touch = triton.jit(_waiting_touch)
