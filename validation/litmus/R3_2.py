"""R3.2: a wait takes the record that the event holds at the call; later records do not move it.

Source: the header text of cudaEventRecord; rocm-systems, hip_event.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=0", "P=2"}, "hip": {"P=0", "P=2"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """K1(n1); rec(E, n1); wait(n2, E); K3(n1){slow; D=2}; rec(E, n1); K(n2){P=D}; sync(n2); obs
    P.
    """
    n1, n2, e = gpu.stream("n1"), gpu.stream("n2"), gpu.event("E")
    d, p = gpu.device("D"), gpu.pinned("P")
    gpu.launch("K1", n1)
    e.record(n1)
    n2.wait(e)
    gpu.launch("K3", n1, writes={d: 2})
    e.record(n1)
    gpu.launch("K", n2, writes={p: d})
    n2.synchronize()
