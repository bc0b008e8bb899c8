"""Byte for byte what AITER's planner answered (README.md tells where the vectors come from)."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy", reason="the planner needs numpy")

from streamorder.validation.planner import PlanRefused, plan_prefill, plan_sizes

Vector = dict[str, Any]

HERE = Path(__file__).parent
VECTORS: list[Vector] = [
    json.loads(line)
    for line in gzip.decompress((HERE / "golden.jsonl.gz").read_bytes()).splitlines()
]
SMALL: list[Vector] = [
    json.loads(line) for line in (HERE / "small_plans.jsonl").read_text().splitlines()
]
REFUSED = {
    "edge/all_kv_zero": "no keys",
    "edge/trailing_kv_zero_dropped": "no keys",
    "edge/kv_ll_q_negative_total": "negative work",
    "edge/kv_ll_q_negative_credit": "negative work",
    "edge/context_gt_pages": "1500 context tokens but 700 pages",
    "edge/context_lt_pages": "700 context tokens but 1500 pages",
}


def test_there_are_466_vectors() -> None:
    """None was lost, and no name occurs twice."""
    assert len({vector["name"] for vector in VECTORS}) == len(VECTORS) == 466


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_vector(vector: Vector) -> None:
    """All five arrays have the bytes that AITER wrote, and the shapes of the buffers."""
    plan = plan_prefill(**vector["call"], strict=False)
    digests = {
        array: hashlib.sha256(values.astype("<i4").tobytes()).hexdigest()[:32]
        for array, values in plan.items()
    }
    assert digests == vector["sha256"]
    assert {array: [*values.shape] for array, values in plan.items()} == vector["call"]["buffers"]
    items, merges, partials = vector["counts"]
    assert [plan["work_indptr"][-1], plan["reduce_indptr"][-1]] == [items, partials]
    assert len(set(plan["reduce_indptr"].tolist())) - 1 == merges


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_strict_refuses_the_six_whose_plan_is_wrong(vector: Vector) -> None:
    """Strict mode accepts every vector but six, which omit work or read other keys."""
    if reason := REFUSED.get(vector["name"]):
        with pytest.raises(PlanRefused, match=reason):
            plan_prefill(**vector["call"])
    else:
        plan_prefill(**vector["call"])


@pytest.mark.parametrize("expected", SMALL, ids=[plan["name"] for plan in SMALL])
def test_small_plan(expected: Vector) -> None:
    """The arrays of small plans, spelled out, for a failure that can be read."""
    (call,) = (vector["call"] for vector in VECTORS if vector["name"] == expected["name"])
    plan = plan_prefill(**call, strict=False)
    assert {name: values.ravel().tolist() for name, values in plan.items()} == {
        name: values for name, values in expected.items() if name != "name"
    }


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_buffers_have_the_sizes_that_aiter_gives(vector: Vector) -> None:
    """The vectors' buffers, sized by AITER for some batch and length, have our sizes too."""
    call, shapes = vector["call"], vector["call"]["buffers"]
    heads, cus, tile = call["num_heads_k"], call["cu_count"], call["qlen_granularity"]
    batch_tiles = shapes["reduce_final_map"][0]
    sized = [
        plan_sizes(batch_tiles // tiles, heads, tiles * tile, tile, cu_count=cus)
        for tiles in range(1, batch_tiles + 1)
        if batch_tiles % tiles == 0
    ]
    buffers = {name: tuple(shape) for name, shape in shapes.items()}
    assert buffers in [{name: sizes[name] for name in buffers} for sizes in sized]
