"""Five arms, two faults: which arm shows the plan's fault, and which the pointers'.

The faults are told apart by the memory on which they show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from streamorder import check, protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Gpu, Protocol

FAMILY = "draft-kv-pointers/"
FAULTS = {"plan": "plan", "kv_before_rebind": "pointer"}
"""The fault that shows on each buffer."""

TABLE = {
    "fp8-unpatched": {"plan", "pointer"},
    "fp8-staged": {"pointer"},
    "fp8-reread": set(),
    "bf16-unpatched": {"pointer"},
    "bf16-staged": {"pointer"},
}


@pytest.mark.parametrize("contract", ["cuda", "hip"])
@pytest.mark.parametrize("arm", TABLE)
def test_faults(arm: str, contract: str, spoilt: Callable[..., set[str]]) -> None:
    """Over all states: the pointers' in all arms but one, the plan's in one arm only."""
    found = spoilt(FAMILY + arm, contract)
    assert {FAULTS[region.partition(".")[0]] for region in found} == TABLE[arm]


@pytest.mark.parametrize("contract", ["cuda", "hip"])
@pytest.mark.parametrize("arm", TABLE)
def test_the_report_names_the_faults(arm: str, contract: str, entries: dict[str, Protocol]) -> None:
    """A missing edge for the plan; for the pointers a wrong version, in order."""
    edges = check(entries[FAMILY + arm], contract).missing_edges
    found = {FAULTS[str(edge.region).partition(".")[0]]: edge.ordered for edge in edges}
    assert found == {fault: fault == "pointer" for fault in TABLE[arm]}


@pytest.mark.parametrize("contract", ["cuda", "hip"])
def test_the_draft_finds_freed_memory(contract: str, entries: dict[str, Protocol]) -> None:
    """A stale pointer leads to memory that was freed: the kernel faults there."""
    (edge,) = check(entries[FAMILY + "bf16-unpatched"], contract).missing_edges
    assert edge.second.call == "launch(draft, compute)"
    assert edge.first.call == "free(kv_before_rebind)"


@protocol()
def reused(gpu: Gpu) -> None:
    """The old KV cache's address now holds activations, which the draft takes for keys."""
    compute = gpu.stream("compute")
    before = gpu.malloc("kv_before_rebind")
    gpu.free(before)
    kv, activations = gpu.malloc("kv"), gpu.malloc("activations", of=before)
    for n in gpu.steps():
        gpu.launch("target", compute, writes={kv: ("kv", n), activations: ("activations", n)})
        gpu.launch("draft", compute, reads={before: ("kv", n)})


@pytest.mark.parametrize("contract", ["cuda", "hip"])
@pytest.mark.parametrize("engine", ["order", "machine"])
def test_an_address_used_again_corrupts_silently(contract: str, engine: str) -> None:
    """Nothing is freed memory any more, nothing races; the draft reads something else."""
    (edge,) = check(reused, contract, engine=engine).missing_edges
    assert edge.kind == "wrong version"
    assert edge.ordered
    assert edge.first.call == "launch(target, compute)"
