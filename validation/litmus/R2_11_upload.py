"""R2.11: a blocking upload into managed memory is complete on return under HIP; under CUDA that is
open.

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
    """memcpy(M<-G=1); K(n1){P=M}; sync(n1); obs P."""
    n1 = gpu.stream("n1")
    g, m, p = gpu.pageable("G"), gpu.managed("M"), gpu.pinned("P")
    gpu.write(g, 1)
    gpu.memcpy(m, g)
    gpu.launch("K", n1, writes={p: m})
    n1.synchronize()
