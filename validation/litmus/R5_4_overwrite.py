"""R5.4: the host must leave a copy node's pinned source alone until the replay is done.

Source: the header text of cudaGraphAddMemcpyNode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("D",)
ALLOWED = {"cuda": {"D=5", "D=6"}, "hip": {"D=5", "D=6"}}
FORBIDDEN = {"cuda": {"D=0"}, "hip": {"D=0"}}


def litmus(gpu: Gpu) -> None:
    """P=5; launch({H2D(D<-P)}); P=6; sync; obs D."""
    n1, p, d = gpu.stream("n1"), gpu.pinned("P"), gpu.device("D")
    with gpu.capture(n1) as graph:
        gpu.memcpy_async(d, p, n1)
    gpu.write(p, 5)
    graph.launch(n1)
    gpu.write(p, 6)
    n1.synchronize()
