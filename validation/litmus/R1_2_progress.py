"""R1.2: that two streams make progress at the same time is never promised: a kernel that spins may
hold up the kernel it waits for.

Source: CUDA C++ Programming Guide, "Concurrent execution between host and device"; HIP
documentation, asynchronous.rst.
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
    """K(n1){spin until F; P=1}; K(n2){F=1}; devsync; obs P."""
    n1, n2 = gpu.stream("n1"), gpu.stream("n2")
    f, p = gpu.cell("F"), gpu.pinned("P")
    gpu.wait_value(n1, f, 1)
    gpu.launch("K1", n1, writes={p: 1})
    gpu.write_value(n2, f, 1)
    gpu.synchronize()
