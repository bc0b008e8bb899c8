"""R6.3: memory allocated on one stream may not be used on another without an edge.

Source: CUDA Programming Guide, "Stream Ordered Memory Allocator".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("Q",)
ALLOWED = {"cuda": {"Q=1", "Q=uninitialised"}, "hip": {"Q=1", "Q=uninitialised"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """Q=mallocAsync(n1); K(n2){Q=1}; devsync; obs Q."""
    n1, n2 = gpu.stream("n1"), gpu.stream("n2")
    q = gpu.malloc_async("Q", n1)
    gpu.launch("K", n2, writes={q: 1})
    gpu.synchronize()
