"""R1.6: waiting for the device waits for every stream, non-blocking ones included.

Source: ROCm/clr, hipamd/src/hip_device_runtime.cpp; CUDA driver API, "Stream synchronization
behavior".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=1"}, "hip": {"seen=1"}}
FORBIDDEN = {"cuda": {"seen=0", "seen=torn"}, "hip": {"seen=0", "seen=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; P=1}; devsync; obs P."""
    n1, p = gpu.stream("n1"), gpu.pinned("P")
    gpu.launch("K", n1, writes={p: 1})
    gpu.synchronize()
    gpu.memcpy_async(gpu.device("seen"), p, gpu.stream("look"), source="call")
