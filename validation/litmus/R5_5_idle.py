"""R5.5: calls that are captured do not run.

Source: CUDA runtime API, graph management; rocm-systems, hip_stream.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=0"}, "hip": {"P=0"}}
FORBIDDEN = {"cuda": {"P=1", "P=torn"}, "hip": {"P=1", "P=torn"}}


def litmus(gpu: Gpu) -> None:
    """capture{K(n1){P=1}}; devsync; obs P."""
    n1, p = gpu.stream("n1"), gpu.pinned("P")
    with gpu.capture(n1):
        gpu.launch("K", n1, writes={p: 1})
    gpu.synchronize()
