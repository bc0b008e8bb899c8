"""R5.5: work for the legacy NULL stream invalidates a capture that is open.

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
    """beginCapture(n1); K(N){P=1}."""
    n1, p = gpu.stream("n1"), gpu.pinned("P")
    with gpu.capture(n1):
        gpu.launch("K", gpu.null_stream, writes={p: 1})
