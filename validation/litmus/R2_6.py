"""R2.6: an asynchronous upload from pageable memory has read its source on return where it is
staged; where the GPU may read that memory itself nobody says.

Source: CUDA driver API, "API synchronization behavior".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("D",)
ALLOWED = {"cuda": {"D=1"}, "hip": {"D=1"}, "cuda-hmm": {"D=1", "D=2"}}
FORBIDDEN = {"cuda": {"D=0", "D=2", "D=torn"}, "hip": {"D=0", "D=2", "D=torn"}, "cuda-hmm": {"D=0"}}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow}; G=1; H2D_async(n1, D<-G); G=2; sync(n1); obs D."""
    n1 = gpu.stream("n1")
    g, d = gpu.pageable("G"), gpu.device("D")
    gpu.launch("K", n1)
    gpu.write(g, 1)
    gpu.memcpy_async(d, g, n1)
    gpu.write(g, 2)
    n1.synchronize()
