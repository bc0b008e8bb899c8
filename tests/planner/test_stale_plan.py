"""What kernels do that find another step's plan: harmless, silently wrong, or out of range."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamorder.validation.stale_plan import Effect, effect, partial_rows, planned, trimmed

LENGTHS = st.lists(st.integers(1, 3000), min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("launched", "found", "said", "why"),
    [
        ([8175], [8175], Effect.HARMLESS, "the same prompts have the same plan"),
        ([8175], [6992, 6896, 2495], Effect.OUT_OF_RANGE, "rows 1 and 2, queries beyond 8175"),
        ([6992, 6896, 2495], [8175], Effect.SILENT, "row 0 has 6992 queries, but there are 16383"),
        ([8175], [6800], Effect.OUT_OF_RANGE, "30 partial tiles where none is allocated"),
        ([6800], [8175], Effect.OUT_OF_RANGE, "queries 6800 to 8175"),
        ([4096] * 4, [4096] * 2, Effect.SILENT, "the last two rows are left out"),
        ([4096] * 4, [4096] * 3, Effect.OUT_OF_RANGE, "partial tiles where none is allocated"),
        ([4096] * 3, [4096] * 4, Effect.OUT_OF_RANGE, "row 3"),
    ],
)
def test_by_hand(launched: list[int], found: list[int], said: Effect, why: str) -> None:
    """The batches of vLLM's reproducer and their neighbours."""
    assert effect(launched, found) is said, why


@settings(max_examples=60, deadline=None)
@given(LENGTHS, LENGTHS)
def test_in_range_means_what_it_says(launched: list[int], found: list[int]) -> None:
    """Item by item: rows, queries and partial results that the launched step has. Only its own plan
    is harmless.
    """
    got = effect(launched, found, cu_count=8, num_heads_k=2)
    own, other = (planned(tuple(lengths), 8, 2) for lengths in (launched, found))
    inside = all(
        row < len(launched) and last <= sum(launched) and loc < partial_rows(own)
        for row, loc, _first, last, *_rest in trimmed(other, "work_info").tolist()
    )
    assert (got is not Effect.OUT_OF_RANGE) == inside
    if launched == found:
        assert got is Effect.HARMLESS
    if sorted(launched) != sorted(found):
        assert got is not Effect.HARMLESS
