"""R2.6: an asynchronous download to pageable memory may be pending on return under CUDA's current
text; under HIP it is complete.

Source: CUDA driver API, "API synchronization behavior"; rocm-systems, rocblit.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=0", "seen=1"}, "hip": {"seen=1"}}
FORBIDDEN = {"hip": {"seen=0", "seen=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; D=1}; D2H_async(n1, G<-D); obs G."""
    n1 = gpu.stream("n1")
    d, g = gpu.device("D"), gpu.pageable("G")
    gpu.launch("K", n1, writes={d: 1})
    gpu.memcpy_async(g, d, n1)
    gpu.memcpy_async(gpu.device("seen"), g, gpu.stream("look"), source="call")
