"""R7.1: torch's blocking `copy_` from pinned memory has written the device and left its source on
return.

Source: pytorch, aten/src/ATen/native/cuda/Copy.cu.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=1"}}
FORBIDDEN = {"cuda": {"P=0", "P=2", "P=torn"}, "hip": {"P=0", "P=2", "P=torn"}}


def litmus(gpu: Gpu) -> None:
    """S=1; D.copy_(S); S=2; K(n2){P=D}; sync(n2); obs P."""
    cur, n2 = gpu.stream("cur"), gpu.stream("n2")
    source, d, p = gpu.pinned("S"), gpu.device("D"), gpu.pinned("P")
    gpu.write(source, 1)
    gpu.memcpy_async(d, source, cur)
    cur.synchronize()
    gpu.write(source, 2)
    gpu.launch("K", n2, writes={p: d})
    n2.synchronize()
