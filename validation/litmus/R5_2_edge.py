"""R5.2: an edge of a graph orders its two nodes.

Source: the header text of cudaGraphLaunch; ROCm/clr, hipamd/src/hip_graph_internal.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=1"}}
FORBIDDEN = {"cuda": {"P=0", "P=torn"}, "hip": {"P=0", "P=torn"}}


def litmus(gpu: Gpu) -> None:
    """Graph {A: D=1} -> {B: P=D}; launch; sync; obs P."""
    n1, n2, edge, join = gpu.stream("n1"), gpu.stream("n2"), gpu.event("edge"), gpu.event("join")
    d, p = gpu.device("D"), gpu.pinned("P")
    with gpu.capture(n1) as graph:
        gpu.launch("A", n1, writes={d: 1})
        edge.record(n1)
        n2.wait(edge)
        gpu.launch("B", n2, writes={p: d})
        join.record(n2)
        n1.wait(join)
    graph.launch(n1)
    n1.synchronize()
