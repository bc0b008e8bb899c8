"""A draft model that holds KV-cache pointers from before a rebind, with and without the plan race.

Two faults with one symptom, a memory fault or silent corruption: the FP8 prefill plan rewritten in
place (vLLM #58886), and pointers into a KV cache that was since replaced (#58814). A stale plan
writes out of range near address zero, a stale pointer faults at a high address. Five arms tell them
apart: the plan exists with an FP8 KV cache only, the pointers are stale until they are re-read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol
from .fp8_plan import PARTS, plan_in_place, run_layers
from .fp8_staged_plan import StagedPlan

if TYPE_CHECKING:
    from ..gpu import Gpu
    from ..memory import Buffer
    from ..objects import Stream


def rebind(gpu: Gpu) -> tuple[Buffer, Buffer]:
    """The KV cache that the draft model was given, freed since, and the one in its place."""
    before = gpu.malloc("kv_before_rebind")
    gpu.free(before)
    return before, gpu.malloc("kv")


def write_and_draft(gpu: Gpu, stream: Stream, kv: Buffer, held: Buffer, step: int) -> None:
    """The target model writes its KV cache; the draft reads through the pointers that it holds."""
    gpu.launch("write_kv", stream, writes={kv: step})
    gpu.launch("draft", stream, reads={held: step})


@protocol(
    "draft-kv-pointers/fp8-unpatched", expects={"cuda": "REFUTED", "hip": "REFUTED"}, layers=1
)
def fp8_unpatched(gpu: Gpu, layers: int) -> None:
    """FP8 KV, nothing mended: the plan is overwritten in use and the pointers are stale.

    Kimi-K3 with a DSpark draft before vLLM #58887 and #58814. A run that faults says nothing about
    which of the two it was.
    """
    compute = gpu.stream("compute")
    before, kv = rebind(gpu)
    plan = gpu.device("plan", parts=PARTS)
    vectors = gpu.pageable("vectors", parts=PARTS)
    for n in gpu.steps():
        plan_in_place(gpu, plan, vectors, n)
        run_layers(gpu, compute, plan, n, layers)
        write_and_draft(gpu, compute, kv, before, n)


@protocol(
    "draft-kv-pointers/fp8-staged",
    expects={"cuda": "REFUTED", "hip": "REFUTED"},
    slots=2,
    layers=1,
)
def fp8_staged(gpu: Gpu, slots: int, layers: int) -> None:
    """FP8 KV, the plan staged: the plan's fault is gone, the draft's pointers are still stale.

    vLLM PR #58887 without #58814: with a draft model it looks as though the staged slots had not
    helped.
    """
    compute = gpu.stream("compute")
    before, kv = rebind(gpu)
    plan = StagedPlan(gpu, compute, slots)
    for n in gpu.steps():
        plan.publish(n)
        run_layers(gpu, compute, plan.device, n, layers)
        write_and_draft(gpu, compute, kv, before, n)


@protocol(
    "draft-kv-pointers/fp8-reread", expects={"cuda": "PROVED", "hip": "PROVED"}, slots=2, layers=1
)
def fp8_reread(gpu: Gpu, slots: int, layers: int) -> None:
    """FP8 KV, the plan staged, the pointers re-read after the rebind: neither fault is left.

    vLLM PR #58887 and #58814 together.
    """
    compute = gpu.stream("compute")
    _before, kv = rebind(gpu)
    plan = StagedPlan(gpu, compute, slots)
    for n in gpu.steps():
        plan.publish(n)
        run_layers(gpu, compute, plan.device, n, layers)
        write_and_draft(gpu, compute, kv, kv, n)


@protocol(
    "draft-kv-pointers/bf16-unpatched", expects={"cuda": "REFUTED", "hip": "REFUTED"}, layers=1
)
def bf16_unpatched(gpu: Gpu, layers: int) -> None:
    """BF16 KV: there is no FP8 plan to overwrite; the pointers are stale all the same.

    The control that told vLLM #58814 from #58886: the fault stays where the other cannot be.
    """
    compute = gpu.stream("compute")
    before, kv = rebind(gpu)
    for n in gpu.steps():
        for _ in range(layers):
            gpu.launch("bf16_prefill", compute)
        write_and_draft(gpu, compute, kv, before, n)


@protocol("draft-kv-pointers/bf16-staged", expects={"cuda": "REFUTED", "hip": "REFUTED"}, layers=1)
def bf16_staged(gpu: Gpu, layers: int) -> None:
    """BF16 KV with the staged slots: nothing is planned, so nothing is staged.

    With vLLM PR #58887 this arm is, call for call, the unpatched one; only #58814 can mend it.
    """
    bf16_unpatched(gpu, layers=layers)
