"""FP8 prefill, the plan staged: planned into host slots and copied on the stream that reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol
from .fp8_plan import PARTS, run_layers, upload
from .staged_slots import StagedSlots

if TYPE_CHECKING:
    from ..gpu import Gpu
    from ..memory import Buffer


@protocol("fp8-prefill/staged", expects={"cuda": "PROVED", "hip": "PROVED"}, slots=2, layers=1)
def staged(gpu: Gpu, slots: int, layers: int) -> None:
    """Plan into page-locked slots; copy each to the device on the stream that reads it.

    The fix of vLLM #58886 (PR #58887, with two slots). The stream's own order keeps a plan until
    its readers are done; the host waits only for the copies that used the slot last.
    """
    compute = gpu.stream("compute")
    plan = gpu.device("plan", parts=PARTS)
    pinned = [gpu.pinned(f"slot{i}", parts=PARTS) for i in range(slots)]
    copied = [gpu.event(f"copied{i}") for i in range(slots)]
    staging = StagedSlots(pinned, copied, compute, gpu.sync_allowed)

    def fill(slot: Buffer, step: int) -> None:
        gpu.write(slot, step)

    def copy(slot: Buffer) -> None:
        upload(gpu, plan, slot, compute)

    for n in gpu.steps():
        staging.stage(n, fill, copy)
        run_layers(gpu, compute, plan, n, layers)


@protocol(
    "fp8-prefill/staged-packed", expects={"cuda": "PROVED", "hip": "PROVED"}, slots=2, layers=1
)
def staged_packed(gpu: Gpu, slots: int, layers: int) -> None:
    """The staged slots with the five arrays in one arena, which one copy uploads.

    A variant of vLLM PR #58887 with a fifth of the copies, in the same order. A reader that starts
    too early, were there one, could find an old plan but no mixture of two.
    """
    compute = gpu.stream("compute")
    arena = gpu.device("arena", parts=PARTS)
    pinned = [gpu.pinned(f"slot{i}", parts=PARTS) for i in range(slots)]
    copied = [gpu.event(f"copied{i}") for i in range(slots)]
    staging = StagedSlots(pinned, copied, compute, gpu.sync_allowed)

    def fill(slot: Buffer, step: int) -> None:
        gpu.write(slot, step)

    def copy(slot: Buffer) -> None:
        gpu.memcpy_async(arena, slot, compute)

    for n in gpu.steps():
        staging.stage(n, fill, copy)
        run_layers(gpu, compute, arena, n, layers)


@protocol(
    "fp8-prefill/pageable-slots",
    expects={"cuda": "PROVED", "hip": "PROVED", "cuda-hmm": "UNDETERMINED"},
    slots=2,
    layers=1,
)
def pageable_slots(gpu: Gpu, slots: int, layers: int) -> None:
    """Slots in ordinary memory and no wait: safe because the copy stages them at the call.

    A mistake that tests cannot show: forgetting to page-lock the slots of vLLM PR #58887 makes
    their wait needless. CUDA does not state it where the GPU may read pageable memory itself.
    """
    compute = gpu.stream("compute")
    plan = gpu.device("plan", parts=PARTS)
    ordinary = [gpu.pageable(f"slot{i}", parts=PARTS) for i in range(slots)]
    for n in gpu.steps():
        slot = ordinary[n % slots]
        gpu.write(slot, n)
        upload(gpu, plan, slot, compute)
        run_layers(gpu, compute, plan, n, layers)
