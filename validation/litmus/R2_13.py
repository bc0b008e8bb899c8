"""R2.13: a kernel's arguments are copied at the launch: a host variable that changes later changes
nothing.

Source: CUDA Programming Guide (parameter buffers); ROCm/clr,
rocclr/device/rocm/rocsettings.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=1"}}
FORBIDDEN = {"cuda": {"P=0", "P=2", "P=torn"}, "hip": {"P=0", "P=2", "P=torn"}}


def litmus(gpu: Gpu) -> None:
    """x=1; K(n1)(x){slow; P=x}; x=2; sync(n1); obs P."""
    n1, p = gpu.stream("n1"), gpu.pinned("P")
    x = 1
    gpu.launch("K", n1, writes={p: x})
    x = 2
    n1.synchronize()
