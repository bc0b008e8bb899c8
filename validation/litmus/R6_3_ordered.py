"""R6.3: memory allocated on one stream may be used on another that waits for the allocation.

Source: CUDA Programming Guide, "Stream Ordered Memory Allocator".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("Q",)
ALLOWED = {"cuda": {"Q=1"}, "hip": {"Q=1"}}
FORBIDDEN = {
    "cuda": {"Q=0", "Q=torn", "Q=uninitialised"},
    "hip": {"Q=0", "Q=torn", "Q=uninitialised"},
}


def litmus(gpu: Gpu) -> None:
    """Q=mallocAsync(n1); rec(E, n1); wait(n2, E); K(n2){Q=1}; devsync; obs Q."""
    n1, n2, e = gpu.stream("n1"), gpu.stream("n2"), gpu.event("E")
    q = gpu.malloc_async("Q", n1)
    e.record(n1)
    n2.wait(e)
    gpu.launch("K", n2, writes={q: 1})
    gpu.synchronize()
