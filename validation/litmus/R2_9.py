"""R2.9: HIP moves a copy of another device's memory to that device's NULL stream, so it waits for
the blocking streams there.

Source: ROCm/clr, hipamd/src/hip_memory.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("R",)
ALLOWED = {"cuda": {"R=0", "R=1"}, "hip": {"R=1"}}
FORBIDDEN = {"hip": {"R=0", "R=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(b on dev1){slow; P=1}; H2D_async(s on dev0, D on dev1<-Q); K(s){R=P}; sync(s); obs R."""
    b, s = gpu.stream("b", blocking=True, device=1), gpu.stream("s")
    p, q, r, d = gpu.pinned("P"), gpu.pinned("Q"), gpu.pinned("R"), gpu.device("D", device=1)
    gpu.launch("K1", b, writes={p: 1})
    gpu.memcpy_async(d, q, s)
    gpu.launch("K2", s, writes={r: p})
    s.synchronize()
