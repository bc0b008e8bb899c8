"""AITER's persistent-scheduling prefill planner, byte for byte, and its sizing calls.

The planner cuts every batch row into *tiles* of up to `qlen_granularity` queries, lays the keys
each tile may see end to end, and deals them out in equal shares to the *thread groups* of a GPU,
one per compute unit. A tile that falls to several groups is *split*: each of its *pieces* writes
a partial result, which the reduce kernel merges. `plan_prefill` returns the five arrays in which
the kernels read this plan.

Public source: ROCm/aiter commit e4048607a535 (`get_ps_metadata_v1` and
`get_ps_metadata_info_v1`), as vLLM has called it since PR 42509. aiter PR 3606 changed the
sizes later; nothing here follows it.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from operator import index
from typing import TYPE_CHECKING, NamedTuple, SupportsIndex, TypeAlias

import numpy as np

from .plan_inputs import (
    INT32_MAX,
    INT32_MIN,
    PlanInputs,
    PlanRefused,
    check_buffers,
    check_inputs,
    check_room,
    plan_sizes,
    trunc_div,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["Plan", "PlanRefused", "plan_lengths", "plan_prefill", "plan_sizes"]

UNSPLIT = -1
"""The `partial_o_loc` of a work item that writes its tile's final output itself."""


Plan: TypeAlias = "dict[str, NDArray[np.int32]]"
"""The arrays of a plan by name, in the order in which AITER copies them out.

- `work_indptr` [cu_count + 1]: thread group `w` runs items `work_indptr[w]` to
  `work_indptr[w + 1]`.
- `work_info` [items, 8]: row, partial_o_loc, qo_start, qo_end, kv_start, kv_end, kv_offset,
  head range. Queries are tokens, keys are pages; `kv_offset` is in tokens.
- `reduce_indptr` [merges + 1]: merge `i` reads the partials `reduce_indptr[i]` to
  `reduce_indptr[i + 1]`.
- `reduce_final_map` [merges, 2]: the queries (tokens) that each merge writes.
- `reduce_partial_map` [partials]: first row of each partial tile, ascending within a merge.

Each is as long as its buffer: past the plan `reduce_indptr` repeats its last element, which is
the number of partials, and the others are zero.
"""


class Tile(NamedTuple):
    """Up to `qlen_granularity` queries of one row: `blocks` pages of keys, `visible` tokens."""

    row: int
    qo_start: int
    qo_end: int
    blocks: int
    visible: int


class Piece(NamedTuple):
    """The share of a tile that one thread group computes: a work item without its head."""

    row: int
    partial_o_loc: int
    qo_start: int
    qo_end: int
    kv_start: int
    kv_end: int
    kv_offset: int


def plan_prefill(  # noqa: PLR0913 - the parameters of the AITER call
    qo_indptr: Iterable[SupportsIndex],
    kv_indptr: Iterable[SupportsIndex],
    context_lens: Iterable[SupportsIndex],
    *,
    num_heads_k: int,
    gqa_ratio: int,
    cu_count: int,
    qhead_granularity: int,
    qlen_granularity: int,
    kvlen_granularity: int,
    block_size: int,
    is_causal: bool,
    buffers: Mapping[str, int | Sequence[int]],
    strict: bool = True,
) -> Plan:
    """Plan a batch of B prefill rows, as AITER's `get_ps_metadata_v1` does.

    Args:
        qo_indptr: [B + 1] first query of each row (tokens), from any base.
        kv_indptr: [B + 1] first key of each row (pages).
        context_lens: [B] keys of each row (tokens).
        num_heads_k: Heads of keys; each work item computes one.
        gqa_ratio: Query heads per key head. The planner does not read it.
        cu_count: Compute units of the device, hence thread groups.
        qhead_granularity: Query heads an item covers; enters the head range only.
        qlen_granularity: Queries in a tile (tokens).
        kvlen_granularity: Least share of keys to deal (tokens): a power of two, and a
            multiple of `block_size`.
        block_size: Tokens in a page.
        is_causal: Query `i` sees keys up to `i + kv - q` of its row only.
        buffers: Shapes of the five arrays, as from `plan_sizes`; the whole capacity is
            written. Other names are ignored.
        strict: Refuse inputs for which the real planner's plan is wrong. Otherwise
            reproduce that plan.

    Raises:
        PlanRefused: With `strict`, for a plan that would omit or misread work. Always,
            when a buffer is too small or the real planner would abort, hang or overflow.
    """
    arrays = ([index(value) for value in each] for each in (qo_indptr, kv_indptr, context_lens))
    inputs = PlanInputs(
        *arrays,
        num_heads_k=num_heads_k,
        gqa_ratio=gqa_ratio,
        cu_count=cu_count,
        qhead_granularity=qhead_granularity,
        qlen_granularity=qlen_granularity,
        kvlen_granularity=kvlen_granularity,
        block_size=block_size,
        is_causal=is_causal,
    )
    check_inputs(inputs, strict=strict)
    tiles = cut_tiles(inputs)
    shares = deal(inputs, tiles)
    if strict:
        _check_all_dealt(tiles, shares)
    shapes = check_buffers(buffers, cu_count, strict=strict)
    return _write(inputs, shares, shapes)


