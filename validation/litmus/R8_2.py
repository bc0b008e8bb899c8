"""R8.2: a value written in stream order orders memory for the stream that waits for it.

Source: CUDA driver API, "Stream Memory Operations".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=1"}}
FORBIDDEN = {"cuda": {"P=0", "P=torn"}, "hip": {"P=0", "P=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; D=1}; writeValue(n1, F, 1); waitValue(n2, F>=1); K(n2){P=D}; devsync; obs P."""
    n1, n2, f = gpu.stream("n1"), gpu.stream("n2"), gpu.cell("F")
    d, p = gpu.device("D"), gpu.pinned("P")
    gpu.launch("K1", n1, writes={d: 1})
    gpu.write_value(n1, f, 1)
    gpu.wait_value(n2, f, 1)
    gpu.launch("K2", n2, writes={p: d})
    gpu.synchronize()
