"""R7.2: `.item()` downloads and waits for the current stream.

Source: pytorch, aten/src/ATen/native/cuda/CUDAScalar.cu.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=1"}, "hip": {"seen=1"}}
FORBIDDEN = {"cuda": {"seen=0", "seen=torn"}, "hip": {"seen=0", "seen=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(cur){slow; X=1}; x.item()."""
    cur, x, y = gpu.stream("cur"), gpu.device("X"), gpu.pageable("Y")
    gpu.launch("K", cur, writes={x: 1})
    gpu.memcpy_async(y, x, cur)
    cur.synchronize()
    gpu.memcpy_async(gpu.device("seen"), y, gpu.stream("look"), source="call")
