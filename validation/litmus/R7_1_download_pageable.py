"""R7.1: torch's blocking `copy_` to pageable memory is complete on return.

Source: pytorch, aten/src/ATen/native/cuda/Copy.cu.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=1"}, "hip": {"seen=1"}}
FORBIDDEN = {"cuda": {"seen=0", "seen=torn"}, "hip": {"seen=0", "seen=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(cur){slow; D=1}; S.copy_(D); obs S."""
    cur, d, target = gpu.stream("cur"), gpu.device("D"), gpu.pageable("S")
    gpu.launch("K", cur, writes={d: 1})
    gpu.memcpy_async(target, d, cur)
    cur.synchronize()
    gpu.memcpy_async(gpu.device("seen"), target, gpu.stream("look"), source="call")
