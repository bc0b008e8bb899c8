"""R9.6: a stream query that answers true means that the stream's work is done and visible.

Source: rocm-systems, hip_stream.cpp; CUDA runtime API, cudaStreamQuery.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("seen",)
ALLOWED = {"cuda": {"seen=1"}, "hip": {"seen=1"}}
FORBIDDEN = {"cuda": {"seen=0", "seen=torn"}, "hip": {"seen=0", "seen=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(n1){slow; P=1}; while(!query(n1)); obs P."""
    n1, p = gpu.stream("n1"), gpu.pinned("P")
    gpu.launch("K", n1, writes={p: 1})
    while not n1.query():
        pass
    gpu.memcpy_async(gpu.device("seen"), p, gpu.stream("look"), source="call")
