"""R9.1: what the host stored before it submits an operation is visible to it.

Source: implied by both APIs; taken as an axiom.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("D",)
ALLOWED = {"cuda": {"D=1"}, "hip": {"D=1"}}
FORBIDDEN = {"cuda": {"D=0", "D=torn"}, "hip": {"D=0", "D=torn"}}


def litmus(gpu: Gpu) -> None:
    """P=1; H2D_async(n1, D<-P); sync(n1); obs D."""
    n1, p, d = gpu.stream("n1"), gpu.pinned("P"), gpu.device("D")
    gpu.write(p, 1)
    gpu.memcpy_async(d, p, n1)
    n1.synchronize()
