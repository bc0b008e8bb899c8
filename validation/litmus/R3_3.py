"""R3.3: a host wait takes the latest record at its own call: a producer that has run ahead can
deadlock an older waiter.

Source: the header text of cudaEventRecord; hip_runtime_api.h, hipEventRecord; vLLM issue 53960.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("P",)
ALLOWED = {"cuda": {"P=1", "hang"}, "hip": {"P=1", "hang"}}
FORBIDDEN = {"cuda": {"P=0", "P=torn"}, "hip": {"P=0", "P=torn"}}


def litmus(gpu: Gpu) -> None:
    """T1: rec(E, s); K(s){spin until F; P=1}; rec(E, s).  T2: sync(E); F=1."""
    s, e, f, p = gpu.stream("s"), gpu.event("E"), gpu.cell("F"), gpu.pinned("P")
    e.record(s)

    def second() -> None:
        e.synchronize()
        f.set(1)

    waiter = gpu.thread(second)
    gpu.wait_value(s, f, 1)
    gpu.launch("K", s, writes={p: 1})
    e.record(s)
    waiter.join()
    s.synchronize()
