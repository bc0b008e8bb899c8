"""Persistent decode: for which head counts there is a plan to read, and what follows from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from streamorder import BadInput, check
from streamorder.model.protocols.mla_decode import PARTS, is_persistent

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Protocol

FAMILY = "persistent-decode/"


@pytest.mark.parametrize("heads", [16, 32, 48, 64, 96, 112, 128, 256, 496, 512])
def test_persistent_head_counts(heads: int) -> None:
    """16, and 32 to 512 by 16; unless the user switches it off."""
    assert is_persistent(heads)
    assert is_persistent(heads, True)
    assert not is_persistent(heads, False)


@pytest.mark.parametrize("heads", [0, 1, 4, 8, 12, 15, 17, 24, 33, 40, 100, 511, 513, 520, 528])
def test_other_head_counts(heads: int) -> None:
    """Any other number of heads is not; unless the user switches it on."""
    assert not is_persistent(heads)
    assert not is_persistent(heads, False)
    assert is_persistent(heads, True)


def test_there_are_six_buffers() -> None:
    """By the names that the planner gives them, each once."""
    assert sorted(PARTS) == [
        "reduce_final_map",
        "reduce_indptr",
        "reduce_partial_map",
        "work_indptr",
        "work_info",
        "work_metadata",
    ]


@pytest.mark.parametrize("contract", ["cuda", "hip"])
@pytest.mark.parametrize("switch", [None, True, False])
@pytest.mark.parametrize("heads", [8, 12, 16, 48, 512, 528])
def test_the_race_needs_a_reader(
    heads: int, switch: bool | None, contract: str, entries: dict[str, Protocol]
) -> None:
    """Planning in place is refuted exactly where decode is persistent."""
    verdict = check(entries[FAMILY + "host-planner"], contract, heads=heads, switch=switch)
    assert verdict.verdict == ("REFUTED" if is_persistent(heads, switch) else "HOLDS")


@pytest.mark.parametrize("contract", ["cuda", "hip"])
@pytest.mark.parametrize("variant", ["device-planner", "host-planner-staged"])
@pytest.mark.parametrize("heads", [8, 16, 512])
def test_the_mends_hold_for_any_heads(
    variant: str, heads: int, contract: str, entries: dict[str, Protocol]
) -> None:
    """Whether or not there is a reader."""
    assert check(entries[FAMILY + variant], contract, heads=heads, batch=64).verdict == "HOLDS"


def test_all_six_buffers_are_raced_for(spoilt: Callable[..., set[str]]) -> None:
    """The decode kernel or the reduce kernel reads each of them."""
    expected = {f"plan[16x8].{part}" for part in PARTS}
    assert spoilt(FAMILY + "host-planner", "hip") == expected


@pytest.mark.parametrize("wrong", [{"heads": 0}, {"batch": 0}])
def test_a_plan_for_nothing_is_refused(wrong: dict[str, int], entries: dict[str, Protocol]) -> None:
    """No heads, or no requests, is a mistake of the caller."""
    with pytest.raises(BadInput, match="has no size"):
        check(entries[FAMILY + "device-planner"], **wrong)  # type: ignore[arg-type]
