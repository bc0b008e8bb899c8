"""R3.3: recording again overwrites: a host wait covers the newer work.

Source: the header text of cudaEventRecord.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=1"}, "hip": {"seen=1"}}
FORBIDDEN = {"cuda": {"seen=0", "seen=torn"}, "hip": {"seen=0", "seen=torn"}}


def litmus(gpu: Gpu) -> None:
    """rec(E, n1); K(n1){slow; P=1}; rec(E, n1); sync(E); obs P."""
    n1, e, p = gpu.stream("n1"), gpu.event("E"), gpu.pinned("P")
    e.record(n1)
    gpu.launch("K", n1, writes={p: 1})
    e.record(n1)
    e.synchronize()
    gpu.memcpy_async(gpu.device("seen"), p, gpu.stream("look"), source="call")
