"""R6.5: torch hands a freed block out again to its own stream at once, whoever else still reads
it.

Source: pytorch documentation, Tensor.record_stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("Y",)
ALLOWED = {"cuda": {"Y=1", "Y=9"}, "hip": {"Y=1", "Y=9"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """Tensor x on s1; s2.wait_stream(s1); y=x.clone() on s2 (slow); del x; z on s1 at x;
    z.fill_(9); devsync; obs y.
    """
    s1, s2, e, y = gpu.stream("s1"), gpu.stream("s2"), gpu.event("E"), gpu.pinned("Y")
    x = gpu.malloc("X")
    gpu.launch("fill", s1, writes={x: 1})
    e.record(s1)
    s2.wait(e)
    gpu.launch("clone", s2, writes={y: x})
    z = gpu.malloc("Z", of=x)
    gpu.launch("fill", s1, writes={z: 9})
    gpu.synchronize()
