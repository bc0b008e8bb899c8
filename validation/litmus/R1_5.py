"""R1.5: a thread's own default stream is a blocking one: it is ordered with the legacy NULL
stream.

Source: CUDA driver API, "Stream synchronization behavior"; rocm-systems, hip_stream.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=1"}}
FORBIDDEN = {"cuda": {"P=0", "P=torn"}, "hip": {"P=0", "P=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(ptds){slow; D=1}; K(N){P=D}; sync(N); obs P."""
    d, p = gpu.device("D"), gpu.pinned("P")
    gpu.launch("K1", gpu.per_thread_stream, writes={d: 1})
    gpu.launch("K2", gpu.null_stream, writes={p: d})
    gpu.null_stream.synchronize()
