"""R7.6: that event does not cover a forward pass that reads the pinned buffer in place.

Source: vLLM, prepare_inputs_event; pull requests 31841, 40610, 52873.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("Q",)
ALLOWED = {"cuda": {"Q=1", "Q=2"}, "hip": {"Q=1", "Q=2"}}
FORBIDDEN = {"cuda": {"Q=0"}, "hip": {"Q=0"}}


def litmus(gpu: Gpu) -> None:
    """k: P=1; rec(E); forward(Q=P).  k+1: sync(E); P=2; sync(s); obs Q."""
    s, e = gpu.stream("s"), gpu.event("E")
    p, q = gpu.pinned("P"), gpu.device("Q")
    gpu.write(p, 1)
    e.record(s)
    gpu.launch("forward", s, writes={q: p})
    e.synchronize()
    gpu.write(p, 2)
    s.synchronize()
