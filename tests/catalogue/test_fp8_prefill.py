"""The FP8 prefill family: the verdict of every variant, and what each is refuted or safe through.

Both engines decide each row, see `decide` in conftest.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from streamorder.model.catalogue import catalogue

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder.model.explore import Exploration

FAMILY = "fp8-prefill/"

TABLE = {
    ("direct", "cuda"): "REFUTED",
    ("direct", "hip"): "REFUTED",
    ("direct-item-after", "cuda"): "REFUTED",
    ("direct-item-after", "hip"): "REFUTED",
    ("direct-blocking-stream", "cuda"): "PROVED",
    ("direct-blocking-stream", "hip"): "PROVED",
    ("synchronize-first", "cuda"): "REFUTED",
    ("synchronize-first", "hip"): "PROVED",
    ("no-async-scheduling", "cuda"): "REFUTED",
    ("no-async-scheduling", "hip"): "PROVED",
    ("synchronize-around", "cuda"): "PROVED",
    ("synchronize-around", "hip"): "PROVED",
    ("no-fp8-prefill", "cuda"): "PROVED",
    ("no-fp8-prefill", "hip"): "PROVED",
    ("staged", "cuda"): "PROVED",
    ("staged", "hip"): "PROVED",
    ("staged-packed", "cuda"): "PROVED",
    ("staged-packed", "hip"): "PROVED",
    ("pageable-slots", "cuda"): "PROVED",
    ("pageable-slots", "cuda-hmm"): "UNDETERMINED",
    ("pageable-slots", "hip"): "PROVED",
    ("staged-no-wait", "cuda"): "REFUTED",
    ("staged-no-wait", "hip"): "REFUTED",
    ("staged-stuck-slot", "cuda"): "REFUTED",
    ("staged-stuck-slot", "hip"): "REFUTED",
    ("staged-one-event", "cuda"): "PROVED",
    ("staged-one-event", "hip"): "PROVED",
    ("staged-stuck-both", "cuda"): "PROVED",
    ("staged-stuck-both", "hip"): "PROVED",
    ("planner-on-stream", "cuda"): "PROVED",
    ("planner-on-stream", "cuda-hmm"): "PROVED",
    ("planner-on-stream", "hip"): "PROVED",
    ("planner-on-device", "cuda"): "PROVED",
    ("planner-on-device", "hip"): "PROVED",
    ("direct-graph", "cuda"): "REFUTED",
    ("direct-graph", "hip"): "REFUTED",
    ("staged-graph", "cuda"): "PROVED",
    ("staged-graph", "hip"): "PROVED",
}

BOUNDED = {"PROVED": "HOLDS"}
"""What a bounded check can say of a row that is proved for every number of steps."""

CONTRACTS = ("cuda", "hip")
STAGED = ("staged", "staged-packed")


# --- the table ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("variant", "contract"), TABLE)
@pytest.mark.parametrize("layers", [1, 2])
def test_verdict(variant: str, contract: str, layers: int, decide: Callable[..., str]) -> None:
    """Both engines find what the table says, with one pair of kernels a step and with two."""
    expected = TABLE[variant, contract]
    found = decide(FAMILY + variant, contract, steps=4, layers=layers)
    assert found == BOUNDED.get(expected, expected)


def test_the_catalogue_states_the_table() -> None:
    """What the entries expect is the table, no row more and no row less."""
    stated = {
        (name.removeprefix(FAMILY), contract): verdict
        for name, entry in catalogue().items()
        if name.startswith(FAMILY)
        for contract, verdict in entry.expects.items()
    }
    assert stated == TABLE


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("slots", [1, 2, 3, 16])
@pytest.mark.parametrize("variant", STAGED)
def test_staged_slots(variant: str, slots: int, contract: str, decide: Callable[..., str]) -> None:
    """Any number of slots will do; two steps more than slots, so that slots are used again."""
    assert decide(FAMILY + variant, contract, steps=slots + 2, slots=slots) == "HOLDS"


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_a_missing_wait_shows_when_a_slot_is_used_again(
    slots: int, decide: Callable[..., str]
) -> None:
    """With as many steps as slots there is nothing to find; one more refutes."""
    found = [
        decide(FAMILY + "staged-no-wait", "hip", steps, slots=slots) for steps in (slots, slots + 1)
    ]
    assert found == ["HOLDS", "REFUTED"]


@pytest.mark.parametrize("slots", [2, 3])
def test_a_stuck_slot_needs_two_slots(slots: int, decide: Callable[..., str]) -> None:
    """A single slot cannot stick; two or more can."""
    assert decide(FAMILY + "staged-stuck-slot", "hip", steps=3, slots=1) == "HOLDS"
    assert decide(FAMILY + "staged-stuck-slot", "hip", steps=3, slots=slots) == "REFUTED"


# --- through what each is refuted ---------------------------------------------------------------


def regions(found: Exploration) -> set[str]:
    """Return the regions of all hazards and wrong reads."""
    return {repr(access.region) for _state, access, _other in found.hazards} | {
        repr(wrong.region) for _state, _transition, wrong in found.wrongs
    }


def readers(found: Exploration) -> set[str]:
    """Return the kernels that read a wrong version."""
    ops = found.machine.ops
    calls = [ops[transition[1]].node.call for _state, transition, _wrong in found.wrongs]
    return {call[2] for call in calls if call is not None and call[0] == "launch"}


def test_direct_is_refuted_through_all_parts(walk: Callable[..., Exploration]) -> None:
    """Both kernels can find any of their parts replaced."""
    found = walk(FAMILY + "direct", "hip", steps=2)
    assert regions(found) == {
        "plan.work_indptr",
        "plan.work_info",
        "plan.reduce_indptr",
        "plan.reduce_final_map",
        "plan.reduce_partial_map",
    }
    assert readers(found) == {"prefill", "reduce"}


def test_the_kernels_stand_on_lines_of_their_own(walk: Callable[..., Exploration]) -> None:
    """A report by source line tells the forward kernel from the reduce kernel."""
    found = walk(FAMILY + "direct", "hip", steps=2)
    nodes = [op.node for op in found.machine.ops if op.node.call and op.node.call[0] == "launch"]
    lines = {(node.call[2], node.where) for node in nodes if node.call}
    assert len(lines) == len({where for _kernel, where in lines}) == 2


def test_direct_can_tear_a_plan(walk: Callable[..., Exploration]) -> None:
    """A kernel can find the new `work_indptr` with the old `work_info`: five copies are five."""
    found = walk(FAMILY + "direct", "hip", steps=2)
    wrong: dict[object, set[str]] = {}
    for state, transition, mismatch in found.wrongs:
        wrong.setdefault((state, transition), set()).add(mismatch.region.part)
    assert {"work_indptr"} in wrong.values()
    assert {"work_indptr", "work_info"} in wrong.values()


@pytest.mark.parametrize("variant", ["synchronize-first", "no-async-scheduling"])
def test_a_workaround_fails_under_cuda_by_the_last_copy_alone(
    variant: str, walk: Callable[..., Exploration]
) -> None:
    """Each copy waits for the one before it, so that only the last may still be in flight."""
    found = walk(FAMILY + variant, "cuda", steps=3)
    assert regions(found) == {"plan.reduce_partial_map"}
    assert readers(found) == {"reduce"}


@pytest.mark.parametrize("variant", ["staged-no-wait", "staged-stuck-slot"])
def test_a_lost_wait_exposes_the_slot(variant: str, walk: Callable[..., Exploration]) -> None:
    """The race is between the planner's write and the copies from the slot, never on the device."""
    found = walk(FAMILY + variant, "hip", steps=3)
    raced = {access.region.kind for _state, access, _other in found.hazards}
    assert raced == {"pinned"}


