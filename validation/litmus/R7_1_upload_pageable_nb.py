"""R7.1: torch's non-blocking `copy_` from pageable memory returns after staging it, where it is
staged.

Source: pytorch, aten/src/ATen/native/cuda/Copy.cu.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("D",)
ALLOWED = {"cuda": {"D=1"}, "hip": {"D=1"}, "cuda-hmm": {"D=1", "D=2"}}
FORBIDDEN = {"cuda": {"D=0", "D=2", "D=torn"}, "hip": {"D=0", "D=2", "D=torn"}, "cuda-hmm": {"D=0"}}


def litmus(gpu: Gpu) -> None:
    """S=1; D.copy_(S, nb); S=2; sync(cur); obs D."""
    cur, source, d = gpu.stream("cur"), gpu.pageable("S"), gpu.device("D")
    gpu.write(source, 1)
    gpu.memcpy_async(d, source, cur)
    gpu.write(source, 2)
    cur.synchronize()
