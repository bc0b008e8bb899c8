"""R2.11: a blocking copy of managed memory waits for itself, not for a non-blocking stream that
writes it.

Source: CUDA driver API, "API synchronization behavior"; rocm-systems, hip_memory.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=0", "P=1"}, "hip": {"P=0", "P=1"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; M=1}; memcpy(P<-M); obs P."""
    n1 = gpu.stream("n1")
    m, p = gpu.managed("M"), gpu.pinned("P")
    gpu.launch("K", n1, writes={m: 1})
    gpu.memcpy(p, m)
