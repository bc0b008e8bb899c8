"""R6.3: an allocator may hand memory that one stream has freed to another only in order.

Source: CUDA Programming Guide, "Stream Ordered Memory Allocator"; ROCm/clr,
hipamd/src/hip_mempool_impl.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=1"}}
FORBIDDEN = {
    "cuda": {"P=0", "P=9", "P=torn", "P=uninitialised"},
    "hip": {"P=0", "P=9", "P=torn", "P=uninitialised"},
}
DISAGREES = {
    "hip": "the model doubts every reuse, the source only those by the block's safe streams"
}


def litmus(gpu: Gpu) -> None:
    """Q=mallocAsync(n1)=1; K(n1){slow; P=Q}; freeAsync(Q, n1); R=mallocAsync(n2) at Q;
    K(n2){R=9}; devsync; obs P.
    """
    n1, n2, p = gpu.stream("n1"), gpu.stream("n2"), gpu.pinned("P")
    q = gpu.malloc_async("Q", n1)
    gpu.launch("K1", n1, writes={q: 1})
    gpu.launch("K2", n1, writes={p: q})
    gpu.free_async(q, n1)
    r = gpu.malloc_async("R", n2, of=q)
    gpu.launch("K3", n2, writes={r: 9})
    gpu.synchronize()
