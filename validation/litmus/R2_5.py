"""R2.5: an asynchronous copy reads pinned memory when it runs: the host must leave it alone until
then.

Source: CUDA driver API, "API synchronization behavior"; HIP documentation, asynchronous.rst.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("D",)
ALLOWED = {"cuda": {"D=1", "D=2"}, "hip": {"D=1", "D=2"}}
FORBIDDEN = {"cuda": {"D=0"}, "hip": {"D=0"}}


def litmus(gpu: Gpu) -> None:
    """P=1; H2D_async(n1, D<-P); P=2; sync(n1); obs D."""
    n1 = gpu.stream("n1")
    p, d = gpu.pinned("P"), gpu.device("D")
    gpu.write(p, 1)
    gpu.memcpy_async(d, p, n1)
    gpu.write(p, 2)
    n1.synchronize()
