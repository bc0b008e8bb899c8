"""R1.6: waiting for the NULL stream on the host does not wait for non-blocking streams.

Source: ROCm/clr, hipamd/src/hip_stream.cpp; CUDA driver API, "Stream synchronization behavior".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=0", "seen=1"}, "hip": {"seen=0", "seen=1"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; P=1}; sync(N); obs P."""
    n1, p = gpu.stream("n1"), gpu.pinned("P")
    gpu.launch("K", n1, writes={p: 1})
    gpu.null_stream.synchronize()
    gpu.memcpy_async(gpu.device("seen"), p, gpu.stream("look"), source="call")
