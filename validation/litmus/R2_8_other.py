"""R2.8: an asynchronous copy from host to host waits for its own stream alone.

Source: ROCm/clr, rocclr/device/rocm/rocblit.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("Q",)
ALLOWED = {"cuda": {"Q=0", "Q=1"}, "hip": {"Q=0", "Q=1"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """K(n2){slow; P=1}; memcpy_async(Q<-P, n1); obs Q."""
    n1, n2 = gpu.stream("n1"), gpu.stream("n2")
    p, q = gpu.pinned("P"), gpu.pinned("Q")
    gpu.launch("K", n2, writes={p: 1})
    gpu.memcpy_async(q, p, n1)
