"""R6.2: hipFree of plain memory waits for its users on every stream; under CUDA they must be
awaited.

Source: ROCm/clr, hipamd/src/hip_memory.cpp; CUDA driver API, "API synchronization behavior".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1", "P=freed-memory"}, "hip": {"P=1"}}
FORBIDDEN = {"hip": {"P=0", "P=torn", "P=freed-memory"}}


def litmus(gpu: Gpu) -> None:
    """K(n1){Q=1; slow; P=Q}; free(Q); devsync; obs P."""
    n1, p, q = gpu.stream("n1"), gpu.pinned("P"), gpu.malloc("Q")
    gpu.launch("K1", n1, writes={q: 1})
    gpu.launch("K2", n1, writes={p: q})
    gpu.free(q)
    gpu.synchronize()
