"""R2.1: a copy without a stream is an operation of the NULL stream, after the work of blocking
streams.

Source: CUDA driver API, "API synchronization behavior"; CUDA driver API, "Stream
synchronization behavior"; ROCm/clr, hipamd/src/hip_memory.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=1"}}
FORBIDDEN = {"cuda": {"P=0", "P=torn"}, "hip": {"P=0", "P=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(b1){slow; D=1}; memcpy(P<-D); obs P."""
    b1 = gpu.stream("b1", blocking=True)
    d, p = gpu.device("D"), gpu.pinned("P")
    gpu.launch("K", b1, writes={d: 1})
    gpu.memcpy(p, d)
