"""R3.1: a record on the NULL stream has the work of every blocking stream in it.

Source: the header text of cudaEventRecord; CUDA driver API, "Stream synchronization behavior".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=1"}, "hip": {"seen=1"}}
FORBIDDEN = {"cuda": {"seen=0", "seen=torn"}, "hip": {"seen=0", "seen=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(b1){slow; P=1}; rec(E, N); sync(E); obs P."""
    b1, e, p = gpu.stream("b1", blocking=True), gpu.event("E"), gpu.pinned("P")
    gpu.launch("K", b1, writes={p: 1})
    e.record(gpu.null_stream)
    e.synchronize()
    gpu.memcpy_async(gpu.device("seen"), p, gpu.stream("look"), source="call")
