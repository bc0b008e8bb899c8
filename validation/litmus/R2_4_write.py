"""R2.4: a blocking upload is not ordered after a kernel's write on a non-blocking stream either:
either may be the last.

Source: CUDA driver API, "API synchronization behavior"; CUDA driver API, "Stream
synchronization behavior"; rocm-systems, rocblit.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("D",)
ALLOWED = {"cuda": {"D=1", "D=7", "D=torn"}, "hip": {"D=1", "D=7", "D=torn"}}
FORBIDDEN = {"cuda": {"D=0"}, "hip": {"D=0"}}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; D=1}; memcpy(D<-G=7); devsync; obs D."""
    n1 = gpu.stream("n1")
    d, g = gpu.device("D"), gpu.pageable("G")
    gpu.write(g, 7)
    gpu.launch("K", n1, writes={d: 1})
    gpu.memcpy(d, g)
    gpu.synchronize()
