"""Small bad protocols that the other folders do not have: for pictures, not for verdicts."""

from __future__ import annotations

from streamorder import Gpu, protocol


@protocol()
def use_after_free(gpu: Gpu) -> None:
    """A kernel still reads a buffer whose stream-ordered free another stream carries out."""
    s, t = gpu.stream("s"), gpu.stream("t")
    block = gpu.malloc_async("block", s)
    filled = gpu.event("filled")
    gpu.launch("fill", s, writes={block: 1})
    filled.record(s)
    t.wait(filled)
    gpu.launch("use", t, reads={block: 1})
    gpu.free_async(block, s)


@protocol()
def behind_a_flag(gpu: Gpu) -> None:
    """A kernel waits for a flag that the host sets before it fills the buffer."""
    s = gpu.stream("s")
    flag, table = gpu.cell("flag"), gpu.pinned("table")
    gpu.wait_value(s, flag, 1)
    gpu.launch("use", s, reads={table: 1})
    flag.set(1)
    gpu.write(table, 1)


@protocol()
def reused_address(gpu: Gpu) -> None:
    """Two buffers of one address: what one holds the other holds."""
    s, t = gpu.stream("s"), gpu.stream("t")
    old = gpu.malloc("old")
    new = gpu.malloc("new", of=old)
    gpu.launch("use old", s, reads={old: None}, writes={old: 1})
    gpu.launch("fill new", t, writes={new: 2})


@protocol(streams=12)
def wide(gpu: Gpu, streams: int) -> None:
    """Every stream writes, and the last one reads without waiting."""
    table = gpu.device("table", parts=tuple(f"p{i}" for i in range(streams)))
    queues = [gpu.stream(f"s{i}") for i in range(streams)]
    done = [gpu.event(f"e{i}") for i in range(streams)]
    for i in range(streams - 1):
        gpu.launch("fill", queues[i], writes={table[f"p{i}"]: 1})
        done[i].record(queues[i])
        queues[-1].wait(done[i])
    gpu.launch("late", queues[0], writes={table[f"p{streams - 1}"]: 1})
    gpu.launch("use", queues[-1], reads={table: 1})


@protocol(kernels=80)
def long(gpu: Gpu, kernels: int) -> None:
    """Many kernels in a row, no two alike for a fold, then one for which nothing waits."""
    s, t, table = gpu.stream("s"), gpu.stream("t"), gpu.device("table")
    done = gpu.event("done")
    for i in range(kernels):
        gpu.launch("k" * (i + 1), s, writes={table: i})
    done.record(s)
    t.wait(done)
    gpu.launch("late", s, writes={table: kernels})
    gpu.launch("use", t, reads={table: kernels})
