"""R2.10: an asynchronous fill of pinned memory is done by the CPU under HIP, the stream drained;
under CUDA it is an operation.

Source: CUDA driver API, "API synchronization behavior"; ROCm/clr,
rocclr/device/rocm/rocvirtual.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=0", "seen=7"}, "hip": {"seen=7"}}
FORBIDDEN = {"hip": {"seen=0", "seen=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow}; memset_async(P, 7, n1); obs P."""
    n1, p = gpu.stream("n1"), gpu.pinned("P")
    gpu.launch("K", n1)
    gpu.memset_async(p, 7, n1)
    gpu.memcpy_async(gpu.device("seen"), p, gpu.stream("look"), source="call")
