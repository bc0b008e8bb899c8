"""R7.1: torch's non-blocking `copy_` to pinned memory is read too early before a wait.

Source: pytorch, aten/src/ATen/native/cuda/Copy.cu.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=0", "seen=1"}, "hip": {"seen=0", "seen=1"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """K(cur){slow; D=1}; S.copy_(D, nb); obs S."""
    cur, d, target = gpu.stream("cur"), gpu.device("D"), gpu.pinned("S")
    gpu.launch("K", cur, writes={d: 1})
    gpu.memcpy_async(target, d, cur)
    gpu.memcpy_async(gpu.device("seen"), target, gpu.stream("look"), source="call")
