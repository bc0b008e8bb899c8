"""R6.3: memory freed and allocated again on one stream is ordered by that stream.

Source: CUDA Programming Guide, "Stream Ordered Memory Allocator".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=1"}}
FORBIDDEN = {
    "cuda": {"P=0", "P=9", "P=torn", "P=uninitialised", "P=freed-memory"},
    "hip": {"P=0", "P=9", "P=torn", "P=uninitialised", "P=freed-memory"},
}


def litmus(gpu: Gpu) -> None:
    """Q=mallocAsync(n1); K(n1){Q=1; slow; P=Q}; freeAsync(Q, n1); R=mallocAsync(n1) at Q;
    K(n1){R=9}; sync(n1); obs P.
    """
    n1, p = gpu.stream("n1"), gpu.pinned("P")
    q = gpu.malloc_async("Q", n1)
    gpu.launch("K1", n1, writes={q: 1})
    gpu.launch("K2", n1, writes={p: q})
    gpu.free_async(q, n1)
    r = gpu.malloc_async("R", n1, of=q)
    gpu.launch("K3", n1, writes={r: 9})
    n1.synchronize()
