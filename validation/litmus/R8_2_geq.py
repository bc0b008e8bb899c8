"""R8.2: a wait for a value is satisfied by a greater one.

Source: CUDA driver API, "Stream Memory Operations".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1"}, "hip": {"P=1"}}
FORBIDDEN = {"cuda": {"P=0", "P=torn", "hang"}, "hip": {"P=0", "P=torn", "hang"}}


def litmus(gpu: Gpu) -> None:
    """waitValue(n1, F>=1); K(n1){P=1}; F=3; sync(n1); obs P."""
    n1, f, p = gpu.stream("n1"), gpu.cell("F"), gpu.pinned("P")
    gpu.wait_value(n1, f, 1)
    gpu.launch("K", n1, writes={p: 1})
    f.set(3)
    n1.synchronize()
