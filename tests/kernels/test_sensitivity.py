"""A comparison that could not fail would say nothing: small errors must show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("numpy", reason="the planner needs numpy")
pytest.importorskip("torch", reason="the attention kernels need torch: make torch")
pytest.importorskip("triton", reason="the attention kernels need Triton: make torch")

from streamorder.validation.kernels import Batch, Prefill
from streamorder.validation.kernels.comparison import compare, poison

if TYPE_CHECKING:
    from collections.abc import Callable

ROW, LOC, Q_START, Q_END, KV_START, KV_END = range(6)

CHANGES: dict[str, tuple[str, tuple[int, ...], int]] = {
    # As in test_faults: item 0 is a whole tile, 1 and 2 are pieces of one.
    "last-key-missing": ("work_info", (0, KV_END), -1),
    "first-key-missing": ("work_info", (0, KV_START), 1),
    "a-key-missing-between-pieces": ("work_info", (1, KV_END), -1),
    "a-key-twice": ("work_info", (2, KV_START), -1),
    "another-request": ("work_info", (2, ROW), -1),
    "piece-in-the-other's-place": ("work_info", (2, LOC), -256),
    "first-query-missing": ("work_info", (0, Q_START), 1),
    "last-query-missing": ("work_info", (0, Q_END), -1),
    "group-without-its-item": ("work_indptr", (3,), -1),
    "one-partial-for-two": ("reduce_partial_map", (1,), -256),
    "merge-without-its-last-query": ("reduce_final_map", (0, 1), -1),
    "merge-of-one-partial": ("reduce_indptr", (0,), 1),
}


@pytest.mark.parametrize(("name", "place", "change"), CHANGES.values(), ids=CHANGES)
def test_a_small_change_shows(
    attend: Callable[..., Prefill], device: str, name: str, place: tuple[int, ...], change: int
) -> None:
    """One element of the plan off by little, within every bound, is seen in the output."""
    batch = Batch.random([20, 40], heads=1, device=device, context_lens=[20, 200])
    plan = batch.plan(cu_count=3)
    plan[name][place] += change
    seen = attend(batch, plan, cu_count=3).compare()
    assert not seen.faults
    assert seen.unwritten or seen.wrong, "not seen"


def outputs(torch: Any, device: str) -> tuple[Any, Any]:
    """An output that is its reference, [3, 2, 128]."""
    reference = torch.arange(3 * 2 * 128, device=device).remainder(7).view(3, 2, 128).float()
    return reference.to(torch.bfloat16), reference


def test_equal_outputs_match(torch: Any, device: str) -> None:
    """Six rows of two heads, none deviates."""
    seen = compare(*outputs(torch, device), [])
    assert seen.matches
    assert (seen.rows, seen.worst, seen.first) == (6, 0.0, None)
    assert str(seen) == "matches the reference in 6 rows, worst deviation 0.00%"


def test_what_is_not_a_number_is_wrong(torch: Any, device: str) -> None:
    """NaN compares with nothing, and is not taken for poison."""
    output, reference = outputs(torch, device)
    output[2, 1, 5] = float("nan")
    seen = compare(output, reference, [])
    assert (seen.wrong, seen.unwritten, seen.first) == (1, 0, (2, 1))
    assert seen.worst == float("inf")
    assert str(seen) == (
        "does not match: of 6 rows 1 wrong (worst deviation not a number), first query 2 of head 1"
    )


def test_one_element_of_poison_is_a_row_not_written(torch: Any, device: str) -> None:
    """A row is written whole, or it is not."""
    output, reference = outputs(torch, device)
    poison(output[1:2, 0, 127:])
    seen = compare(output, reference, [])
    assert (seen.wrong, seen.unwritten, seen.first) == (0, 1, (1, 0))


@pytest.mark.parametrize(("share", "wrong"), [(0.015, 0), (0.02, 1)])
def test_tolerance_is_a_share_of_the_row(torch: Any, device: str, share: float, wrong: int) -> None:
    """An element may deviate by a 64th of the largest of its row."""
    output, reference = outputs(torch, device)
    reference[0, 0, 3] += share * 6
    assert compare(output, reference, []).wrong == wrong


def test_rows_of_zeros_are_exact(torch: Any, device: str) -> None:
    """A query without keys gives 0, and nothing near it."""
    output, reference = outputs(torch, device)
    output[0, 0], reference[0, 0] = 0.0, 0.0
    assert compare(output, reference, []).matches
    output[0, 0, 0] = 1e-30
    seen = compare(output, reference, [])
    assert (seen.wrong, seen.worst) == (1, float("inf"))
