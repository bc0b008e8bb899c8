"""Buffers that always suffice, and that are no larger than they must be."""

from __future__ import annotations

import time
from itertools import accumulate
from math import gcd

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

pytest.importorskip("numpy", reason="the planner needs numpy")

from streamorder.validation.planner import (
    Plan,
    PlanRefused,
    plan_lengths,
    plan_prefill,
    plan_sizes,
)

ROW = 16 * 128 * 4
"""Bytes of one query's partial output: 16 heads of 128 fp32 values."""


def plan_rows(
    rows: list[tuple[int, int]], *, heads: int, cus: int, tile: int, token_budget: int | None
) -> Plan:
    """Plan rows of (queries, keys), not causal, in buffers for them or for a token budget."""
    return plan_prefill(
        [*accumulate((q for q, _ in rows), initial=0)],
        [*accumulate((kv for _, kv in rows), initial=0)],
        [kv for _, kv in rows],
        num_heads_k=heads,
        gqa_ratio=1,
        cu_count=cus,
        qhead_granularity=1,
        qlen_granularity=tile,
        kvlen_granularity=16,
        block_size=1,
        is_causal=False,
        buffers=plan_sizes(
            len(rows),
            heads,
            max(q for q, _ in rows),
            tile,
            cu_count=cus,
            token_budget=token_budget,
        ),
    )


def test_sizes_are_aiters() -> None:
    """The six shapes for vLLM's defaults on an MI355X: 256 rows of 8192 tokens, 16 heads."""
    assert plan_sizes(256, 16, 8192, cu_count=256) == {
        "work_metadata_ptrs": (2,),
        "work_indptr": (257,),
        "work_info": (138_752, 8),
        "reduce_indptr": (8193,),
        "reduce_final_map": (8192, 2),
        "reduce_partial_map": (960,),
    }
    assert plan_sizes(256, 128, 8192, cu_count=256)["work_info"] == (1_052_672, 8)


@pytest.mark.parametrize(("tokens", "gib"), [(8192, 1.88), (16384, 3.75)])
def test_published_workspace_without_a_budget(tokens: int, gib: float) -> None:
    """The table of vLLM PR 57923, before aiter PR 3606: partial tiles of 256 rows."""
    (partials,) = plan_sizes(1024, 16, tokens, cu_count=256)["reduce_partial_map"]
    assert round(partials * 256 * ROW / 2**30, 2) == gib


@pytest.mark.parametrize(("tokens", "published"), [(8192, 2.56), (16384, 2.62)])
def test_budget_is_below_the_published_workspace(tokens: int, published: float) -> None:
    """Even with a partial tile for every piece, as since aiter PR 3606, the bound is lower."""
    sizes = plan_sizes(1024, 16, tokens, cu_count=256, token_budget=tokens)
    pieces = sizes["work_info"][0] // 16
    assert pieces * 256 * ROW / 2**30 < 0.85 * published
    assert sizes["reduce_partial_map"] == (30,)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_budget_always_suffices(data: st.DataObject) -> None:
    """No batch within the budget is refused for want of room."""
    budget = data.draw(st.integers(1, 400))
    queries: list[int] = []
    for _ in range(data.draw(st.integers(1, 12))):
        queries.append(data.draw(st.integers(0, budget - sum(queries))))
    rows = [(q, data.draw(st.integers(1, 900))) for q in data.draw(st.permutations(queries))]
    plan_rows(
        rows,
        heads=data.draw(st.integers(1, 12)),
        cus=data.draw(st.integers(1, 24)),
        tile=data.draw(st.sampled_from([4, 16, 64])),
        token_budget=budget,
    )


@settings(max_examples=200, deadline=None)
@given(
    batch=st.integers(1, 10),
    budget=st.integers(1, 200),
    cus=st.integers(1, 16),
    tile=st.sampled_from([4, 16, 64]),
    longest=st.integers(1, 200),
)
def test_budget_is_tight(batch: int, budget: int, cus: int, tile: int, longest: int) -> None:
    """Some batch fills every buffer to the last element.

    One query a row, the rest in whole tiles, as many units a tile as there are groups: then no
    boundary between groups falls between tiles, unless tiles and groups have a common divisor.
    """
    queries = [1] * min(batch, budget)
    spare = (budget - len(queries)) // tile
    for row in range(len(queries)):
        more = min(spare, (longest - 1) // tile)
        queries[row] += more * tile
        spare -= more
    tiles = sum(-(-q // tile) for q in queries)
    assume(gcd(tiles, cus) == 1)
    sizes = plan_sizes(batch, 1, longest, tile, cu_count=cus, token_budget=budget)
    plan = plan_rows(
        [(q, 16 * cus) for q in queries], heads=1, cus=cus, tile=tile, token_budget=None
    )
    used = {
        "work_info": plan["work_indptr"][-1],
        "reduce_final_map": len(set(plan["reduce_indptr"].tolist())) - 1,
        "reduce_partial_map": plan["reduce_indptr"][-1],
    }
    assert used == {name: sizes[name][0] for name in used}


@given(
    batch=st.integers(0, 300),
    heads=st.integers(1, 130),
    longest=st.integers(0, 9000),
    tile=st.integers(1, 300),
    cus=st.integers(1, 310),
    budget=st.integers(0, 20_000),
)
def test_budget_never_asks_for_more_than_aiter(**bounds: int) -> None:
    """Whatever the bounds, a budget only takes away."""
    args = [bounds[name] for name in ("batch", "heads", "longest", "tile")]
    theirs = plan_sizes(*args, cu_count=bounds["cus"])
    ours = plan_sizes(*args, cu_count=bounds["cus"], token_budget=bounds["budget"])
    assert ours.keys() == theirs.keys()
    assert all(ours[name] <= theirs[name] for name in theirs)


@pytest.mark.parametrize(
    "bounds",
    [(-1, 1, 1, 1, 1), (1, 0, 1, 1, 1), (1, 1, -1, 1, 1), (1, 1, 1, 0, 1), (1, 1, 1, 1, 0)],
)
def test_senseless_bounds_are_refused(bounds: tuple[int, ...]) -> None:
    """A size below its least value is refused, not rounded."""
    *args, cus = bounds
    with pytest.raises(PlanRefused, match="no buffer can be sized"):
        plan_sizes(*args, cu_count=cus)


@pytest.mark.parametrize(
    ("lengths", "seconds"), [([8175], 0.01), ([8192] * 256, 0.6)], ids=["one8175", "256x8192"]
)
def test_planning_is_fast(lengths: list[int], seconds: float) -> None:
    """A plan takes 0.2 and 25 ms; the limits leave room for a busy machine."""
    best = seconds
    for _ in range(3):
        start = time.perf_counter()
        plan_lengths(lengths, cu_count=256, num_heads_k=16)
        best = min(best, time.perf_counter() - start)
    assert best < seconds
