"""R1.3: recording an event on a blocking stream takes the NULL stream's edge under HIP; CUDA's
text does not name the call.

Source: CUDA driver API, "Stream synchronization behavior"; ROCm/clr,
hipamd/src/hip_context.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=0", "seen=1"}, "hip": {"seen=1"}}
FORBIDDEN = {"hip": {"seen=0", "seen=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(N){slow; P=1}; rec(E,b1); sync(E); obs P."""
    b1, e = gpu.stream("b1", blocking=True), gpu.event("E")
    p = gpu.pinned("P")
    gpu.launch("K", gpu.null_stream, writes={p: 1})
    e.record(b1)
    e.synchronize()
    gpu.memcpy_async(gpu.device("seen"), p, gpu.stream("look"), source="call")
