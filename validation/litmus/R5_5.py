"""R5.5: a host wait for a stream that is being captured invalidates the capture.

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
    """beginCapture(n1); K(n1){P=1}; sync(n1)."""
    n1, p = gpu.stream("n1"), gpu.pinned("P")
    with gpu.capture(n1):
        gpu.launch("K", n1, writes={p: 1})
        n1.synchronize()
