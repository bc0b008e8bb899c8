"""R1.1: operations of one stream run in the order in which they were issued, memory included.

Source: CUDA driver API, "Stream synchronization behavior"; HIP documentation, asynchronous.rst.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=1"}}
FORBIDDEN = {"cuda": {"P=0", "P=torn"}, "hip": {"P=0", "P=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; D=1}; D2H_async(n1, P<-D); sync(n1); obs P."""
    n1 = gpu.stream("n1")
    d, p = gpu.device("D"), gpu.pinned("P")
    gpu.launch("K", n1, writes={d: 1})
    gpu.memcpy_async(p, d, n1)
    n1.synchronize()
