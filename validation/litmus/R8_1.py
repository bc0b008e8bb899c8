"""R8.1: a host function runs after the earlier work of its stream, and the later work after it.

Source: the header text of cudaLaunchHostFunc; hipLaunchHostFunc.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("R",)
ALLOWED = {"cuda": {"R=1"}, "hip": {"R=1"}}
FORBIDDEN = {"cuda": {"R=0", "R=torn"}, "hip": {"R=0", "R=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; P=1}; hostfunc(n1, {Q=P}); K(n1){R=Q}; sync(n1); obs R."""
    n1 = gpu.stream("n1")
    p, q, r = gpu.pinned("P"), gpu.pinned("Q"), gpu.pinned("R")
    gpu.launch("K1", n1, writes={p: 1})
    gpu.host_func("f", n1, writes={q: p})
    gpu.launch("K2", n1, writes={r: q})
    n1.synchronize()
