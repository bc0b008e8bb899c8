"""R2.6: an asynchronous upload from pageable memory may wait for its stream (CUDA), and large ones
do (HIP): a host that must release the stream afterwards can hang.

Source: CUDA driver API, "API synchronization behavior"; rocm-systems, rocblit.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("D",)
ALLOWED = {"cuda": {"D=1", "hang"}, "hip": {"D=1", "hang"}}
FORBIDDEN = {"cuda": {"D=0", "D=torn"}, "hip": {"D=0", "D=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(n1){spin until F}; H2D_async(n1, D<-G=1); F=1; sync(n1); obs D."""
    n1, f = gpu.stream("n1"), gpu.cell("F")
    g, d = gpu.pageable("G"), gpu.device("D")
    gpu.write(g, 1)
    gpu.wait_value(n1, f, 1)
    gpu.memcpy_async(d, g, n1)
    f.set(1)
    n1.synchronize()
