"""R1.3: the NULL stream waits for every blocking stream, and every blocking stream for it.

Source: CUDA driver API, "Stream synchronization behavior".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("F",)
ALLOWED = {"cuda": {"F=1"}, "hip": {"F=1"}}
FORBIDDEN = {"cuda": {"F=0", "F=torn"}, "hip": {"F=0", "F=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(b1){slow; D=1}; K(N){E=D}; K(b2){F=E}; devsync; obs F."""
    b1, b2 = gpu.stream("b1", blocking=True), gpu.stream("b2", blocking=True)
    d, e, f = gpu.device("D"), gpu.device("E"), gpu.pinned("F")
    gpu.launch("K1", b1, writes={d: 1})
    gpu.launch("K2", gpu.null_stream, writes={e: d})
    gpu.launch("K3", b2, writes={f: e})
    gpu.synchronize()
