"""R1.6: waiting for the NULL stream on the host waits for the blocking streams under HIP; CUDA
implies it and does not say it.

Source: ROCm/clr, hipamd/src/hip_stream.cpp; CUDA driver API, "Stream synchronization behavior".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=0", "seen=1"}, "hip": {"seen=1"}}
FORBIDDEN = {"hip": {"seen=0", "seen=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(b1){slow; P=1}; sync(N); obs P."""
    b1, p = gpu.stream("b1", blocking=True), gpu.pinned("P")
    gpu.launch("K", b1, writes={p: 1})
    gpu.null_stream.synchronize()
    gpu.memcpy_async(gpu.device("seen"), p, gpu.stream("look"), source="call")
