"""R2.11: whether a blocking copy between managed and device memory is complete on return CUDA's
current text no longer says; HIP waits.

Source: CUDA driver API, "API synchronization behavior", and its texts of CUDA 9.2 and 11.0;
rocm-systems, hip_memory.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=0", "P=1"}, "hip": {"P=1"}}
FORBIDDEN = {"hip": {"P=0", "P=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(N){slow; M=1}; memcpy(D<-M); K(n1){P=D}; sync(n1); obs P."""
    n1 = gpu.stream("n1")
    m, d, p = gpu.managed("M"), gpu.device("D"), gpu.pinned("P")
    gpu.launch("K1", gpu.null_stream, writes={m: 1})
    gpu.memcpy(d, m)
    gpu.launch("K2", n1, writes={p: d})
    n1.synchronize()
