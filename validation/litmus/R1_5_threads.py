"""R1.5: the default streams of two host threads are two streams, in no order.

Source: CUDA driver API, "Stream synchronization behavior".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=0", "P=1"}, "hip": {"P=0", "P=1"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """T1: K(ptds1){slow; D=1}; T2: K(ptds2){P=D}; devsync; obs P."""
    d, p = gpu.device("D"), gpu.pinned("P")

    def second() -> None:
        gpu.launch("K2", gpu.per_thread_stream, writes={p: d})

    gpu.launch("K1", gpu.per_thread_stream, writes={d: 1})
    gpu.thread(second).join()
    gpu.synchronize()
