"""Persistent MLA decode: who plans, and on which stream, while the last step's replay may run.

The six buffers of the plan belong to the builder and are refilled each step at fixed addresses,
outside the captured graph that reads them. That holds for BF16 and FP8 alike: the data types
change what a plan says (vLLM #46997), not who reads it when.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import BadInput
from ..protocol import protocol
from .mla_decode import PARTS, capture_decode, is_persistent
from .staged_slots import StagedSlots

if TYPE_CHECKING:
    from ..gpu import Gpu
    from ..memory import Buffer


def plan_buffers(gpu: Gpu, heads: int, batch: int) -> Buffer:
    """The six buffers for so many heads and requests; only their names know the sizes."""
    if heads < 1 or batch < 1:
        raise BadInput(f"a plan for {heads} heads and {batch} requests has no size")
    return gpu.device(f"plan[{heads}x{batch}]", parts=PARTS)


@protocol(
    "persistent-decode/device-planner",
    expects={"cuda": "PROVED", "hip": "PROVED"},
    heads=16,
    batch=8,
    switch=None,
    layers=1,
)
def device_planner(gpu: Gpu, heads: int, batch: int, switch: bool | None, layers: int) -> None:
    """A kernel plans on the current stream, which then replays the decode that reads the plan.

    vLLM with AITER's persistent decode (PR #36574): `get_mla_metadata_v1` writes all six buffers on
    the device. Its stream's order is enough, async scheduling or not.
    """
    compute = gpu.stream("compute")
    plan = plan_buffers(gpu, heads, batch)
    reads_plan = is_persistent(heads, switch)
    graph = capture_decode(gpu, compute, plan if reads_plan else None, layers)
    for n in gpu.steps():
        gpu.launch("plan", compute, writes={plan: n})
        graph.launch(compute, reads=plan.expect(PARTS, n) if reads_plan else ())


@protocol(
    "persistent-decode/host-planner",
    expects={"cuda": "REFUTED", "hip": "REFUTED"},
    heads=16,
    batch=8,
    switch=None,
    layers=1,
)
def host_planner(gpu: Gpu, heads: int, batch: int, switch: bool | None, layers: int) -> None:
    """The host plans and copies without a stream, over the plan that a replay may still read.

    The mistake of the FP8 prefill (vLLM #58886) carried over to the buffers of PR #36574. It needs
    a head count for which decode is persistent; with another one nothing reads the plan.
    """
    compute = gpu.stream("compute")
    plan = plan_buffers(gpu, heads, batch)
    vectors = gpu.pageable("vectors", parts=PARTS)
    reads_plan = is_persistent(heads, switch)
    graph = capture_decode(gpu, compute, plan if reads_plan else None, layers)
    for n in gpu.steps():
        gpu.write(vectors, n)
        for part in PARTS:
            gpu.memcpy(plan[part], vectors[part])
        graph.launch(compute, reads=plan.expect(PARTS, n) if reads_plan else ())


@protocol(
    "persistent-decode/host-planner-staged",
    expects={"cuda": "PROVED", "hip": "PROVED"},
    heads=16,
    batch=8,
    switch=None,
    slots=2,
    layers=1,
)
def host_planner_staged(
    gpu: Gpu, heads: int, batch: int, switch: bool | None, slots: int, layers: int
) -> None:
    """The host plans into page-locked slots and copies on the stream of the replay.

    The fix of vLLM PR #58887 for the buffers of PR #36574: a host planner is as safe as the
    device's, for one wait on a slot that is seldom a wait.
    """
    compute = gpu.stream("compute")
    plan = plan_buffers(gpu, heads, batch)
    pinned = [gpu.pinned(f"slot{i}", parts=PARTS) for i in range(slots)]
    copied = [gpu.event(f"copied{i}") for i in range(slots)]
    staging = StagedSlots(pinned, copied, compute, gpu.sync_allowed)
    reads_plan = is_persistent(heads, switch)
    graph = capture_decode(gpu, compute, plan if reads_plan else None, layers)

    def fill(slot: Buffer, step: int) -> None:
        gpu.write(slot, step)

    def copy(slot: Buffer) -> None:
        for part in PARTS:
            gpu.memcpy_async(plan[part], slot[part], compute)

    for n in gpu.steps():
        staging.stage(n, fill, copy)
        graph.launch(compute, reads=plan.expect(PARTS, n) if reads_plan else ())


@protocol(
    "persistent-decode/non-persistent",
    expects={"cuda": "PROVED", "hip": "PROVED"},
    heads=8,
    batch=8,
    switch=None,
    layers=1,
)
def non_persistent(gpu: Gpu, heads: int, batch: int, switch: bool | None, layers: int) -> None:
    """`host-planner` with a head count that is not persistent: nothing reads the plan.

    The control for it, and why a test with few heads cannot show the race. AITER falls back in the
    same way by itself for some batches (#4144 there).
    """
    host_planner(gpu, heads=heads, batch=batch, switch=switch, layers=layers)