# --- host waits ---------------------------------------------------------------------------------


def waits(found: Exploration) -> set[tuple[int | None, str, bool]]:
    """Return every call that the host can wait in: its step, its verb, whether it is declared."""
    points = [point for state in found.parents for point in state[0]]
    nodes = {node for node, _rest, awaited in points if awaited}
    return {(node.step, node.call[0], node.allowed is not None) for node in nodes if node.call}


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("variant", STAGED)
def test_staged_waits_for_its_slot_only(
    variant: str, contract: str, walk: Callable[..., Exploration]
) -> None:
    """From the step that uses a slot again: one wait, for the slot's event, and it is declared."""
    found = walk(FAMILY + variant, contract, steps=5, slots=2)
    assert waits(found) == {(step, "synchronize_event", True) for step in (2, 3, 4)}


def test_direct_item_after_waits_once_a_step(walk: Callable[..., Exploration]) -> None:
    """Beside the planner's copies: one wait a step, declared, and refuted all the same."""
    found = walk(FAMILY + "direct-item-after", "hip", steps=3)
    copies = {(step, "memcpy", False) for step in range(3)}
    items = {(step, "synchronize_stream", True) for step in range(3)}
    assert waits(found) == copies | items
    assert not found.holds


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("variant", ["pageable-slots", "planner-on-stream", "planner-on-device"])
def test_some_variants_never_wait(
    variant: str, contract: str, walk: Callable[..., Exploration]
) -> None:
    """Staging at the call, and planning on the device, cost the host no wait at all."""
    assert waits(walk(FAMILY + variant, contract, steps=4)) == set()


@pytest.mark.parametrize("slots", [2, 3])
def test_one_event_waits_as_a_single_slot_does(
    slots: int, walk: Callable[..., Exploration]
) -> None:
    """With one event for all slots, the host is never further ahead than with one slot."""
    one_event = walk(FAMILY + "staged-one-event", "hip", steps=4, slots=slots)
    one_slot = walk(FAMILY + "staged", "hip", steps=4, slots=1)
    assert one_event.states == one_slot.states
    assert waits(one_event) == waits(one_slot)
