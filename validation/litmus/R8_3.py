"""R8.3: HIP's wait for a value is a kernel that spins: the order is the same, and it may hold up
the stream that would end it.

Source: ROCm documentation, hipStreamWaitValue; ROCm/clr, rocclr/device/rocm/rocvirtual.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=1"}, "hip-serial": {"P=1", "hang"}}
FORBIDDEN = {"cuda": {"P=0", "P=torn"}, "hip": {"P=0", "P=torn"}}


def litmus(gpu: Gpu) -> None:
    """waitValue(n1, F>=1); K(n1){P=D}; K(n2){D=1}; writeValue(n2, F, 1); devsync; obs P."""
    n1, n2, f = gpu.stream("n1"), gpu.stream("n2"), gpu.cell("F")
    d, p = gpu.device("D"), gpu.pinned("P")
    gpu.wait_value(n1, f, 1)
    gpu.launch("K1", n1, writes={p: d})
    gpu.launch("K2", n2, writes={d: 1})
    gpu.write_value(n2, f, 1)
    gpu.synchronize()
