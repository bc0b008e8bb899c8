"""R6.2: from ROCm 7.0 on hipFree of memory that came from a pool returns at once.

Source: HIP documentation, hip-7-changes, "Update hipFree".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=0", "seen=1"}, "hip": {"seen=0", "seen=1"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """Q=mallocAsync(n1); K(n1){slow; P=1}; free(Q); obs P."""
    n1, p = gpu.stream("n1"), gpu.pinned("P")
    q = gpu.malloc_async("Q", n1)
    gpu.launch("K", n1, writes={p: 1})
    gpu.free(q)
    gpu.memcpy_async(gpu.device("seen"), p, gpu.stream("look"), source="call")
