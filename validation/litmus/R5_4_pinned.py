"""R5.4: a copy node reads pinned memory when it runs, after the nodes ahead of it.

Source: the header text of cudaGraphAddMemcpyNode; ROCm/clr, hipamd/src/hip_graph_internal.hpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("D",)
ALLOWED = {"cuda": {"D=1"}, "hip": {"D=1"}}
FORBIDDEN = {"cuda": {"D=0", "D=torn"}, "hip": {"D=0", "D=torn"}}


def litmus(gpu: Gpu) -> None:
    """graph: hostnode{P=1} -> H2D(D<-P pinned); launch; sync; obs D."""
    n1, p, d = gpu.stream("n1"), gpu.pinned("P"), gpu.device("D")
    with gpu.capture(n1) as graph:
        gpu.host_func("f", n1, writes={p: 1})
        gpu.memcpy_async(d, p, n1)
    graph.launch(n1)
    n1.synchronize()
