"""R2.2: a copy from host to host is complete on return, after the blocking streams' work.

Source: CUDA driver API, "API synchronization behavior"; ROCm/clr, hipamd/src/hip_memory.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=1"}, "hip": {"seen=1"}}
FORBIDDEN = {"cuda": {"seen=0", "seen=torn"}, "hip": {"seen=0", "seen=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(b1){slow; P=1}; memcpy(Q<-P); obs Q."""
    b1 = gpu.stream("b1", blocking=True)
    p, q = gpu.pinned("P"), gpu.pinned("Q")
    gpu.launch("K", b1, writes={p: 1})
    gpu.memcpy(q, p)
    gpu.memcpy_async(gpu.device("seen"), q, gpu.stream("look"), source="call")
