"""R3.9: torch's `wait_stream` records a fresh event on the other stream and waits for it.

Source: pytorch, c10/cuda/CUDAEvent.h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=1"}}
FORBIDDEN = {"cuda": {"P=0", "P=torn"}, "hip": {"P=0", "P=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(s1){slow; D=1}; s2.wait_stream(s1); K(s2){P=D}; sync(s2); obs P."""
    s1, s2, fresh = gpu.stream("s1"), gpu.stream("s2"), gpu.event("fresh")
    d, p = gpu.device("D"), gpu.pinned("P")
    gpu.launch("K1", s1, writes={d: 1})
    fresh.record(s1)
    s2.wait(fresh)
    gpu.launch("K2", s2, writes={p: d})
    s2.synchronize()
