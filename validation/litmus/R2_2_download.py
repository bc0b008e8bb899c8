"""R2.2: a blocking download returns when it is complete, to pageable memory too.

Source: CUDA driver API, "API synchronization behavior".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=1"}, "hip": {"seen=1"}}
FORBIDDEN = {"cuda": {"seen=0", "seen=torn"}, "hip": {"seen=0", "seen=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(N){slow; D=1}; memcpy(G<-D); obs G."""
    d, g = gpu.device("D"), gpu.pageable("G")
    gpu.launch("K", gpu.null_stream, writes={d: 1})
    gpu.memcpy(g, d)
    gpu.memcpy_async(gpu.device("seen"), g, gpu.stream("look"), source="call")
