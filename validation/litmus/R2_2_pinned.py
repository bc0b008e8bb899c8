"""R2.2: a blocking upload from pinned memory returns after the device write.

Source: CUDA driver API, "API synchronization behavior"; ROCm/clr, hipamd/src/hip_memory.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("Q",)
ALLOWED = {"cuda": {"Q=1"}, "hip": {"Q=1"}}
FORBIDDEN = {"cuda": {"Q=0", "Q=torn"}, "hip": {"Q=0", "Q=torn"}}


def litmus(gpu: Gpu) -> None:
    """memcpy(D<-P=1); K(n1){Q=D}; sync(n1); obs Q."""
    n1 = gpu.stream("n1")
    p, d, q = gpu.pinned("P"), gpu.device("D"), gpu.pinned("Q")
    gpu.write(p, 1)
    gpu.memcpy(d, p)
    gpu.launch("K", n1, writes={q: d})
    n1.synchronize()
