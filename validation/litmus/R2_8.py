"""R2.8: an asynchronous copy from host to host is complete on return, after the earlier work of
its stream.

Source: CUDA driver API, "API synchronization behavior"; ROCm/clr,
rocclr/device/rocm/rocblit.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=1"}, "hip": {"seen=1"}}
FORBIDDEN = {"cuda": {"seen=0", "seen=torn"}, "hip": {"seen=0", "seen=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; P=1}; memcpy_async(Q<-P, n1); obs Q."""
    n1 = gpu.stream("n1")
    p, q = gpu.pinned("P"), gpu.pinned("Q")
    gpu.launch("K", n1, writes={p: 1})
    gpu.memcpy_async(q, p, n1)
    gpu.memcpy_async(gpu.device("seen"), q, gpu.stream("look"), source="call")
