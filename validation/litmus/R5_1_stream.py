"""R5.1: a graph's launch comes after the earlier work of its stream and before the later.

Source: the header text of cudaGraphLaunch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=1"}}
FORBIDDEN = {"cuda": {"P=0", "P=torn"}, "hip": {"P=0", "P=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; D=1}; launch({E=D}, n1); K(n1){P=E}; sync(n1); obs P."""
    n1 = gpu.stream("n1")
    d, e, p = gpu.device("D"), gpu.device("E"), gpu.pinned("P")
    with gpu.capture(n1) as graph:
        gpu.launch("A", n1, writes={e: d})
    gpu.launch("K1", n1, writes={d: 1})
    graph.launch(n1)
    gpu.launch("K2", n1, writes={p: e})
    n1.synchronize()
