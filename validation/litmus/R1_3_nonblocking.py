"""R1.3: non-blocking streams have no part in the NULL stream's order.

Source: CUDA driver API, "Stream synchronization behavior".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("E",)
ALLOWED = {"cuda": {"E=0", "E=1"}, "hip": {"E=0", "E=1"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; D=1}; K(N){E=D}; devsync; obs E."""
    n1 = gpu.stream("n1")
    d, e = gpu.device("D"), gpu.pinned("E")
    gpu.launch("K1", n1, writes={d: 1})
    gpu.launch("K2", gpu.null_stream, writes={e: d})
    gpu.synchronize()
