"""R7.6: an event recorded after a step's uploads and awaited before the next ones guards reused
pinned buffers.

Source: vLLM, prepare_inputs_event; pull requests 25279, 29288, 36013.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("Q",)
ALLOWED = {"cuda": {"Q=1"}, "hip": {"Q=1"}}
FORBIDDEN = {"cuda": {"Q=0", "Q=2", "Q=torn"}, "hip": {"Q=0", "Q=2", "Q=torn"}}


def litmus(gpu: Gpu) -> None:
    """k: P=1; D.copy_(P, nb); rec(E); forward(Q=D).  k+1: sync(E); P=2; D.copy_(P, nb); rec(E);
    sync(s); obs Q.
    """
    s, e = gpu.stream("s"), gpu.event("E")
    p, d, q = gpu.pinned("P"), gpu.device("D"), gpu.device("Q")
    for step in (1, 2):
        e.synchronize()
        gpu.write(p, step)
        gpu.memcpy_async(d, p, s)
        e.record(s)
        if step == 1:
            gpu.launch("forward", s, writes={q: d})
    s.synchronize()
