"""R2.3: a blocking upload from pageable memory returns after the device write under HIP; under
CUDA the write may still be pending.

Source: CUDA driver API, "API synchronization behavior"; ROCm/clr, hipamd/src/hip_memory.cpp;
HIP documentation, asynchronous.rst.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=0", "P=7"}, "hip": {"P=7"}}
FORBIDDEN = {"hip": {"P=0", "P=torn"}}


def litmus(gpu: Gpu) -> None:
    """memcpy(D<-G=7); K(n1){P=D}; sync(n1); obs P."""
    n1 = gpu.stream("n1")
    g, d, p = gpu.pageable("G"), gpu.device("D"), gpu.pinned("P")
    gpu.write(g, 7)
    gpu.memcpy(d, g)
    gpu.launch("K", n1, writes={p: d})
    n1.synchronize()
