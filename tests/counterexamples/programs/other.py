"""Small protocols, each with one mistake that is not two accesses without an order.

Lines are marked as in `races.py`.
"""

from __future__ import annotations

from streamorder import Gpu, protocol


@protocol()
def lock_order(gpu: Gpu) -> None:
    """Two host threads take two locks in opposite orders."""
    a, b = gpu.lock("a"), gpu.lock("b")

    def worker() -> None:
        b.acquire()
        a.acquire()  # to A
        a.release()
        b.release()

    other = gpu.thread(worker)
    a.acquire()
    b.acquire()  # from A
    b.release()
    a.release()
    other.join()


@protocol()
def full_queue(gpu: Gpu) -> None:
    """Both host threads put before they get, into queues of one place each."""
    there, back = gpu.queue(1, "there"), gpu.queue(1, "back")

    def worker() -> None:
        for _ in range(3):
            back.put(1)  # to A
        there.get()

    other = gpu.thread(worker)
    for _ in range(3):
        there.put(1)  # from A
    back.get()
    other.join()


@protocol()
def lock_never_released(gpu: Gpu) -> None:
    """A host thread takes a lock that it holds."""
    lock = gpu.lock("lock")
    lock.acquire()
    lock.acquire()  # from A, to A


@protocol()
def other_buffer(gpu: Gpu) -> None:
    """Everything is in order, but the kernel reads the buffer of the step before."""
    s = gpu.stream("s")
    buffers = [gpu.device("even"), gpu.device("odd")]
    for n in gpu.steps():
        gpu.launch("make", s, writes={buffers[n % 2]: n})  # from A
        gpu.launch("use", s, reads={buffers[max(n - 1, 0) % 2]: n})  # to A


@protocol()
def never_written(gpu: Gpu) -> None:
    """A kernel reads what nobody has written."""
    gpu.launch("use", gpu.stream("s"), reads={gpu.device("d"): 1})  # to A


@protocol()
def overlap_lost(gpu: Gpu) -> None:
    """Two kernels that should overlap are issued to one stream."""
    s = gpu.stream("s")
    d, e = gpu.device("d"), gpu.device("e")
    first = gpu.launch("first", s, writes={d: 1})  # from A
    second = gpu.launch("second", s, writes={e: 1})  # to A
    gpu.concurrent(first, second)
