"""R2.4: a blocking upload from pageable memory is not ordered after kernels that run on a non-
blocking stream.

Source: CUDA driver API, "API synchronization behavior"; CUDA driver API, "Stream
synchronization behavior"; rocm-systems, rocblit.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=0", "P=7", "P=torn"}, "hip": {"P=0", "P=7", "P=torn"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; P=D}; memcpy(D<-G=7); sync(n1); obs P."""
    n1 = gpu.stream("n1")
    d, p, source = gpu.device("D"), gpu.pinned("P"), gpu.pageable("G")
    gpu.write(source, 7)
    gpu.launch("K", n1, writes={p: d})
    gpu.memcpy(d, source)
    n1.synchronize()
