"""FP8 prefill, the planner itself in order with the readers: its work goes to their stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol
from .fp8_plan import PARTS, run_layers, upload

if TYPE_CHECKING:
    from ..gpu import Gpu


@protocol(
    "fp8-prefill/planner-on-stream",
    expects={"cuda": "PROVED", "hip": "PROVED", "cuda-hmm": "PROVED"},
    layers=1,
)
def planner_on_stream(gpu: Gpu, layers: int) -> None:
    """The planner takes the readers' stream and copies on it from its own temporary vectors.

    The transfers made stream-ordered upstream, as AITER #6040 does. Each step has vectors of its
    own, kept alive until their copies ran: safe even where a copy may read them after the call.
    """
    compute = gpu.stream("compute")
    plan = gpu.device("plan", parts=PARTS)
    for n in gpu.steps():
        vectors = gpu.pageable("vectors", parts=PARTS)
        gpu.write(vectors, n)
        upload(gpu, plan, vectors, compute)
        run_layers(gpu, compute, plan, n, layers)


@protocol("fp8-prefill/planner-on-device", expects={"cuda": "PROVED", "hip": "PROVED"}, layers=1)
def planner_on_device(gpu: Gpu, layers: int) -> None:
    """A kernel plans on the readers' stream: no host memory, no copy, no wait.

    AITER's decode planner (`get_mla_metadata_v1`) is such a kernel. The stream's own order is all
    that is needed: with this, vLLM #58886 could not have been.
    """
    compute = gpu.stream("compute")
    plan = gpu.device("plan", parts=PARTS)
    for n in gpu.steps():
        gpu.launch("plan", compute, writes={plan: n})
        run_layers(gpu, compute, plan, n, layers)
