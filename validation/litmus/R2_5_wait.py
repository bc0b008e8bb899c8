"""R2.5: once the host has waited for an asynchronous copy its pinned source is free.

Source: CUDA driver API, "API synchronization behavior"; HIP documentation, asynchronous.rst.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("D",)
ALLOWED = {"cuda": {"D=1"}, "hip": {"D=1"}}
FORBIDDEN = {"cuda": {"D=0", "D=2", "D=torn"}, "hip": {"D=0", "D=2", "D=torn"}}


def litmus(gpu: Gpu) -> None:
    """P=1; H2D_async(n1, D<-P); sync(n1); P=2; obs D."""
    n1 = gpu.stream("n1")
    p, d = gpu.pinned("P"), gpu.device("D")
    gpu.write(p, 1)
    gpu.memcpy_async(d, p, n1)
    n1.synchronize()
    gpu.write(p, 2)
