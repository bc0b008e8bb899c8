"""R7.6: that event does not cover a device table that the next step changes on another stream.

Source: vLLM, prepare_inputs_event; pull requests 47644, 54269.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("Q",)
ALLOWED = {"cuda": {"Q=1", "Q=2"}, "hip": {"Q=1", "Q=2"}}
FORBIDDEN = {"cuda": {"Q=0"}, "hip": {"Q=0"}}


def litmus(gpu: Gpu) -> None:
    """k: D=1; rec(E); forward(Q=D).  k+1: sync(E); K(t){D=2}; devsync; obs Q."""
    s, t, e = gpu.stream("s"), gpu.stream("t"), gpu.event("E")
    d, q = gpu.device("D"), gpu.device("Q")
    gpu.launch("fill", s, writes={d: 1})
    e.record(s)
    gpu.launch("forward", s, writes={q: d})
    e.synchronize()
    gpu.launch("update", t, writes={d: 2})
    gpu.synchronize()
