"""R9.5: an event carries visibility from one device to another.

Source: the header text of cudaEventRecord; rocm-systems, rocvirtual.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=1"}}
FORBIDDEN = {"cuda": {"P=0", "P=torn"}, "hip": {"P=0", "P=torn"}}


def litmus(gpu: Gpu) -> None:
    """dev0: K(s0){slow; D=1}; rec(E, s0); wait(s1 on dev1, E); K(s1){P=peer D}; sync(s1); obs P."""
    s0, s1, e = gpu.stream("s0"), gpu.stream("s1", device=1), gpu.event("E")
    d, p = gpu.device("D"), gpu.pinned("P")
    gpu.launch("K0", s0, writes={d: 1})
    e.record(s0)
    s1.wait(e)
    gpu.launch("K1", s1, writes={p: d})
    s1.synchronize()
