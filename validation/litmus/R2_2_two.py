"""R2.2: a blocking upload from pageable memory synchronises its stream first, so of two in a row
only the second may be under way.

Source: CUDA driver API, "API synchronization behavior".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P", "Q")
ALLOWED = {"cuda": {"P=1,Q=0", "P=1,Q=1"}, "hip": {"P=1,Q=1"}}
FORBIDDEN = {
    "cuda": {"P=0,Q=0", "P=0,Q=1", "P=torn,Q=0", "P=torn,Q=1"},
    "hip": {"P=0,Q=0", "P=0,Q=1", "P=1,Q=0"},
}


def litmus(gpu: Gpu) -> None:
    """memcpy(D<-1); memcpy(E<-1); K(n1){P=D; Q=E}; sync(n1); obs P Q."""
    g, n1 = gpu.pageable("G"), gpu.stream("n1")
    d, e, p, q = gpu.device("D"), gpu.device("E"), gpu.pinned("P"), gpu.pinned("Q")
    gpu.write(g, 1)
    gpu.memcpy(d, g)
    gpu.memcpy(e, g)
    gpu.launch("K", n1, writes={p: d, q: e})
    n1.synchronize()
