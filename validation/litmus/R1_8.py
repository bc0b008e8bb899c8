"""R1.8: torch's default stream is the NULL stream and its pool streams are non-blocking: nothing
orders them.

Source: pytorch, c10/cuda/CUDAStream.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=0", "P=1"}, "hip": {"P=0", "P=1"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """K(N){slow; D=1}; K(s){P=D}; sync(s); obs P."""
    default, side = gpu.null_stream, gpu.stream("side")
    x, y = gpu.device("X"), gpu.pinned("P")
    gpu.launch("fill", default, writes={x: 1})
    gpu.launch("clone", side, writes={y: x})
    side.synchronize()
