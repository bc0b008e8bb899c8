"""R5.3: a node keeps the arguments of its capture.

Source: the header text of cudaGraphLaunch; ROCm/clr, hipamd/src/hip_graph_internal.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=1"}}
FORBIDDEN = {"cuda": {"P=0", "P=2", "P=torn"}, "hip": {"P=0", "P=2", "P=torn"}}


def litmus(gpu: Gpu) -> None:
    """x=1; capture{K(x){P=x}}; x=2; launch; sync; obs P."""
    n1, p = gpu.stream("n1"), gpu.pinned("P")
    x = 1
    with gpu.capture(n1) as graph:
        gpu.launch("K", n1, writes={p: x})
    x = 2
    graph.launch(n1)
    n1.synchronize()
