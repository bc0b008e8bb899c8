"""R5.4: a copy node reads its pinned source anew at each replay, not at the capture.

Source: the header text of cudaGraphAddMemcpyNode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("D",)
ALLOWED = {"cuda": {"D=5"}, "hip": {"D=5"}}
FORBIDDEN = {"cuda": {"D=0", "D=1", "D=torn"}, "hip": {"D=0", "D=1", "D=torn"}}


def litmus(gpu: Gpu) -> None:
    """P=1; capture{H2D(D<-P)}; P=5; launch; sync; obs D."""
    n1, p, d = gpu.stream("n1"), gpu.pinned("P"), gpu.device("D")
    gpu.write(p, 1)
    with gpu.capture(n1) as graph:
        gpu.memcpy_async(d, p, n1)
    gpu.write(p, 5)
    graph.launch(n1)
    n1.synchronize()
