"""R3.4: an event that was never recorded is complete: waits for it return and order nothing.

Source: the header text of cudaEventRecord; ROCm/clr, hipamd/src/hip_event.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=0", "P=1"}, "hip": {"P=0", "P=1"}}
FORBIDDEN = {"cuda": {"hang"}, "hip": {"hang"}}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; D=1}; wait(n2, never); sync(never); K(n2){P=D}; sync(n2); obs P."""
    n1, n2, never = gpu.stream("n1"), gpu.stream("n2"), gpu.event("never")
    d, p = gpu.device("D"), gpu.pinned("P")
    gpu.launch("K1", n1, writes={d: 1})
    n2.wait(never)
    never.synchronize()
    gpu.launch("K2", n2, writes={p: d})
    n2.synchronize()
