"""R3.9: waiting for a torch event that was never recorded is no error and no edge.

Source: pytorch, c10/cuda/CUDAEvent.h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=0", "P=1"}, "hip": {"P=0", "P=1"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """K(s1){slow; D=1}; e=Event(); s2.wait_event(e); K(s2){P=D}; sync(s2); obs P."""
    s1, s2, e = gpu.stream("s1"), gpu.stream("s2"), gpu.event("e")
    d, p = gpu.device("D"), gpu.pinned("P")
    gpu.launch("K1", s1, writes={d: 1})
    s2.wait(e)
    gpu.launch("K2", s2, writes={p: d})
    s2.synchronize()
