"""R7.1: torch's non-blocking `copy_` from pinned memory may read it until the current stream has
passed.

Source: pytorch, aten/src/ATen/native/cuda/Copy.cu.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("D",)
ALLOWED = {"cuda": {"D=1", "D=2"}, "hip": {"D=1", "D=2"}}
FORBIDDEN = {"cuda": {"D=0"}, "hip": {"D=0"}}


def litmus(gpu: Gpu) -> None:
    """S=1; D.copy_(S, nb); S=2; sync(cur); obs D."""
    cur, source, d = gpu.stream("cur"), gpu.pinned("S"), gpu.device("D")
    gpu.write(source, 1)
    gpu.memcpy_async(d, source, cur)
    gpu.write(source, 2)
    cur.synchronize()
