"""SPIN decides exported models as we decide the protocols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder import catalogue, promela

if TYPE_CHECKING:
    from collections.abc import Callable

# Broken and mended, of every kind: slots, graphs, events, threads, locks, queues, cells, frees.
ENTRIES = (
    "fp8-prefill/direct", "fp8-prefill/direct-item-after", "fp8-prefill/direct-blocking-stream",
    "fp8-prefill/synchronize-first", "fp8-prefill/no-async-scheduling",
    "fp8-prefill/synchronize-around", "fp8-prefill/no-fp8-prefill", "fp8-prefill/staged",
    "fp8-prefill/staged-packed", "fp8-prefill/pageable-slots", "fp8-prefill/staged-no-wait",
    "fp8-prefill/staged-stuck-slot", "fp8-prefill/staged-one-event",
    "fp8-prefill/staged-stuck-both", "fp8-prefill/planner-on-stream",
    "fp8-prefill/planner-on-device", "fp8-prefill/direct-graph", "fp8-prefill/staged-graph",
    "sparse-decode/event-wait", "sparse-decode/cross-stream-async",
    "sparse-decode/cross-stream-async-both-edges",
    "corpus/C45-hidden-workspace/freed", "corpus/C45-hidden-workspace/one-each",
    "corpus/C54-late-output/retry-for-ever", "corpus/C54-late-output/retry-after-output",
    "corpus/C66-early-launch/wait-left-out", "corpus/C66-early-launch/waits",
    "corpus/C66-early-launch/waits-for-the-last",
)  # fmt: skip


def threaded() -> list[str]:
    """Entries with several host threads or with cells."""
    known = catalogue()
    wanted = ("C10-", "C20-", "C27-", "C51-", "C61-", "C67-", "C69-", "C71-")
    return [name for name in known if name.startswith(tuple(f"corpus/{each}" for each in wanted))]


@pytest.mark.parametrize("name", [*ENTRIES, *threaded()])
def test_catalogue_entry(spin: Any, compare: Callable[..., Any], name: str) -> None:
    """One contract each."""
    contract = "cuda" if "C66" in name or "one-each" in name else "hip"
    compared = compare(spin, name, contract)
    assert compared.agree, compared
    assert compared.theirs, "not exported"


@pytest.mark.slow
@pytest.mark.parametrize("contract", ["cuda", "hip"])
def test_whole_catalogue(spin: Any, compare: Callable[..., Any], contract: str) -> None:
    """Every entry under both contracts; few are refused."""
    found = {name: compare(spin, name, contract) for name in catalogue()}
    assert not {name: each for name, each in found.items() if not each.agree}
    assert sum(each.theirs is None for each in found.values()) <= 12


WAIT = "(done_compute >= copied{}_in_compute);"


@pytest.mark.parametrize("slot", [0, 1])
def test_a_wait_left_out_is_found(spin: Any, slot: int) -> None:
    """The model holds because of its waits: without either, SPIN refutes it."""
    model = promela(catalogue()["fp8-prefill/staged"], "cuda")
    assert model.count(WAIT.format(slot)) == 1
    assert spin(model).outcome == "HOLDS"
    assert spin(model.replace(WAIT.format(slot), "")).outcome == "REFUTED"


def test_a_dropped_order_is_found(spin: Any) -> None:
    """So is an operation that does not wait for one of another lane."""
    name = "corpus/C66-early-launch/waits"
    model = promela(catalogue()[name], "cuda", broken=["early_wait_transitive"])
    assert spin(model).outcome == "HOLDS"
    mutant = model.replace("(done_stream >= after_stream);", "")
    assert mutant != model
    assert spin(mutant).outcome == "REFUTED"


def test_states_are_counted(spin: Any) -> None:
    """The model is what it was: SPIN stores as many states, with its partial-order reduction."""
    found = spin(promela(catalogue()["fp8-prefill/staged"], "cuda"))
    assert (found.outcome, found.states) == ("HOLDS", 771)


def test_a_search_cut_short_is_no_verdict(spin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pan's search was not deep enough it prints `errors: 0`: that is never a pass."""
    from streamorder.model.export import checkers

    monkeypatch.setattr(checkers, "DEPTHS", (10, 20))
    assert spin(promela(catalogue()["fp8-prefill/staged"], "cuda")).outcome == "UNDETERMINED"
