"""R1.2: distinct streams are unordered unless an event, the NULL stream, the host or a graph
orders them.

Source: CUDA C++ Programming Guide, "Concurrent execution between host and device"; HIP
documentation, asynchronous.rst.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=0", "P=1"}, "hip": {"P=0", "P=1"}}
FORBIDDEN: dict[str, set[str]] = {}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; D=1}; K(n2){P=D}; devsync; obs P."""
    n1, n2 = gpu.stream("n1"), gpu.stream("n2")
    d, p = gpu.device("D"), gpu.pinned("P")
    gpu.launch("K1", n1, writes={d: 1})
    gpu.launch("K2", n2, writes={p: d})
    gpu.synchronize()
