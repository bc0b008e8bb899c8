"""The audit tells apart what the verdict does not: which host waits are intended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from streamorder import audit, check
from streamorder.model.protocols.staged_slots import WHY

if TYPE_CHECKING:
    from streamorder import Protocol

FAMILY = "sync-audit/"
SIZED = "the partial results are sized by the plan"

DECLARED = {
    "item-declared": {WHY, SIZED},
    "item-undeclared": {WHY, None},
    "count-from-host-plan": {WHY},
}
"""The reasons given for the waits: each variant awaits its slot, and two the count as well."""


@pytest.mark.parametrize("contract", ["cuda", "hip"])
@pytest.mark.parametrize("variant", DECLARED)
def test_waits(variant: str, contract: str, entries: dict[str, Protocol]) -> None:
    """Each once a step, all in the loop; only one variant has any that nobody declared."""
    found = audit(entries[FAMILY + variant], contract)
    assert {wait.declared for wait in found.waits} == DECLARED[variant]
    assert len(found.waits) == len(DECLARED[variant])
    assert all(wait.in_steps and wait.per_step == 1 for wait in found.waits)
    assert len(found.undeclared) == (variant == "item-undeclared")


@pytest.mark.parametrize("contract", ["cuda", "hip"])
def test_the_wait_is_named_by_its_line(contract: str, entries: dict[str, Protocol]) -> None:
    """What fails the audit is the line that waits, with the call in words."""
    (wait,) = audit(entries[FAMILY + "item-undeclared"], contract).undeclared
    assert wait.call == "compute.synchronize()"
    assert wait.where is not None
    assert wait.where.file == "streamorder/model/protocols/sync_audit.py"


@pytest.mark.parametrize("contract", ["cuda", "hip"])
def test_the_verdict_is_the_same(contract: str, entries: dict[str, Protocol]) -> None:
    """Declaring a wait changes no verdict, nor how many waits there are."""
    declared, undeclared = (
        check(entries[FAMILY + variant], contract)
        for variant in ("item-declared", "item-undeclared")
    )
    assert declared.outcome is undeclared.outcome
    assert declared.ops == undeclared.ops
    assert declared.waits == undeclared.waits == 2


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_the_host_plan_lets_the_host_run_ahead(slots: int, entries: dict[str, Protocol]) -> None:
    """No wait until a slot is used again; `.item()` waits in every step, whatever the slots."""
    ahead, drained = (
        audit(entries[FAMILY + variant], "hip", steps=slots, slots=slots).waits
        for variant in ("count-from-host-plan", "item-declared")
    )
    assert ahead == ()
    assert len(drained) == 1


@pytest.mark.parametrize("variant", ["direct-graph", "staged-graph"])
def test_replays_need_no_undeclared_wait(variant: str, entries: dict[str, Protocol]) -> None:
    """Beside the planner's own copies, which CUDA's host waits for, nothing waits undeclared."""
    found = audit(entries[f"fp8-prefill/{variant}"], "hip")
    calls = {wait.call.partition("(")[0] for wait in found.undeclared}
    assert calls == ({"memcpy"} if variant == "direct-graph" else set())
