"""R9.2: before a wait the host may find a download's target old, new or torn.

Source: CUDA driver API, "API synchronization behavior"; HIP programming manual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=0", "seen=1", "seen=torn"}, "hip": {"seen=0", "seen=1", "seen=torn"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """D2H_async(n1, P<-D=1); obs P."""
    n1, d, p = gpu.stream("n1"), gpu.device("D"), gpu.pinned("P")
    gpu.launch("K", n1, writes={d: 1})
    gpu.memcpy_async(p, d, n1)
    gpu.memcpy_async(gpu.device("seen"), p, gpu.stream("look"), source="call")
