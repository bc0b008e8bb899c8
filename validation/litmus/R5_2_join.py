"""R5.2: what comes after a launch in its stream waits for every branch of the graph.

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
    """Graph {A: slow} {B: slow; D=1}; launch(n1); K(n1){P=D}; sync(n1); obs P."""
    n1, n2, fork, join = gpu.stream("n1"), gpu.stream("n2"), gpu.event("fork"), gpu.event("join")
    d, p = gpu.device("D"), gpu.pinned("P")
    with gpu.capture(n1) as graph:
        fork.record(n1)
        n2.wait(fork)
        gpu.launch("A", n1)
        gpu.launch("B", n2, writes={d: 1})
        join.record(n2)
        n1.wait(join)
    graph.launch(n1)
    gpu.launch("K", n1, writes={p: d})
    n1.synchronize()
