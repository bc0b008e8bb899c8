"""R1.8: torch hands out 32 streams of one priority in turn, so the 33rd is the first again.

Source: pytorch, c10/cuda/CUDAStream.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu
    from streamorder.model.objects import Stream

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=1"}}
FORBIDDEN = {"cuda": {"P=0", "P=torn"}, "hip": {"P=0", "P=torn"}}


class Pool:
    """Torch's streams of one priority: made once, handed out in turn."""

    def __init__(self, gpu: Gpu, size: int = 32) -> None:
        self.streams = [gpu.stream(f"pool{i}") for i in range(size)]
        self.taken = 0

    def stream(self) -> Stream:
        """The next one."""
        self.taken += 1
        return self.streams[(self.taken - 1) % len(self.streams)]


def litmus(gpu: Gpu) -> None:
    """s1 = Stream(); ...; s33 = Stream(); K(s1){slow; D=1}; K(s33){P=D}; devsync; obs P."""
    pool = Pool(gpu)
    first = pool.stream()
    for _ in range(31):
        pool.stream()
    d, p = gpu.device("D"), gpu.pinned("P")
    gpu.launch("K1", first, writes={d: 1})
    gpu.launch("K2", pool.stream(), writes={p: d})
    gpu.synchronize()
