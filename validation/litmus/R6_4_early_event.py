"""R6.4: HIP's pool takes a wait for an event as leave to reuse blocks freed after that event was
recorded.

Source: ROCm/clr, hipamd/src/hip_mempool_impl.cpp and hip_stream.cpp; CUDA Programming Guide,
"Stream Ordered Memory Allocator".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=1", "P=9", "P=uninitialised"}}
FORBIDDEN = {"cuda": {"P=9", "P=torn", "P=uninitialised"}}


def litmus(gpu: Gpu) -> None:
    """Q=mallocAsync(n1)=1; rec(E, n1); K(n1){slow; P=Q}; freeAsync(Q, n1); wait(n2, E);
    R=mallocAsync(n2) at Q; K(n2){R=9}; devsync; obs P.
    """
    n1, n2, e, p = gpu.stream("n1"), gpu.stream("n2"), gpu.event("E"), gpu.pinned("P")
    q = gpu.malloc_async("Q", n1)
    gpu.launch("K1", n1, writes={q: 1})
    e.record(n1)
    gpu.launch("K2", n1, writes={p: q})
    gpu.free_async(q, n1)
    n2.wait(e)
    r = gpu.malloc_async("R", n2, of=q)
    gpu.launch("K3", n2, writes={r: 9})
    gpu.synchronize()
