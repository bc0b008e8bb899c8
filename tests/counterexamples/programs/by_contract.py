"""Small protocols that are wrong under one contract only; the name ends in that contract's name.

Lines are marked as in `races.py`.
"""

from __future__ import annotations

from streamorder import Gpu, protocol


@protocol()
def late_upload_cuda(gpu: Gpu) -> None:
    """A blocking copy from pageable memory may return before it has landed."""
    s = gpu.stream("s")
    d, vector = gpu.device("d"), gpu.pageable("vector")
    gpu.write(vector, 1)
    gpu.memcpy(d, vector)  # from A
    gpu.launch("use", s, reads={d: 1})  # to A


@protocol()
def late_download_cuda(gpu: Gpu) -> None:
    """An asynchronous copy to pageable memory returns before it is complete."""
    s = gpu.stream("s")
    d, vector = gpu.device("d"), gpu.pageable("vector")
    gpu.launch("make", s, writes={d: 1})
    gpu.memcpy_async(vector, d, s)  # from A
    gpu.read(vector, expect=1)  # to A


@protocol()
def destroyed_stream_cuda(gpu: Gpu) -> None:
    """Destroying a stream does not wait for its work."""
    s = gpu.stream("s")
    d, out = gpu.device("d"), gpu.pinned("out")
    gpu.launch("make", s, writes={d: 1})
    gpu.memcpy_async(out, d, s)  # from A
    s.destroy()
    gpu.read(out, expect=1)  # to A


@protocol()
def recorded_beside_null_cuda(gpu: Gpu) -> None:
    """An event on a blocking stream does not stand for the NULL stream's work."""
    s, t = gpu.stream("s", blocking=True), gpu.stream("t")
    d, filled = gpu.device("d"), gpu.event("filled")
    gpu.memset(d, 1)  # from A
    filled.record(s)
    t.wait(filled)
    gpu.launch("use", t, reads={d: 1})  # to A
