"""R6.6: torch's pinned allocator does not guard a block that is overwritten in place.

Source: pytorch, aten/src/ATen/core/CachingHostAllocator.h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("D",)
ALLOWED = {"cuda": {"D=1", "D=9"}, "hip": {"D=1", "D=9"}}
FORBIDDEN = {"cuda": {"D=0"}, "hip": {"D=0"}}


def litmus(gpu: Gpu) -> None:
    """t=1; D.copy_(t, nb); t=9; sync; obs D."""
    s, t, d = gpu.stream("s"), gpu.pinned("T"), gpu.device("D")
    gpu.write(t, 1)
    gpu.memcpy_async(d, t, s)
    gpu.write(t, 9)
    s.synchronize()
