"""R1.4: CUDA names a wait on the NULL stream as one of the calls that gather the blocking streams;
HIP's header denies it.

Source: CUDA driver API, "Stream synchronization behavior"; hip_runtime_api.h,
hipStreamWaitEvent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=0", "P=1"}}
FORBIDDEN = {"cuda": {"P=0", "P=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(b1){slow; D=1}; wait(N, E_done); K(b2){P=D}; devsync; obs P."""
    b1, b2 = gpu.stream("b1", blocking=True), gpu.stream("b2", blocking=True)
    n1, e = gpu.stream("n1"), gpu.event("E")
    d, p = gpu.device("D"), gpu.pinned("P")
    e.record(n1)
    gpu.launch("K1", b1, writes={d: 1})
    gpu.null_stream.wait(e)
    gpu.launch("K2", b2, writes={p: d})
    gpu.synchronize()
