"""R5.5: a stream that is being captured cannot wait for an event recorded outside.

Source: CUDA runtime API, graph management; rocm-systems, hip_stream.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"refused"}, "hip": {"refused"}}
FORBIDDEN = {"cuda": {"P=0", "P=1"}, "hip": {"P=0", "P=1"}}


def litmus(gpu: Gpu) -> None:
    """rec(E, n2); beginCapture(n1); wait(n1, E)."""
    n1, n2, e, p = gpu.stream("n1"), gpu.stream("n2"), gpu.event("E"), gpu.pinned("P")
    e.record(n2)
    with gpu.capture(n1):
        n1.wait(e)
        gpu.launch("K", n1, writes={p: 1})
