"""R1.7: destroying a stream returns at once under CUDA, and after the stream's work under HIP.

Source: CUDA C++ Programming Guide; ROCm/clr, commandqueue.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=0", "seen=1"}, "hip": {"seen=1"}}
FORBIDDEN = {"hip": {"seen=0", "seen=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; P=1}; destroy(n1); obs P."""
    n1, p = gpu.stream("n1"), gpu.pinned("P")
    gpu.launch("K", n1, writes={p: 1})
    n1.destroy()
    gpu.memcpy_async(gpu.device("seen"), p, gpu.stream("look"), source="call")