def plan_lengths(
    lengths: Sequence[int],
    *,
    cu_count: int,
    num_heads_k: int,
    context_lens: Sequence[int] | None = None,
    is_causal: bool = True,
    buffers: Mapping[str, int | Sequence[int]] | None = None,
) -> Plan:
    """Plan prompts of these lengths (tokens) with vLLM's geometry, in buffers just for them.

    The geometry is that of vLLM PR 42509: 256-query tiles, units of 128 keys, pages of one
    token. Keys are as many as queries unless `context_lens` says otherwise. `buffers` may give
    the shapes of buffers that are kept from batch to batch.
    """
    if buffers is None:
        longest = max(lengths, default=0)
        buffers = plan_sizes(len(lengths), num_heads_k, longest, cu_count=cu_count)
    contexts = lengths if context_lens is None else context_lens
    return plan_prefill(
        list(accumulate(lengths, initial=0)),
        list(accumulate(contexts, initial=0)),
        contexts,
        num_heads_k=num_heads_k,
        gqa_ratio=1,
        cu_count=cu_count,
        qhead_granularity=1,
        qlen_granularity=256,
        kvlen_granularity=128,
        block_size=1,
        is_causal=is_causal,
        buffers=buffers,
    )


def cut_tiles(inputs: PlanInputs) -> list[Tile]:
    """Cut each row into tiles, in the order first, last, second, last but one, and so on.

    The order pairs a tile that sees few keys with one that sees many.
    """
    tiles: list[Tile] = []
    for row, (base, end) in enumerate(pairwise(inputs.qo_indptr)):
        starts = range(0, end - base, inputs.qlen_granularity)
        for place in range(len(starts)):
            start = starts[-(place + 1) // 2] if place % 2 else starts[place // 2]
            stop = min(start + inputs.qlen_granularity, end - base)
            visible = inputs.visible(row, stop)
            blocks = inputs.units(visible) * inputs.unit_blocks
            tiles.append(Tile(row, base + start, base + stop, blocks, visible))
    return tiles


def deal(inputs: PlanInputs, tiles: list[Tile]) -> list[list[Piece]]:
    """Deal the tiles to the thread groups of one cluster, in order; one list a group.

    The first groups take one unit more where the units do not divide evenly.
    """
    units = sum(tile.blocks for tile in tiles) // inputs.unit_blocks
    quota = trunc_div(units, inputs.groups)
    spare = units - quota * inputs.groups
    if max(units, (quota + 1) * inputs.kvlen_granularity) > INT32_MAX:
        raise PlanRefused(f"{units} units of keys overflow the planner's 32-bit counts")
    dealer = _Dealer(inputs, tiles)
    return [dealer.take(quota + (group < spare)) for group in range(inputs.groups)]


class _Dealer:
    """The planner's walk along the tiles: where it stands, and the partial tiles so far."""

    def __init__(self, inputs: PlanInputs, tiles: list[Tile]) -> None:
        self.inputs = inputs
        self.tiles = tiles
        self.tile = 0
        self.consumed = 0
        self.partials = 0

    def take(self, units: int) -> list[Piece]:
        """Take pieces for one thread group until its quota is used up."""
        capacity = units * self.inputs.unit_blocks
        pieces: list[Piece] = []
        while self.tile < len(self.tiles) and capacity > 0:
            tile = self.tiles[self.tile]
            left = tile.visible - self.consumed * self.inputs.block_size
            if left <= capacity * self.inputs.block_size:
                capacity -= tile.blocks - self.consumed
                pieces.append(self._finish(tile))
            else:
                pieces.append(self._split(tile, capacity))
                capacity = 0
        return pieces

    def _finish(self, tile: Tile) -> Piece:
        """Take all that is left of a tile; negative blocks (kv far below q) give credit."""
        partial = self._next_partial() if self.consumed else UNSPLIT
        piece = self._piece(tile, partial, tile.blocks - self.consumed)
        self.tile += 1
        self.consumed = 0
        return piece._replace(kv_offset=0)

    def _split(self, tile: Tile, blocks: int) -> Piece:
        """Take the next `blocks` pages of a tile and leave the rest to the next group."""
        piece = self._piece(tile, self._next_partial(), blocks)
        self.consumed += blocks
        return piece

    def _piece(self, tile: Tile, partial: int, blocks: int) -> Piece:
        base, limit = self.inputs.kv_indptr[tile.row : tile.row + 2]
        start = base + self.consumed
        end = min(start + blocks, limit)
        # To the end of the row, not of the keys the tile may see.
        offset = self.inputs.context_lens[tile.row] - (end - base) * self.inputs.block_size
        return Piece(tile.row, partial, tile.qo_start, tile.qo_end, start, end, offset)

    def _next_partial(self) -> int:
        self.partials += 1
        return (self.partials - 1) * self.inputs.qlen_granularity


def _check_all_dealt(tiles: list[Tile], shares: list[list[Piece]]) -> None:
    """Refuse a plan that leaves out tiles: those without keys after the last tile with some."""
    dealt = {(piece.qo_start, piece.qo_end) for share in shares for piece in share}
    dropped = [tile for tile in tiles if (tile.qo_start, tile.qo_end) not in dealt]
    if dropped:
        tile = dropped[0]
        raise PlanRefused(
            f"row {tile.row} has queries {tile.qo_start} to {tile.qo_end} but no keys, and no work "
            f"follows: {len(dropped)} tiles at the end would be dropped, their output not written"
        )


def _write(
    inputs: PlanInputs, shares: list[list[Piece]], shapes: Mapping[str, tuple[int, ...]]
) -> Plan:
    """Write the plan into fresh arrays of these shapes, after checking that it fits."""
    # The real planner takes the number of items from the end of the array, so the maps are
    # empty where the array is longer than the groups.
    whole = shapes["work_indptr"][0] == inputs.cu_count + 1
    merges = _merges(shares) if whole else []
    partials = [loc for _, locs in merges for loc in locs]
    needs = {
        "work_indptr": inputs.cu_count + 1,
        "work_info": sum(map(len, shares)) * inputs.num_heads_k,
        "reduce_indptr": len(merges) + 1,
        "reduce_final_map": len(merges),
        "reduce_partial_map": len(partials),
    }
    check_room(needs, shapes)
    plan: Plan = {name: np.zeros(shapes[name], np.int32) for name in needs}
    _write_work(inputs, shares, plan)
    plan["reduce_indptr"][:] = len(partials)
    plan["reduce_indptr"][: len(merges) + 1] = [
        *accumulate((len(locs) for _, locs in merges), initial=0)
    ]
    if merges:
        plan["reduce_final_map"][: len(merges)] = [key for key, _ in merges]
    plan["reduce_partial_map"][: len(partials)] = partials
    return plan


def _merges(shares: list[list[Piece]]) -> list[tuple[tuple[int, int], list[int]]]:
    """Return each split tile's queries and its partial tiles, both in ascending order."""
    merges: dict[tuple[int, int], set[int]] = {}
    for share in shares:
        for piece in share:
            if piece.partial_o_loc != UNSPLIT:
                key = (piece.qo_start, piece.qo_end)
                merges.setdefault(key, set()).add(piece.partial_o_loc)
    return [(key, sorted(locs)) for key, locs in sorted(merges.items())]


def _write_work(inputs: PlanInputs, shares: list[list[Piece]], plan: Plan) -> None:
    """Repeat the shares for every head: cluster, then group, then head, then piece."""
    clusters, heads = inputs.clusters, inputs.cluster_heads
    counts = np.array([len(share) for share in shares])
    items = counts * heads
    total = int(items.sum())
    plan["work_indptr"][1 : inputs.cu_count + 1] = np.tile(items, clusters).cumsum()
    if not total:
        return
    place = np.arange(total) - np.repeat(items.cumsum() - items, items)
    share = np.repeat(counts, items)
    piece = np.repeat(counts.cumsum() - counts, items) + place % share
    head = place // share + np.arange(clusters)[:, None] * heads
    work = plan["work_info"][: clusters * total].reshape(clusters, total, 8)
    work[..., :7] = _int32([piece for share in shares for piece in share])[piece]
    work[..., 7] = _head_ranges(inputs)[head]


def _int32(pieces: list[Piece]) -> NDArray[np.int32]:
    wide = np.array(pieces, np.int64)
    if wide.min() < INT32_MIN or wide.max() > INT32_MAX:
        raise PlanRefused("a work item holds a value that does not fit int32")
    return wide.astype(np.int32)


def _head_ranges(inputs: PlanInputs) -> NDArray[np.int32]:
    """[num_heads_k]: first query head in the low half, the end in the high half; may wrap."""
    low = np.arange(inputs.num_heads_k, dtype=np.int64) * inputs.qhead_granularity
    return ((low & 0xFFFF) | (low + inputs.qhead_granularity << 16)).astype(np.int32)
