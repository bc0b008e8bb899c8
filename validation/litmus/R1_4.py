"""R1.4: whether a wait on a blocking stream takes the NULL stream's edge is open: HIP's header
denies what its code does, and CUDA says so only if the wait is an operation.

Source: hip_runtime_api.h, hipStreamWaitEvent; rocm-systems, hip_stream.cpp; CUDA driver API,
"Stream synchronization behavior".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=0", "seen=1"}, "hip": {"seen=0", "seen=1"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """K(N){slow; P=1}; wait(b1, E_done); sync(b1); obs P."""
    b1, n1, e = gpu.stream("b1", blocking=True), gpu.stream("n1"), gpu.event("E")
    p = gpu.pinned("P")
    e.record(n1)
    gpu.launch("K", gpu.null_stream, writes={p: 1})
    b1.wait(e)
    b1.synchronize()
    gpu.memcpy_async(gpu.device("seen"), p, gpu.stream("look"), source="call")
