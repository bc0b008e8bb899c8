"""Plans that are not this batch's: what points outside is counted, never clamped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("numpy", reason="the planner needs numpy")
pytest.importorskip("torch", reason="the attention kernels need torch: make torch")
pytest.importorskip("triton", reason="the attention kernels need Triton: make torch")

from streamorder.validation.kernels import Batch, Fault, Prefill
from streamorder.validation.kernels.faults import SAID

if TYPE_CHECKING:
    from collections.abc import Callable

BATCH: dict[str, Any] = {"lengths": [20, 40], "heads": 1, "context_lens": [20, 200]}
"""On three units: item 0 is a whole tile, 1 and 2 are the pieces of queries 20 to 60."""

WHOLE, SPLIT, NONE = range(20), range(20, 60), range(0)

SPOILED: dict[str, tuple[str, tuple[int, ...], int, Fault, range, range]] = {
    # the array, the element, what is put there, what is reported, the queries not written, and
    # those that are wrong, because a partial of theirs is missing
    "items-before-the-start": ("work_indptr", (0,), -1, Fault(0, 1, 0), WHOLE, NONE),
    "items-past-the-end": ("work_indptr", (3,), 5, Fault(0, 1, 2), NONE, SPLIT),
    "row-past-the-end": ("work_info", (0, 0), 2, Fault(1, 1, 0), WHOLE, NONE),
    "row-negative": ("work_info", (0, 0), -1, Fault(1, 1, 0), WHOLE, NONE),
    "queries-past-the-end": ("work_info", (2, 3), 61, Fault(2, 1, 2), NONE, SPLIT),
    "queries-negative": ("work_info", (0, 2), -1, Fault(2, 1, 0), WHOLE, NONE),
    "keys-past-the-end": ("work_info", (2, 5), 221, Fault(3, 1, 2), NONE, SPLIT),
    "keys-negative": ("work_info", (0, 4), -1, Fault(3, 1, 0), WHOLE, NONE),
    "head-past-the-end": ("work_info", (0, 7), 1 | 2 << 16, Fault(4, 1, 0), WHOLE, NONE),
    "partial-past-the-end": ("work_info", (0, 1), 257, Fault(5, 1, 0), WHOLE, NONE),
    "partial-negative": ("work_info", (0, 1), -2, Fault(5, 1, 0), WHOLE, NONE),
    "merge-negative": ("reduce_indptr", (0,), -1, Fault(6, 1, 0), SPLIT, NONE),
    "merge-queries-past-the-end": (
        *("reduce_final_map", (0, 1), 61),
        *(Fault(7, 1, 0), SPLIT, NONE),
    ),
    "merge-queries-negative": ("reduce_final_map", (0, 0), -1, Fault(7, 1, 0), SPLIT, NONE),
    "merged-partial-past-the-end": (
        *("reduce_partial_map", (1,), 512),
        *(Fault(8, 1, 0), SPLIT, NONE),
    ),
    "merged-partial-negative": ("reduce_partial_map", (0,), -256, Fault(8, 1, 0), SPLIT, NONE),
}


@pytest.mark.parametrize("spoiled", SPOILED.values(), ids=SPOILED)
def test_what_points_outside_is_reported_and_not_carried_out(
    attend: Callable[..., Prefill],
    device: str,
    spoiled: tuple[str, tuple[int, ...], int, Fault, range, range],
) -> None:
    """One element is wrong: its item or merge is named, the rows of the others are right."""
    name, place, value, fault, unwritten, wrong = spoiled
    batch = Batch.random(**BATCH, device=device)
    plan = batch.plan(cu_count=3)
    plan[name][place] = value
    seen = attend(batch, plan, cu_count=3).compare()
    assert not seen.matches
    assert seen.faults == [fault]
    assert (seen.unwritten, seen.wrong) == (len(unwritten), len(wrong))
    assert seen.first == (min(*unwritten, *wrong), 0)


def test_queries_of_more_than_a_tile(attend: Callable[..., Prefill], device: str) -> None:
    """No tile has 257 queries: two plans were mixed."""
    batch = Batch.random([300], heads=1, device=device, is_causal=False)
    plan = batch.plan(cu_count=1)
    plan["work_info"][0, 3] = 257
    seen = attend(batch, plan, cu_count=1).compare()
    assert (seen.faults, seen.unwritten, seen.wrong) == ([Fault(2, 1, 0)], 256, 0)


def test_partials_past_the_end_of_their_map(attend: Callable[..., Prefill], device: str) -> None:
    """The last offset is too large, and so merges up to it are looked at."""
    batch = Batch.random(**BATCH, device=device)
    plan = batch.plan(cu_count=3)
    plan["reduce_indptr"][1:] = len(plan["reduce_partial_map"]) + 1
    seen = attend(batch, plan, cu_count=3).compare()
    assert (seen.faults, seen.unwritten, seen.wrong) == ([Fault(6, 1, 0)], 40, 0)


def test_every_kind_is_met() -> None:
    """The table above has each kind of fault."""
    assert {spoiled[3].kind for spoiled in SPOILED.values()} == set(SAID)


def test_the_text_of_a_report(attend: Callable[..., Prefill], device: str) -> None:
    """One line: how many rows are not right, and what each kind of fault was."""
    batch = Batch.random(**BATCH, device=device)
    stale = Batch.random([10, 60, 5], heads=1, device=device, context_lens=[10, 200, 9])
    plan = stale.plan(cu_count=3)
    assert str(attend(batch, plan, cu_count=3).compare()) == (
        "does not match: of 60 rows 50 not written, first query 10 of head 0; "
        "work item 3 names a batch row that is not there (1 in all); "
        "work item 1 names queries that are not there, or more than a tile of them (2 in all); "
        "merge 0 writes queries that are not there, or more than a tile of them (1 in all)"
    )


def test_a_tail_of_zeros_is_no_empty_work(attend: Callable[..., Prefill], device: str) -> None:
    """With the offsets of a longer plan, an item of zeros empties partial tile 0: silently."""
    batch = Batch.random(**BATCH, device=device)
    plan = batch.plan(cu_count=3)
    plan["work_indptr"][3] += 1
    assert not plan["work_info"][3].any()
    seen = attend(batch, plan, cu_count=3).compare()
    assert (seen.faults, seen.unwritten, seen.first) == ([], 0, (20, 0))
    assert seen.wrong == 40


def test_a_step_s_work_with_another_step_s_merges(
    attend: Callable[..., Prefill], device: str
) -> None:
    """A torn plan: nothing points outside, two rows are left out."""
    batch = Batch.random(**BATCH, device=device)
    other = Batch.random([22, 38], heads=1, device=device, context_lens=[22, 198])
    merges = other.plan(cu_count=3)["reduce_final_map"]
    torn = {**batch.plan(cu_count=3), "reduce_final_map": merges}
    seen = attend(batch, torn, cu_count=3).compare()
    assert (seen.faults, seen.unwritten, seen.first) == ([], 2, (20, 0))
    assert seen.wrong == 38
