"""Each reason to refuse, and what AITER's planner does with the same input instead."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("numpy", reason="the planner needs numpy")

import numpy as np

from streamorder.validation.planner import Plan, PlanRefused, plan_prefill, plan_sizes


def plan(*, strict: bool = True, **changes: Any) -> Plan:
    """Plan two rows on four units with 256-query tiles, but for `changes`."""
    call = {
        "qo_indptr": [0, 300, 556],
        "kv_indptr": [0, 700, 956],
        "context_lens": [700, 256],
        "num_heads_k": 1,
        "gqa_ratio": 1,
        "cu_count": 4,
        "qhead_granularity": 1,
        "qlen_granularity": 256,
        "kvlen_granularity": 128,
        "block_size": 1,
        "is_causal": True,
        "buffers": plan_sizes(4, 1, 1024, cu_count=4),
    }
    return plan_prefill(**{**call, **changes}, strict=strict)


def resized(name: str, *shape: int) -> dict[str, tuple[int, ...]]:
    """Ample buffers, but for one."""
    return {**plan_sizes(4, 1, 1024, cu_count=4), name: shape}


ALWAYS: dict[str, tuple[dict[str, Any], str]] = {
    "kvlen-power": ({"kvlen_granularity": 96}, "96 is not a power of two"),
    "kvlen-multiple": ({"block_size": 256}, "128 is not a multiple of block_size 256"),
    "kvlen-zero": ({"kvlen_granularity": 0}, "kvlen_granularity is 0: it must be positive"),
    "qlen-zero": ({"qlen_granularity": 0}, "qlen_granularity is 0"),
    "qlen-negative": ({"qlen_granularity": -256}, "qlen_granularity is -256"),
    "block-zero": ({"block_size": 0}, "block_size is 0"),
    "heads-zero": ({"num_heads_k": 0}, "num_heads_k is 0"),
    "units-zero": ({"cu_count": 0}, "cu_count is 0"),
    "no-indptr": ({"qo_indptr": []}, "qo_indptr is empty"),
    "short-pages": ({"kv_indptr": [0, 700]}, "kv_indptr has 2 elements, the 2 rows .* need 3"),
    "short-contexts": ({"context_lens": [700]}, "context_lens has 1 .* reads past the end"),
    "wide-value": ({"qo_indptr": [0, 300, 2**31]}, "qo_indptr holds a value .* not fit int32"),
    "wide-context": ({"context_lens": [2**31 - 1, 0]}, "rounded up to whole units, do not fit"),
    "wide-share": (
        {
            "kv_indptr": [0, 2**30, 2**31 - 1],
            "context_lens": [2**30, 2**30 - 1],
            "cu_count": 1,
            "is_causal": False,
        },
        "units of keys overflow",
    ),
    "wide-head": (
        {"num_heads_k": 2, "qhead_granularity": 2**30},
        "2 heads of 1073741824 do not fit int32",
    ),
    "missing-buffer": ({"buffers": {}}, r"buffer work_indptr has shape \[\], not \[n\]"),
    "flat-buffer": (
        {"buffers": resized("work_info", 800)},
        r"buffer work_info has shape \[800\], not \[n, 8\]",
    ),
    "few-groups": (
        {"buffers": resized("work_indptr", 4)},
        "buffers too small: work_indptr needs 5 and has 4",
    ),
    "few-items": ({"buffers": resized("work_info", 4, 8)}, "work_info needs 6 and has 4"),
    "few-merges": (
        {"buffers": resized("reduce_indptr", 2) | {"reduce_final_map": (1, 2)}},
        "reduce_indptr needs 3 and has 2, reduce_final_map needs 2 and has 1",
    ),
    "few-partials": (
        {"buffers": resized("reduce_partial_map", 4)},
        "reduce_partial_map needs 5 and has 4",
    ),
}


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "loose"])
@pytest.mark.parametrize(("changes", "reason"), ALWAYS.values(), ids=ALWAYS)
def test_refused_always(changes: dict[str, Any], reason: str, *, strict: bool) -> None:
    """The real planner would abort, hang, or read or write past an array."""
    with pytest.raises(PlanRefused, match=reason) as refusal:
        plan(**changes, strict=strict)
    assert "\n" not in str(refusal.value)


STRICTLY: dict[str, tuple[dict[str, Any], str]] = {
    "long-groups": (
        {"buffers": resized("work_indptr", 6)},
        r"work_indptr has 6 elements, more than cu_count \+ 1 = 5: the reduce maps",
    ),
    "kv-below-q": (
        {"kv_indptr": [0, 10, 266], "qo_indptr": [0, 600, 856], "context_lens": [10, 256]},
        "causal row 0 has 10 keys for 600 queries",
    ),
    "last-dropped": (
        {"kv_indptr": [0, 700, 700], "context_lens": [700, 0], "is_causal": False},
        "row 1 has queries 300 to 556 but no keys, and no work follows: 1 tiles",
    ),
    "all-dropped": (
        {"kv_indptr": [0, 0, 0], "context_lens": [0, 0], "is_causal": False},
        "row 0 has queries 0 to 256 but no keys, and no work follows: 3 tiles",
    ),
    "queries-fall": ({"qo_indptr": [0, 300, 200]}, "qo_indptr falls from 300 to 200 at row 1"),
    "queries-negative": ({"qo_indptr": [-1, 300, 556]}, "qo_indptr starts at -1"),
    "pages-fall": (
        {"kv_indptr": [0, 700, 600], "context_lens": [700, 0]},
        "kv_indptr falls from 700 to 600 at row 1",
    ),
    "same-key": (
        {
            "qo_indptr": [0, 300, 0, 300],
            "kv_indptr": [0, 900, 900, 1540],
            "context_lens": [900, 0, 640],
            "is_causal": False,
        },
        "rows 0 and 2 both have a tile of queries 0 to 256",
    ),
    "context-long": ({"context_lens": [701, 256]}, "row 0 has 701 context tokens but 700 pages"),
    "context-short": ({"context_lens": [700, 255]}, "row 1 has 255 context tokens but 256 pages"),
    "context-negative": (
        {"kv_indptr": [0, 0, 256], "context_lens": [-1, 256], "is_causal": False},
        "row 0 has -1 context tokens",
    ),
    "many-pages": ({"kv_indptr": [0, 700, 956, 999]}, "kv_indptr has 4 elements"),
    "many-contexts": ({"context_lens": [700, 256, 1]}, "context_lens has 3 elements"),
}


@pytest.mark.parametrize(("changes", "reason"), STRICTLY.values(), ids=STRICTLY)
def test_refused_by_strict_only(changes: dict[str, Any], reason: str) -> None:
    """The real planner answers, and so do we when asked, but the answer is wrong."""
    with pytest.raises(PlanRefused, match=reason) as refusal:
        plan(**changes)
    assert "\n" not in str(refusal.value)
    plan(**changes, strict=False)


def test_unchanged_call_is_planned() -> None:
    """The calls above fail for their change alone; two of three tiles are split."""
    arrays = plan()
    assert arrays["work_indptr"].tolist() == [0, 1, 3, 4, 6]
    assert arrays["reduce_indptr"].tolist()[:5] == [0, 2, 5, 5, 5]


def test_refusal_is_a_value_error_and_bad_input() -> None:
    """Callers may catch it as Python's own, and the command line as the project's."""
    with pytest.raises(ValueError, match="must be positive") as refusal:
        plan(cu_count=-1)
    assert refusal.value.exit_code == 2  # type: ignore[attr-defined]


def test_numbers_must_be_whole() -> None:
    """A float is a mistake of type, not a value to refuse."""
    with pytest.raises(TypeError, match="float"):
        plan(context_lens=[700.0, 256.0])


def test_arrays_are_as_good_as_lists() -> None:
    """Int32 arrays, as the real planner wants them, give the same plan."""
    names = ("qo_indptr", "kv_indptr", "context_lens")
    values = ([0, 300, 556], [0, 700, 956], [700, 256])
    arrays: dict[str, Any] = {
        name: np.array(list_, np.int32) for name, list_ in zip(names, values, strict=True)
    }
    assert all(np.array_equal(plan(**arrays)[name], plan()[name]) for name in plan())


def test_long_work_indptr_empties_the_maps() -> None:
    """AITER takes the number of items from the array's end, which stays 0 past the groups."""
    exact, long = plan(), plan(buffers=resized("work_indptr", 9), strict=False)
    assert long["work_indptr"].tolist() == [*exact["work_indptr"].tolist(), 0, 0, 0, 0]
    assert np.array_equal(long["work_info"], exact["work_info"])
    assert exact["reduce_indptr"][-1] == 5
    assert not any(long[name].any() for name in long if name.startswith("reduce"))


