"""FP8 prefill, the readers replayed from a captured graph: it holds addresses, never contents.

The rewrite and its mend are those of the eager kernels; a replay reads the plan anew each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol
from .fp8_plan import FORWARD, PARTS, REDUCE, plan_in_place, upload
from .staged_slots import StagedSlots

if TYPE_CHECKING:
    from ..gpu import Gpu
    from ..memory import Buffer
    from ..objects import Graph, Stream


def capture_layers(gpu: Gpu, stream: Stream, plan: Buffer, layers: int) -> Graph:
    """Capture the forward kernel and the reduce kernel of every layer."""
    with gpu.capture(stream, "layers") as graph:
        for _ in range(layers):
            gpu.launch("prefill", stream, reads=[plan[part] for part in FORWARD])
            gpu.launch("reduce", stream, reads=[plan[part] for part in REDUCE])
    return graph


@protocol("fp8-prefill/direct-graph", expects={"cuda": "REFUTED", "hip": "REFUTED"}, layers=1)
def direct_graph(gpu: Gpu, layers: int) -> None:
    """The plan is rewritten in place while a replay of the captured kernels may read it.

    `direct` (vLLM #58886) with all layers in one graph. A replay is ordered by its stream like any
    kernel, so the planner's copies on the NULL stream miss it in the same way. vLLM runs this
    prefill eagerly; capturing it would also freeze the size of the partial results.
    """
    compute = gpu.stream("compute")
    plan = gpu.device("plan", parts=PARTS)
    vectors = gpu.pageable("vectors", parts=PARTS)
    graph = capture_layers(gpu, compute, plan, layers)
    for n in gpu.steps():
        plan_in_place(gpu, plan, vectors, n)
        graph.launch(compute, reads=plan.expect(PARTS, n))


@protocol(
    "fp8-prefill/staged-graph", expects={"cuda": "PROVED", "hip": "PROVED"}, slots=2, layers=1
)
def staged_graph(gpu: Gpu, slots: int, layers: int) -> None:
    """The staged slots before each replay: the copies stay outside the graph, on its stream.

    The fix of vLLM PR #58887 needs no change for captured readers. Were the copies captured too,
    each replay would copy from the slot that happened to be current at the capture.
    """
    compute = gpu.stream("compute")
    plan = gpu.device("plan", parts=PARTS)
    pinned = [gpu.pinned(f"slot{i}", parts=PARTS) for i in range(slots)]
    copied = [gpu.event(f"copied{i}") for i in range(slots)]
    staging = StagedSlots(pinned, copied, compute, gpu.sync_allowed)
    graph = capture_layers(gpu, compute, plan, layers)

    def fill(slot: Buffer, step: int) -> None:
        gpu.write(slot, step)

    def copy(slot: Buffer) -> None:
        upload(gpu, plan, slot, compute)

    for n in gpu.steps():
        staging.stage(n, fill, copy)
        graph.launch(compute, reads=plan.expect(PARTS, n))
