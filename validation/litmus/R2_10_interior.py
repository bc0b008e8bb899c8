"""R2.10: HIP waits for a blocking fill of device memory away from the start of its allocation;
CUDA does not.

Source: CUDA driver API, "API synchronization behavior"; ROCm/clr, hipamd/src/hip_memory.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=0", "P=7"}, "hip": {"P=7"}}
FORBIDDEN = {"hip": {"P=0", "P=torn"}}


def litmus(gpu: Gpu) -> None:
    """memset(D+offset, 7); K(n1){P=D+offset}; sync(n1); obs P."""
    n1 = gpu.stream("n1")
    d, p = gpu.device("D", parts=("start", "interior")), gpu.pinned("P")
    gpu.memset(d["interior"], 7)
    gpu.launch("K", n1, writes={p: d["interior"]})
    n1.synchronize()
