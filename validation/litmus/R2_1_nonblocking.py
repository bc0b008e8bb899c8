"""R2.1: a copy without a stream is ordered with no non-blocking stream, though the host waits for
it.

Source: CUDA driver API, "API synchronization behavior"; CUDA driver API, "Stream
synchronization behavior"; ROCm/clr, hipamd/src/hip_memory.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=0", "P=1"}, "hip": {"P=0", "P=1"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; D=1}; memcpy(P<-D); obs P."""
    n1 = gpu.stream("n1")
    d, p = gpu.device("D"), gpu.pinned("P")
    gpu.launch("K", n1, writes={d: 1})
    gpu.memcpy(p, d)
