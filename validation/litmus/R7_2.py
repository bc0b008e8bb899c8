"""R7.2: `.to("cpu", non_blocking=True)` has a pinned target in recent torch, so the host can read
it too early.

Source: vLLM, gpu_sync_debug.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=0", "seen=1"}, "hip": {"seen=0", "seen=1"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """K(cur){slow; X=1}; y=x.to(cpu, nb); obs y."""
    cur, x, y = gpu.stream("cur"), gpu.device("X"), gpu.pinned("Y")
    gpu.launch("K", cur, writes={x: 1})
    gpu.memcpy_async(y, x, cur)
    gpu.memcpy_async(gpu.device("seen"), y, gpu.stream("look"), source="call")
