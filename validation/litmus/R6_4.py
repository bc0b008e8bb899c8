"""R6.4: a pool may hand out a block again only after its free; HIP's lets the allocating stream
have it while the freeing stream still works.

Source: ROCm/clr, hipamd/src/hip_mempool_impl.cpp; CUDA Programming Guide, "Stream Ordered
Memory Allocator".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=1", "P=9", "P=uninitialised"}}
FORBIDDEN = {"cuda": {"P=9", "P=torn", "P=uninitialised"}}


def litmus(gpu: Gpu) -> None:
    """Q=mallocAsync(n1)=1; n2 waits for n1; K(n2){slow; P=Q}; freeAsync(Q, n2);
    R=mallocAsync(n1) at Q; K(n1){R=9}; devsync; obs P.
    """
    n1, n2, e, p = gpu.stream("n1"), gpu.stream("n2"), gpu.event("E"), gpu.pinned("P")
    q = gpu.malloc_async("Q", n1)
    gpu.launch("K1", n1, writes={q: 1})
    e.record(n1)
    n2.wait(e)
    gpu.launch("K2", n2, writes={p: q})
    gpu.free_async(q, n2)
    r = gpu.malloc_async("R", n1, of=q)
    gpu.launch("K3", n1, writes={r: 9})
    gpu.synchronize()
