"""R8.1: host functions of unordered streams may be serialised: one that waits for another can
hang.

Source: the header text of cudaLaunchHostFunc; ROCm/clr, rocclr/device/rocm/rocvirtual.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {
    "cuda": {"P=1"},
    "hip": {"P=1"},
    "cuda-serial": {"P=1", "hang"},
    "hip-serial": {"P=1", "hang"},
}
FORBIDDEN = {"cuda": {"P=0", "P=torn"}, "hip": {"P=0", "P=torn"}}


def litmus(gpu: Gpu) -> None:
    """hostfunc(n1, {spin until F; P=1}); hostfunc(n2, {F=1}); devsync; obs P."""
    n1, n2 = gpu.stream("n1"), gpu.stream("n2")
    f, p = gpu.cell("F"), gpu.pinned("P")
    gpu.wait_value(n1, f, 1)
    gpu.host_func("f", n1, writes={p: 1})
    gpu.host_func("g", n2)
    gpu.write_value(n2, f, 1)
    gpu.synchronize()
