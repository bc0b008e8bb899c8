"""TLC decides exported specifications as we decide the protocols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder import catalogue, tla

if TYPE_CHECKING:
    from collections.abc import Callable

FEW = ("fp8-prefill/staged-stuck-slot", "corpus/C54-late-output/retry-for-ever")
MORE = (
    "fp8-prefill/direct", "fp8-prefill/direct-blocking-stream", "fp8-prefill/synchronize-first",
    "fp8-prefill/synchronize-around", "fp8-prefill/staged", "fp8-prefill/staged-no-wait",
    "fp8-prefill/staged-stuck-both", "fp8-prefill/direct-graph", "fp8-prefill/staged-graph",
    "fp8-prefill/pageable-slots", "sparse-decode/event-wait",
    "sparse-decode/cross-stream-async-both-edges", "corpus/C45-hidden-workspace/freed",
    "corpus/C54-late-output/retry-after-output", "corpus/C66-early-launch/wait-left-out",
    "corpus/C66-early-launch/waits-for-the-last",
)  # fmt: skip


@pytest.mark.parametrize("name", FEW)
def test_catalogue_entry(tlc: Any, compare: Callable[..., Any], name: str) -> None:
    """A handful, since Java alone takes a second to start."""
    compared = compare(tlc, name, "cuda")
    assert compared.agree, compared


@pytest.mark.slow
@pytest.mark.parametrize("contract", ["cuda", "hip"])
@pytest.mark.parametrize("name", MORE)
def test_more_entries(tlc: Any, compare: Callable[..., Any], name: str, contract: str) -> None:
    """Broken and mended, under both contracts."""
    compared = compare(tlc, name, contract)
    assert compared.agree, compared


@pytest.mark.slow
def test_threads_and_cells(tlc: Any, compare: Callable[..., Any]) -> None:
    """Entries with host threads, locks, queues and cells."""
    wanted = ("C10-", "C20-", "C27-", "C51-", "C61-", "C67-", "C69-")
    names = [n for n in catalogue() if n.startswith(tuple(f"corpus/{each}" for each in wanted))]
    found = {name: compare(tlc, name, "hip") for name in names}
    assert not {name: each for name, each in found.items() if not each.agree}
    assert sum(each.theirs is not None for each in found.values()) >= 10


def test_a_wait_left_out_is_found(tlc: Any) -> None:
    """The specification holds because of its waits, and its states are as many as they were."""
    model = tla(catalogue()["fp8-prefill/staged"], "cuda")
    wait = '    /\\ done["compute"] >= mark["copied0_in_compute"]\n'
    assert model.count(wait) == 1
    found = tlc(model)
    assert (found.outcome, found.states) == ("HOLDS", 799)
    assert tlc(model.replace(wait, "")).outcome == "REFUTED"
