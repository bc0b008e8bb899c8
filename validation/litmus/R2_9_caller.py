"""R2.9: wherever a copy of another device's memory runs, it keeps its place in the caller's
stream.

Source: CUDA driver API, "Stream synchronization behavior"; ROCm/clr, hipamd/src/hip_memory.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("Q",)
ALLOWED = {"cuda": {"Q=1"}, "hip": {"Q=1"}}
FORBIDDEN = {"cuda": {"Q=0", "Q=torn"}, "hip": {"Q=0", "Q=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(s on dev0){slow; P=1}; H2D_async(s, D on dev1<-P); K(s){Q=D}; sync(s); obs Q."""
    s = gpu.stream("s")
    p, q, d = gpu.pinned("P"), gpu.pinned("Q"), gpu.device("D", device=1)
    gpu.launch("K1", s, writes={p: 1})
    gpu.memcpy_async(d, p, s)
    gpu.launch("K2", s, writes={q: d})
    s.synchronize()
