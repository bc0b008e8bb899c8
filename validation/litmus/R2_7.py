"""R2.7: pageable memory may be staged before the stream's earlier work: what a host function
stores there may come too late.

Source: CUDA driver API, "API synchronization behavior"; ROCm/clr, hipamd/src/hip_memory.cpp and
rocblit.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("D",)
ALLOWED = {"cuda": {"D=0", "D=1"}, "hip": {"D=0", "D=1"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """hostfunc(n1, {G=1}); H2D_async(n1, D<-G); sync(n1); obs D."""
    n1 = gpu.stream("n1")
    g, d = gpu.pageable("G"), gpu.device("D")
    gpu.host_func("f", n1, writes={g: 1})
    gpu.memcpy_async(d, g, n1)
    n1.synchronize()
