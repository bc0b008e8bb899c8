"""R7.1: torch's blocking `copy_` waits for the current stream and for nothing else.

Source: pytorch, aten/src/ATen/native/cuda/Copy.cu.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("S",)
ALLOWED = {"cuda": {"S=0", "S=1"}, "hip": {"S=0", "S=1"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """K(n2){slow; D=1}; S.copy_(D); obs S."""
    cur, n2 = gpu.stream("cur"), gpu.stream("n2")
    d, target = gpu.device("D"), gpu.pinned("S")
    gpu.launch("K", n2, writes={d: 1})
    gpu.memcpy_async(target, d, cur)
    cur.synchronize()
