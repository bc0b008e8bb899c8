"""The plan of AITER's FP8 prefill (`get_ps_metadata_v1`) and the kernels that read it.

The host plans once a step and every layer reads that plan. The model keeps what matters for order:
which array is read by which kernel, and the step whose plan the kernel must find in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..gpu import Gpu
    from ..memory import Buffer
    from ..objects import Stream

FORWARD = ("work_indptr", "work_info")
"""What the forward kernel reads: which work items each group has, and the items."""

REDUCE = ("reduce_indptr", "reduce_final_map", "reduce_partial_map")
"""What the reduce kernel reads: which partial results make up which rows of the output."""

PARTS = FORWARD + REDUCE
"""The five arrays, in the order in which the planner copies them."""


def plan_in_place(gpu: Gpu, plan: Buffer, vectors: Buffer, step: int) -> None:
    """Plan into the planner's own vectors, then five blocking copies without a stream."""
    gpu.write(vectors, step)
    for part in PARTS:
        gpu.memcpy(plan[part], vectors[part])


def upload(gpu: Gpu, plan: Buffer, slot: Buffer, stream: Stream) -> None:
    """Five copies on a stream: one to an array, so a plan can be torn between them."""
    for part in PARTS:
        gpu.memcpy_async(plan[part], slot[part], stream)


def run_layers(gpu: Gpu, stream: Stream, plan: Buffer, step: int, layers: int) -> None:
    """The forward kernel and the reduce kernel of every layer, all with this step's plan."""
    forward, reduce = plan.expect(FORWARD, step), plan.expect(REDUCE, step)
    for _ in range(layers):
        gpu.launch("prefill", stream, reads=forward)
        gpu.launch("reduce", stream, reads=reduce)
