"""R3.6: a query that answers true means that the captured work is done.

Source: the header text of cudaEventRecord; ROCm/clr, rocclr/device/rocm/rocdevice.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=1"}, "hip": {"seen=1"}}
FORBIDDEN = {"cuda": {"seen=0", "seen=torn", "hang"}, "hip": {"seen=0", "seen=torn", "hang"}}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; P=1}; rec(E, n1); while(!query(E)); obs P."""
    n1, e, p = gpu.stream("n1"), gpu.event("E"), gpu.pinned("P")
    gpu.launch("K", n1, writes={p: 1})
    e.record(n1)
    e.poll()
    gpu.memcpy_async(gpu.device("seen"), p, gpu.stream("look"), source="call")
