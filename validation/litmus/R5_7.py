"""R5.7: a graph that allocates memory and does not free it cannot be launched again before that is
freed.

Source: the header text of cudaGraphLaunch; hipGraphLaunch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"refused"}, "hip": {"refused"}}
FORBIDDEN = {"cuda": {"P=0", "P=1"}, "hip": {"P=0", "P=1"}}


def litmus(gpu: Gpu) -> None:
    """Graph {Q=mallocAsync; K{Q=1; P=1}}; launch; launch; obs P."""
    n1, p = gpu.stream("n1"), gpu.pinned("P")
    with gpu.capture(n1) as graph:
        q = gpu.malloc_async("Q", n1)
        gpu.launch("K", n1, writes={q: 1, p: 1})
    graph.launch(n1)
    graph.launch(n1)
