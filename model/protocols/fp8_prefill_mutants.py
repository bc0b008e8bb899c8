"""FP8 prefill, the staged slots of vLLM PR #58887 with one mistake each, and two safe look-alikes.

Each is spelled out, so that a counterexample's source lines show the mistake. Compare
`StagedSlots.stage`, the right order: await the slot's event, fill, copy, record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol
from .fp8_plan import PARTS, run_layers, upload
from .staged_slots import WHY

if TYPE_CHECKING:
    from ..gpu import Gpu


@protocol(
    "fp8-prefill/staged-no-wait", expects={"cuda": "REFUTED", "hip": "REFUTED"}, slots=2, layers=1
)
def staged_no_wait(gpu: Gpu, slots: int, layers: int) -> None:
    """The slot's event is recorded but never awaited: the planner overwrites a plan in flight.

    The staged slots of vLLM PR #58887 without their wait. It shows once a slot is used again: with
    as many steps as slots, or fewer, nothing is wrong.
    """
    compute = gpu.stream("compute")
    plan = gpu.device("plan", parts=PARTS)
    pinned = [gpu.pinned(f"slot{i}", parts=PARTS) for i in range(slots)]
    copied = [gpu.event(f"copied{i}") for i in range(slots)]
    for n in gpu.steps():
        slot, done = pinned[n % slots], copied[n % slots]
        gpu.write(slot, n)
        upload(gpu, plan, slot, compute)
        done.record(compute)
        run_layers(gpu, compute, plan, n, layers)


@protocol(
    "fp8-prefill/staged-stuck-slot",
    expects={"cuda": "REFUTED", "hip": "REFUTED"},
    slots=2,
    layers=1,
)
def staged_stuck_slot(gpu: Gpu, slots: int, layers: int) -> None:
    """One path forgets to advance the slot, not the event: the wait is for another slot.

    A mutant of vLLM PR #58887 with two counters. With a single slot there is nothing to advance,
    and it is safe.
    """
    compute = gpu.stream("compute")
    plan = gpu.device("plan", parts=PARTS)
    pinned = [gpu.pinned(f"slot{i}", parts=PARTS) for i in range(slots)]
    copied = [gpu.event(f"copied{i}") for i in range(slots)]
    slot = event = 0
    for n in gpu.steps():
        with gpu.sync_allowed(WHY):
            copied[event].synchronize()
        gpu.write(pinned[slot], n)
        upload(gpu, plan, pinned[slot], compute)
        copied[event].record(compute)
        run_layers(gpu, compute, plan, n, layers)
        event = (event + 1) % slots
        if gpu.choose("advance", "forget") == "advance":
            slot = (slot + 1) % slots


@protocol(
    "fp8-prefill/staged-one-event", expects={"cuda": "PROVED", "hip": "PROVED"}, slots=2, layers=1
)
def staged_one_event(gpu: Gpu, slots: int, layers: int) -> None:
    """One event for all slots: safe, but the slots lose their purpose.

    A look-alike of a bug: the event awaited is always the latest, so every earlier copy is done as
    well. The host then runs no further ahead than with one slot (compare vLLM PR #58887).
    """
    compute = gpu.stream("compute")
    plan = gpu.device("plan", parts=PARTS)
    pinned = [gpu.pinned(f"slot{i}", parts=PARTS) for i in range(slots)]
    copied = gpu.event("copied")
    for n in gpu.steps():
        slot = pinned[n % slots]
        with gpu.sync_allowed(WHY):
            copied.synchronize()
        gpu.write(slot, n)
        upload(gpu, plan, slot, compute)
        copied.record(compute)
        run_layers(gpu, compute, plan, n, layers)


@protocol(
    "fp8-prefill/staged-stuck-both", expects={"cuda": "PROVED", "hip": "PROVED"}, slots=2, layers=1
)
def staged_stuck_both(gpu: Gpu, slots: int, layers: int) -> None:
    """One path forgets to advance slot and event alike: safe, that step only waits longer.

    A look-alike of `staged-stuck-slot`: while slot and event go together, the wait is for the very
    copies that used the slot last, whichever slot that is (compare vLLM PR #58887).
    """
    compute = gpu.stream("compute")
    plan = gpu.device("plan", parts=PARTS)
    pinned = [gpu.pinned(f"slot{i}", parts=PARTS) for i in range(slots)]
    copied = [gpu.event(f"copied{i}") for i in range(slots)]
    turn = 0
    for n in gpu.steps():
        with gpu.sync_allowed(WHY):
            copied[turn].synchronize()
        gpu.write(pinned[turn], n)
        upload(gpu, plan, pinned[turn], compute)
        copied[turn].record(compute)
        run_layers(gpu, compute, plan, n, layers)
        if gpu.choose("advance", "forget") == "advance":
            turn = (turn + 1) % slots
