"""R6.1: CUDA's guide says that freeing device memory synchronises, its API page not to rely on
that; HIP waits for the device.

Source: CUDA Programming Guide, "Stream Ordered Memory Allocator"; CUDA driver API, "API
synchronization behavior"; ROCm/clr, hipamd/src/hip_memory.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=0", "seen=1"}, "hip": {"seen=1"}}
FORBIDDEN = {"hip": {"seen=0", "seen=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; P=1}; free(Q, unrelated); obs P."""
    n1, p, q = gpu.stream("n1"), gpu.pinned("P"), gpu.malloc("Q")
    gpu.launch("K", n1, writes={p: 1})
    gpu.free(q)
    gpu.memcpy_async(gpu.device("seen"), p, gpu.stream("look"), source="call")
