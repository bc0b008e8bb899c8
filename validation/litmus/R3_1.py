"""R3.1: a record takes a snapshot of the stream: work issued later is not in it.

Source: the header text of cudaEventRecord; ROCm/clr, hipamd/src/hip_event.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=0", "seen=1"}, "hip": {"seen=0", "seen=1"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """rec(E, n1); K(n1){slow; P=1}; sync(E); obs P."""
    n1, e, p = gpu.stream("n1"), gpu.event("E"), gpu.pinned("P")
    e.record(n1)
    gpu.launch("K", n1, writes={p: 1})
    e.synchronize()
    gpu.memcpy_async(gpu.device("seen"), p, gpu.stream("look"), source="call")
