"""R8.4: a kernel launched early may start, and end, before the one ahead of it; HIP has no such
launch.

Source: CUDA Programming Guide, "Programmatic Dependent Launch and Synchronization"; HIP
documentation, asynchronous.rst.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=0", "P=1"}, "hip": {"P=1"}}
FORBIDDEN = {"hip": {"P=0", "P=torn"}}


def litmus(gpu: Gpu) -> None:
    """K1(n1){trigger; slow; D=1}; K2[early](n1){P=D}; sync(n1); obs P."""
    n1 = gpu.stream("n1")
    d, p = gpu.device("D"), gpu.pinned("P")
    gpu.launch("K1", n1, writes={d: 1})
    gpu.launch("K2", n1, writes={p: d}, early=True)
    n1.synchronize()
