"""R6.6: torch's pinned allocator gives a block out again only after the copies that it was told
of.

Source: pytorch, aten/src/ATen/core/CachingHostAllocator.h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("D",)
ALLOWED = {"cuda": {"D=1"}, "hip": {"D=1"}}
FORBIDDEN = {"cuda": {"D=0", "D=9", "D=torn"}, "hip": {"D=0", "D=9", "D=torn"}}


def litmus(gpu: Gpu) -> None:
    """t=1; D.copy_(t, nb); del t; u at t; u=9; sync; obs D."""
    s, told, d = gpu.stream("s"), gpu.event("told"), gpu.device("D")
    t = gpu.pinned("T")
    gpu.write(t, 1)
    gpu.memcpy_async(d, t, s)
    told.record(s)
    told.poll()
    u = gpu.malloc("U", of=t)
    gpu.write(u, 9)
    s.synchronize()
