"""R2.10: a blocking fill of device memory is an operation of the NULL stream: no order with non-
blocking ones.

Source: CUDA driver API, "API synchronization behavior"; ROCm/clr, hipamd/src/hip_memory.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1", "P=2"}, "hip": {"P=1", "P=2"}}
FORBIDDEN = {"cuda": {"P=0"}, "hip": {"P=0"}}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; D=1}; memset(D, 2); K(n1){P=D}; sync(n1); obs P."""
    n1 = gpu.stream("n1")
    d, p = gpu.device("D"), gpu.pinned("P")
    gpu.launch("K1", n1, writes={d: 1})
    gpu.memset(d, 2)
    gpu.launch("K2", n1, writes={p: d})
    n1.synchronize()
