"""R2.10: a blocking fill of device memory from its start does not make the host wait.

Source: CUDA driver API, "API synchronization behavior"; ROCm/clr, hipamd/src/hip_memory.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=0", "P=7"}, "hip": {"P=0", "P=7"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """memset(D, 7); K(n1){P=D}; sync(n1); obs P."""
    n1 = gpu.stream("n1")
    d, p = gpu.device("D"), gpu.pinned("P")
    gpu.memset(d, 7)
    gpu.launch("K", n1, writes={p: d})
    n1.synchronize()
