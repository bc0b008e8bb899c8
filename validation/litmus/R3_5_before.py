"""R3.5: what was issued before a wait is not affected by it.

Source: the header text of cudaEventRecord.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=0", "P=1"}, "hip": {"P=0", "P=1"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; D=1}; rec(E, n1); K(n2){P=D}; wait(n2, E); sync(n2); obs P."""
    n1, n2, e = gpu.stream("n1"), gpu.stream("n2"), gpu.event("E")
    d, p = gpu.device("D"), gpu.pinned("P")
    gpu.launch("K1", n1, writes={d: 1})
    e.record(n1)
    gpu.launch("K2", n2, writes={p: d})
    n2.wait(e)
    n2.synchronize()
