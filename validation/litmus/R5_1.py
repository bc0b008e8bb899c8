"""R5.1: CUDA runs the launches of one executable graph one after another, from any streams; HIP
orders them by stream alone.

Source: the header text of cudaGraphLaunch; hip_runtime_api.h, hipGraphLaunch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=1", "P=2"}}
FORBIDDEN = {"cuda": {"P=0", "P=2", "P=torn"}, "hip": {"P=0"}}


def litmus(gpu: Gpu) -> None:
    """G={D=1; slow; P=D; D=2}; launch(G, n1); launch(G, n2); devsync; obs P."""
    n1, n2 = gpu.stream("n1"), gpu.stream("n2")
    d, p = gpu.device("D"), gpu.pinned("P")
    with gpu.capture(n1) as graph:
        gpu.launch("A", n1, writes={d: 1})
        gpu.launch("B", n1, writes={p: d})
        gpu.launch("C", n1, writes={d: 2})
    graph.launch(n1)
    graph.launch(n2)
    gpu.synchronize()
