"""R2.2: a blocking upload from pageable memory has read its source on return.

Source: CUDA driver API, "API synchronization behavior".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("D",)
ALLOWED = {"cuda": {"D=1"}, "hip": {"D=1"}}
FORBIDDEN = {"cuda": {"D=2", "D=0", "D=torn"}, "hip": {"D=2", "D=0", "D=torn"}}


def litmus(gpu: Gpu) -> None:
    """G=1; memcpy(D<-G); G=2; devsync; obs D."""
    g, d = gpu.pageable("G"), gpu.device("D")
    gpu.write(g, 1)
    gpu.memcpy(d, g)
    gpu.write(g, 2)
    gpu.synchronize()
