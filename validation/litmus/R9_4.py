"""R9.4: a kernel that reads host memory in place does so for as long as it runs.

Source: ROCm documentation, "Coherence control"; CUDA Programming Guide, mapped memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("D",)
ALLOWED = {"cuda": {"D=1", "D=2"}, "hip": {"D=1", "D=2"}}
FORBIDDEN = {"cuda": {"D=0"}, "hip": {"D=0"}}


def litmus(gpu: Gpu) -> None:
    """P=1; K(n1){slow; D=P}; P=2; sync(n1); obs D."""
    n1, p, d = gpu.stream("n1"), gpu.pinned("P"), gpu.device("D")
    gpu.write(p, 1)
    gpu.launch("K", n1, writes={d: p})
    gpu.write(p, 2)
    n1.synchronize()