def test_negative_work_costs_an_earlier_tile_its_last_piece() -> None:
    """Row 1 has no keys for 512 queries: its negative units take row 0's quota away.

    The merge of one partial is then skipped by the reduce kernel. With buffers as AITER sizes
    them the real planner writes past the end of `reduce_partial_map`, which has no element.
    """
    call = {
        "qo_indptr": [0, 256, 768],
        "kv_indptr": [0, 384, 384],
        "context_lens": [384, 0],
        "cu_count": 1,
    }
    sizes = plan_sizes(2, 1, 512, cu_count=1)
    with pytest.raises(PlanRefused, match="causal row 1 has 0 keys for 512 queries"):
        plan(**call, buffers=sizes)
    with pytest.raises(PlanRefused, match="reduce_partial_map needs 1 and has 0"):
        plan(**call, buffers=sizes, strict=False)
    arrays = plan(**call, buffers=sizes | {"reduce_partial_map": 1}, strict=False)
    assert arrays["work_info"].tolist()[0] == [0, 0, 0, 256, 0, 256, 128, 65536]
    assert arrays["reduce_indptr"].tolist() == [0, 1, 1, 1, 1]


def test_one_softmax_for_two_rows() -> None:
    """Rows with one query range share a merge, whose partials are of both."""
    changes, _ = STRICTLY["same-key"]
    arrays = plan(**changes, strict=False)
    merged = arrays["reduce_partial_map"][: arrays["reduce_indptr"][1]].tolist()
    rows = [item[0] for item in arrays["work_info"].tolist() if item[1] in merged and any(item)]
    assert arrays["reduce_final_map"][0].tolist() == [0, 256]
    assert rows == [0, 0, 2, 2]
