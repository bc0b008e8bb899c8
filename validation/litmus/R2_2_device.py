"""R2.2: a copy from device to device does not make the host wait, although it takes no stream.

Source: CUDA driver API, "API synchronization behavior"; ROCm/clr, hipamd/src/hip_memory.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=0", "P=1"}, "hip": {"P=0", "P=1"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """K(N){slow; D=1}; memcpy(E<-D); K(n1){P=E}; sync(n1); obs P."""
    n1 = gpu.stream("n1")
    d, e, p = gpu.device("D"), gpu.device("E"), gpu.pinned("P")
    gpu.launch("K1", gpu.null_stream, writes={d: 1})
    gpu.memcpy(e, d)
    gpu.launch("K2", n1, writes={p: e})
    n1.synchronize()
