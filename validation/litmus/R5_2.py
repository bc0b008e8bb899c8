"""R5.2: only its edges order the nodes of a graph.

Source: the header text of cudaGraphLaunch; ROCm/clr, hipamd/src/hip_graph_internal.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=0", "P=1"}, "hip": {"P=0", "P=1"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """Graph {A: D=1} {B: P=D} without an edge; launch; sync; obs P."""
    n1, n2, fork, join = gpu.stream("n1"), gpu.stream("n2"), gpu.event("fork"), gpu.event("join")
    d, p = gpu.device("D"), gpu.pinned("P")
    with gpu.capture(n1) as graph:
        fork.record(n1)
        n2.wait(fork)
        gpu.launch("A", n1, writes={d: 1})
        gpu.launch("B", n2, writes={p: d})
        join.record(n2)
        n1.wait(join)
    graph.launch(n1)
    n1.synchronize()
