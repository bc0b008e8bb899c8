"""R5.7: a graph that frees what it allocates can be launched again.

Source: the header text of cudaGraphLaunch; hipGraphLaunch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=1"}}
FORBIDDEN = {
    "cuda": {"P=0", "P=torn", "P=uninitialised", "P=freed-memory"},
    "hip": {"P=0", "P=torn", "P=uninitialised", "P=freed-memory"},
}


def litmus(gpu: Gpu) -> None:
    """Graph {Q=mallocAsync; K{Q=1}; K{P=Q}; freeAsync(Q)}; launch; launch; sync; obs P."""
    n1, p = gpu.stream("n1"), gpu.pinned("P")
    with gpu.capture(n1) as graph:
        q = gpu.malloc_async("Q", n1)
        gpu.launch("K1", n1, writes={q: 1})
        gpu.launch("K2", n1, writes={p: q})
        gpu.free_async(q, n1)
    graph.launch(n1)
    graph.launch(n1)
    n1.synchronize()
