"""Random batches against a second formulation of the plan, which takes no walk.

Lay the tiles end to end on one axis of units. The groups' quotas cut the axis; a piece is where
a tile and a quota overlap. A tile without units belongs to the group that owns the unit after
it, and to none where the axis ends. Pieces of split tiles are numbered along the axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import gcd
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("numpy", reason="the planner needs numpy")

import numpy as np

from streamorder.validation.planner import Plan, PlanRefused, plan_prefill, plan_sizes

if TYPE_CHECKING:
    from collections.abc import Iterator

Work = list[int]
Tile = tuple[int, int, int]


@dataclass(frozen=True)
class Batch:
    """Rows of (queries, keys) in tokens, and the geometry."""

    rows: list[tuple[int, int]]
    heads: int
    cus: int
    tile: int
    unit: int
    block: int
    causal: bool
    base: int

    @property
    def clusters(self) -> int:
        """Sets of groups with the same work for other heads."""
        return gcd(self.heads, self.cus)

    @property
    def queries(self) -> list[int]:
        """`qo_indptr`."""
        return [*accumulate((q for q, _ in self.rows), initial=self.base)]

    @property
    def pages(self) -> list[int]:
        """`kv_indptr`."""
        return [*accumulate((-(-kv // self.block) for _, kv in self.rows), initial=self.base)]

    def plan(self, *, strict: bool) -> Plan:
        """Plan the batch in buffers of AITER's sizes for it."""
        longest = max((q for q, _ in self.rows), default=0)
        return plan_prefill(
            self.queries,
            self.pages,
            [kv for _, kv in self.rows],
            num_heads_k=self.heads,
            gqa_ratio=1,
            cu_count=self.cus,
            qhead_granularity=1,
            qlen_granularity=self.tile,
            kvlen_granularity=self.unit,
            block_size=self.block,
            is_causal=self.causal,
            buffers=plan_sizes(len(self.rows), self.heads, longest, self.tile, cu_count=self.cus),
            strict=strict,
        )

    def tiles(self) -> Iterator[tuple[Tile, int]]:
        """Each tile and its units, in the planner's order."""
        for row, (q, kv) in enumerate(self.rows):
            left = [(start, min(start + self.tile, q)) for start in range(0, q, self.tile)]
            base = self.queries[row]
            while left:
                for start, end in [left.pop(0), *([left.pop()] if left else [])]:
                    seen = kv - q + end if self.causal else kv
                    yield (row, base + start, base + end), max(0, -(-seen // self.unit))


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """Draw batches in which no tile has negative work: causal rows lack less than a unit."""
    causal = draw(st.booleans())
    unit = draw(st.sampled_from([64, 128]))
    lengths = st.one_of(st.integers(0, 40), st.integers(0, 900))
    rows = [
        (q, max(0, q + draw(st.integers(-unit, 900))) if causal else draw(lengths))
        for q in draw(st.lists(lengths, max_size=8))
    ]
    return Batch(
        rows=rows,
        heads=draw(st.integers(1, 20)),
        cus=draw(st.integers(1, 40)),
        tile=draw(st.sampled_from([16, 100, 256])),
        unit=unit,
        block=draw(st.sampled_from([1, 16, 64])),
        causal=causal,
        base=draw(st.integers(0, 50)),
    )


def shares(batch: Batch) -> list[list[tuple[Tile, int, int]]]:
    """Each thread group's pieces in one cluster: the tile, and its first and last unit + 1."""
    tiles = list(batch.tiles())
    groups = batch.cus // batch.clusters
    total = sum(units for _, units in tiles)
    quotas = [total // groups + (group < total % groups) for group in range(groups)]
    result = []
    for lo, hi in pairwise(accumulate(quotas, initial=0)):
        place, mine = 0, []
        for tile, units in tiles:
            first, last = max(lo, place), min(hi, place + units)
            if first < last or (not units and lo <= place < hi):
                mine.append((tile, first - place, last - place))
            place += units
        result.append(mine)
    return result


def expected_work(batch: Batch) -> tuple[list[int], list[Work], dict[tuple[int, int], list[int]]]:
    """The items of each thread group, all items, and the partials of each split tile."""
    units = dict(batch.tiles())
    pages = batch.unit // batch.block
    dealt = shares(batch)
    split = [(g, p) for g, mine in enumerate(dealt) for p in mine if p[2] - p[1] < units[p[0]]]
    slots = {piece: number * batch.tile for number, piece in enumerate(split)}
    merges: dict[tuple[int, int], list[int]] = {}
    for (_, (tile, _, _)), slot in slots.items():
        merges.setdefault(tile[1:], []).append(slot)
    counts, work = [], []
    heads = batch.heads // batch.clusters
    for cluster in range(batch.clusters):
        for group, mine in enumerate(dealt):
            counts.append(heads * len(mine))
            for head in range(cluster * heads, (cluster + 1) * heads):
                for piece in mine:
                    (row, start, end), first, last = piece
                    base, limit = batch.pages[row : row + 2]
                    kv_end = min(base + last * pages, limit)
                    rest = batch.rows[row][1] - (kv_end - base) * batch.block
                    offset = 0 if last == units[piece[0]] else rest
                    slot = slots.get((group, piece), -1)
                    word = head | (head + 1) << 16
                    kv = [base + first * pages, kv_end, offset]
                    work.append([row, slot, start, end, *kv, word])
    return counts, work, merges


@settings(max_examples=250, deadline=None)
@given(batches())
def test_plan_has_the_closed_form(batch: Batch) -> None:
    """The walk and the closed form agree on every element of the five arrays."""
    plan = batch.plan(strict=False)
    counts, work, merges = expected_work(batch)
    assert plan["work_indptr"].tolist() == [*accumulate(counts, initial=0)]
    assert plan["work_info"][: len(work)].tolist() == work
    assert not plan["work_info"][len(work) :].any()
    ends = [*accumulate((len(merges[key]) for key in sorted(merges)), initial=0)]
    spare = len(plan["reduce_indptr"]) - len(ends)
    assert plan["reduce_indptr"].tolist() == ends + ends[-1:] * spare
    assert plan["reduce_final_map"][: len(merges)].tolist() == [list(key) for key in sorted(merges)]
    partials = [slot for key in sorted(merges) for slot in merges[key]]
    assert plan["reduce_partial_map"][: len(partials)].tolist() == partials
    assert not plan["reduce_final_map"][len(merges) :].any()
    assert not plan["reduce_partial_map"][len(partials) :].any()


@settings(max_examples=150, deadline=None)
@given(batches())
def test_strict_refuses_exactly_the_plans_that_omit_a_tile(batch: Batch) -> None:
    """What strict mode lets through writes all output; it changes no plan."""
    dealt = {tile for mine in shares(batch) for tile, _, _ in mine}
    if dealt == {tile for tile, _ in batch.tiles()}:
        strict, loose = batch.plan(strict=True), batch.plan(strict=False)
        assert all(np.array_equal(strict[name], loose[name]) for name in loose)
    else:
        with pytest.raises(PlanRefused, match="no keys"):
            batch.plan(strict=True)


@settings(max_examples=150, deadline=None)
@given(batches())
def test_pieces_cover_the_keys_of_each_tile_once(batch: Batch) -> None:
    """For each head, a tile's pieces follow one another from its row's start to its last unit."""
    plan = batch.plan(strict=False)
    spans: dict[tuple[int, Tile], list[tuple[int, int]]] = {}
    for row, _, start, end, lo, hi, _, word in plan["work_info"][
        : plan["work_indptr"][-1]
    ].tolist():
        spans.setdefault((word & 0xFFFF, (row, start, end)), []).append((lo, hi))
    pages = batch.unit // batch.block
    for tile, units in batch.tiles():
        base, limit = batch.pages[tile[0] : tile[0] + 2]
        for head in range(batch.heads):
            pieces = sorted(spans.pop((head, tile), [(base, base)]))
            assert pieces[0][0] == base
            assert all(hi == lo for (_, hi), (lo, _) in pairwise(pieces))
            assert pieces[-1][1] == min(base + units * pages, limit)
    assert not spans


@settings(max_examples=150, deadline=None)
@given(batches())
def test_every_partial_tile_is_written_once_and_merged_once(batch: Batch) -> None:
    """A head writes each partial tile once; the maps list them all, two or more a merge."""
    plan = batch.plan(strict=False)
    items = plan["work_info"][: plan["work_indptr"][-1]].tolist()
    written = sorted((item[7], item[1]) for item in items if item[1] != -1)
    partials = plan["reduce_partial_map"][: plan["reduce_indptr"][-1]].tolist()
    words = {item[7] for item in items}
    assert written == sorted((word, slot) for word in words for slot in partials)
    assert sorted(partials) == [number * batch.tile for number in range(len(partials))]
    assert 1 not in np.diff(plan["reduce_indptr"])


def test_head_range_wraps_as_int32_does() -> None:
    """The range is two halves of a word: the start modulo 2**16, the end shifted out at the top."""
    plan = plan_prefill(
        [0, 2],
        [0, 2],
        [2],
        num_heads_k=3,
        gqa_ratio=1,
        cu_count=1,
        qhead_granularity=2**15,
        qlen_granularity=2,
        kvlen_granularity=128,
        block_size=1,
        is_causal=True,
        buffers=plan_sizes(1, 3, 2, 2, cu_count=1),
    )
    assert plan["work_info"][:, 7].tolist() == [-(2**31), 2**15, -(2**31)]
