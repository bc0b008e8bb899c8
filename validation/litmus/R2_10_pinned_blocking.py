"""R2.10: a blocking fill of pinned memory is complete on return.

Source: CUDA driver API, "API synchronization behavior"; ROCm/clr,
rocclr/device/rocm/rocvirtual.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=7"}, "hip": {"seen=7"}}
FORBIDDEN = {"cuda": {"seen=0", "seen=torn"}, "hip": {"seen=0", "seen=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(N){slow}; memset(P, 7); obs P."""
    p = gpu.pinned("P")
    gpu.launch("K", gpu.null_stream)
    gpu.memset(p, 7)
    gpu.memcpy_async(gpu.device("seen"), p, gpu.stream("look"), source="call")
