"""R3.9: an external event is recorded by a node of a graph, at each replay; ROCm's torch rejects
it.

Source: pytorch, c10/cuda/CUDAEvent.h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=1"}, "hip": {"refused"}}
FORBIDDEN = {"cuda": {"seen=0", "seen=torn"}, "hip": {"seen=0", "seen=1", "seen=torn"}}


def litmus(gpu: Gpu) -> None:
    """capture{K{P=1}; rec(E, external)}; launch; sync(E); obs P."""
    n1, e, p = gpu.stream("n1"), gpu.event("E"), gpu.pinned("P")
    with gpu.capture(n1) as graph:
        gpu.launch("K", n1, writes={p: 1})
        e.record(n1, external=True)
    graph.launch(n1)
    e.synchronize()
    gpu.memcpy_async(gpu.device("seen"), p, gpu.stream("look"), source="call")
