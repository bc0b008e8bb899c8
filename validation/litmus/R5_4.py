"""R5.4: HIP reads a copy node's pageable source within the launch call, before the nodes ahead of
it; CUDA does not say when.

Source: ROCm/clr, hipamd/src/hip_graph_internal.hpp; the header text of cudaGraphAddMemcpyNode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("D",)
ALLOWED = {"cuda": {"D=0", "D=1"}, "hip": {"D=0"}}
FORBIDDEN = {"hip": {"D=1", "D=torn"}}


def litmus(gpu: Gpu) -> None:
    """graph: hostnode{G=1} -> H2D(D<-G); launch; sync; obs D."""
    n1, g, d = gpu.stream("n1"), gpu.pageable("G"), gpu.device("D")
    with gpu.capture(n1) as graph:
        gpu.host_func("f", n1, writes={g: 1})
        gpu.memcpy_async(d, g, n1)
    graph.launch(n1)
    n1.synchronize()
