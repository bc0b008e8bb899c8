"""R3.5: an event outlives its stream: HIP drops the wait then, but has awaited the work at the
destroy.

Source: the header text of cudaEventRecord; ROCm/clr, hipamd/src/hip_stream.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=1"}}
FORBIDDEN = {"cuda": {"P=0", "P=torn"}, "hip": {"P=0", "P=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; D=1}; rec(E, n1); destroy(n1); wait(n2, E); K(n2){P=D}; sync(n2); obs P."""
    n1, n2, e = gpu.stream("n1"), gpu.stream("n2"), gpu.event("E")
    d, p = gpu.device("D"), gpu.pinned("P")
    gpu.launch("K1", n1, writes={d: 1})
    e.record(n1)
    n1.destroy()
    n2.wait(e)
    gpu.launch("K2", n2, writes={p: d})
    n2.synchronize()
