"""What AITER's prefill planner is given: a batch and buffers, and the reasons to refuse them.

The real planner (`get_ps_metadata_v1`, ROCm/aiter commit e4048607a535) checks very little.
Some inputs abort the process, hang it or read past an array: these are refused always
(`reasons_always`). Others yield a plan that silently leaves out work or reads the wrong keys:
these are refused unless the caller asks for the planner's true answer (`reasons_strict`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING

from ..model.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

INT32_MAX = 2**31 - 1
INT32_MIN = -(2**31)

BUFFERS: dict[str, tuple[int, ...]] = {
    "work_indptr": (),
    "work_info": (8,),
    "reduce_indptr": (),
    "reduce_final_map": (2,),
    "reduce_partial_map": (),
}
"""The arrays of a plan, and the length of a row of those that have two dimensions."""


class PlanRefused(BadInput, ValueError):
    """No plan is made; the message is one line that says why."""


def trunc_div(value: int, divisor: int) -> int:
    """Divide as C++ does, toward zero; `divisor` must be positive.

    >>> trunc_div(-300, 128)
    -2
    """
    return value // divisor if value >= 0 else -(-value // divisor)


@dataclass(frozen=True, slots=True)
class PlanInputs:
    """One call of the planner: a batch of rows and the geometry of the kernel.

    Row `b` owns the queries `qo_indptr[b]` to `qo_indptr[b + 1]` (tokens), the pages
    `kv_indptr[b]` to `kv_indptr[b + 1]` (of `block_size` tokens) and `context_lens[b]` keys
    (tokens). A *unit* is `kvlen_granularity` keys, the least amount dealt to a thread group.
    """

    qo_indptr: list[int]
    kv_indptr: list[int]
    context_lens: list[int]
    num_heads_k: int
    gqa_ratio: int
    cu_count: int
    qhead_granularity: int
    qlen_granularity: int
    kvlen_granularity: int
    block_size: int
    is_causal: bool

    @property
    def rows(self) -> int:
        """Batch rows."""
        return len(self.qo_indptr) - 1

    @property
    def clusters(self) -> int:
        """Sets of thread groups that carry out the same plan for different heads."""
        return gcd(self.num_heads_k, self.cu_count)

    @property
    def groups(self) -> int:
        """Thread groups in a cluster; one runs on each compute unit."""
        return self.cu_count // self.clusters

    @property
    def cluster_heads(self) -> int:
        """Heads that each thread group of a cluster walks through."""
        return self.num_heads_k // self.clusters

    @property
    def unit_blocks(self) -> int:
        """Pages in a unit."""
        return self.kvlen_granularity // self.block_size

    def visible(self, row: int, tile_end: int) -> int:
        """Keys (tokens) that queries up to `tile_end` of a row may see; negative if kv < q."""
        kv_len = self.context_lens[row]
        if not self.is_causal:
            return kv_len
        q_len = self.qo_indptr[row + 1] - self.qo_indptr[row]
        return min(kv_len - q_len + tile_end, kv_len)

    def units(self, kv_len: int) -> int:
        """Units that hold `kv_len` keys, rounded up as C++ does.

        Toward zero, so up to two units less one key of deficit still count as no work.
        """
        return trunc_div(kv_len + self.kvlen_granularity - 1, self.kvlen_granularity)


def check_inputs(inputs: PlanInputs, *, strict: bool) -> None:
    """Raise PlanRefused with the first reason against these inputs, if there is one."""
    for reason in reasons_always(inputs):
        raise PlanRefused(reason)
    for reason in reasons_strict(inputs) if strict else ():
        raise PlanRefused(reason)


def reasons_always(inputs: PlanInputs) -> Iterator[str]:
    """Yield why the real planner would abort, hang or leave its arrays on these inputs."""
    yield from _bad_numbers(inputs)
    yield from _short_arrays(inputs)
    yield from _wide_values(inputs)


def reasons_strict(inputs: PlanInputs) -> Iterator[str]:
    """Yield why the real planner's plan for these inputs would be wrong or meaningless."""
    yield from _long_arrays(inputs)
    yield from _duplicate_keys(inputs)
    yield from _falling("qo_indptr", inputs.qo_indptr)
    yield from _falling("kv_indptr", inputs.kv_indptr)
    yield from _other_pages(inputs)
    yield from _negative_units(inputs)


def _bad_numbers(inputs: PlanInputs) -> Iterator[str]:
    names = ("num_heads_k", "gqa_ratio", "cu_count", "qhead_granularity", "qlen_granularity")
    for name in (*names, "kvlen_granularity", "block_size"):
        if (value := getattr(inputs, name)) <= 0:
            yield f"{name} is {value}: it must be positive"
    heads, width = inputs.num_heads_k, inputs.qhead_granularity
    if heads * width > INT32_MAX:
        yield f"{heads} heads of {width} do not fit int32"
    kvlen, block = inputs.kvlen_granularity, inputs.block_size
    if kvlen & (kvlen - 1):
        yield f"kvlen_granularity {kvlen} is not a power of two: the real planner aborts"
    if kvlen % block:
        yield f"kvlen_granularity {kvlen} is not a multiple of block_size {block}"


def _short_arrays(inputs: PlanInputs) -> Iterator[str]:
    if not inputs.qo_indptr:
        yield "qo_indptr is empty: it needs one element more than there are rows"
    for name, need in (("kv_indptr", inputs.rows + 1), ("context_lens", inputs.rows)):
        if (given := len(getattr(inputs, name))) < need:
            yield (
                f"{name} has {given} elements, the {inputs.rows} rows of qo_indptr need {need}: "
                "the real planner reads past the end"
            )


def _long_arrays(inputs: PlanInputs) -> Iterator[str]:
    for name, need in (("kv_indptr", inputs.rows + 1), ("context_lens", inputs.rows)):
        if (given := len(getattr(inputs, name))) > need:
            yield f"{name} has {given} elements, the {inputs.rows} rows of qo_indptr need {need}"


def _wide_values(inputs: PlanInputs) -> Iterator[str]:
    for name in ("qo_indptr", "kv_indptr", "context_lens"):
        values: list[int] = getattr(inputs, name)
        if min(values, default=0) < INT32_MIN or max(values, default=0) > INT32_MAX:
            yield f"{name} holds a value that does not fit int32"
    if (longest := max(inputs.context_lens, default=0)) + inputs.kvlen_granularity > INT32_MAX:
        yield f"{longest} context tokens, rounded up to whole units, do not fit int32"


def _duplicate_keys(inputs: PlanInputs) -> Iterator[str]:
    """Find tiles of two rows with one query range; only a qo_indptr that falls holds any."""
    if not any(end < start for start, end in pairwise(inputs.qo_indptr)):
        return
    seen: dict[tuple[int, int], int] = {}
    for row, (start, end) in enumerate(pairwise(inputs.qo_indptr)):
        for lo in range(start, end, inputs.qlen_granularity):
            hi = min(lo + inputs.qlen_granularity, end)
            if (first := seen.setdefault((lo, hi), row)) != row:
                yield (
                    f"rows {first} and {row} both have a tile of queries {lo} to {hi}: "
                    "the reduce maps would merge them into one softmax"
                )


def _falling(name: str, indptr: list[int]) -> Iterator[str]:
    if indptr[0] < 0:
        yield f"{name} starts at {indptr[0]}: it must not be negative"
    for row, (start, end) in enumerate(pairwise(indptr)):
        if end < start:
            yield f"{name} falls from {start} to {end} at row {row}: it must never fall"


def _other_pages(inputs: PlanInputs) -> Iterator[str]:
    for row, (start, end) in enumerate(pairwise(inputs.kv_indptr)):
        tokens = inputs.context_lens[row]
        if tokens < 0 or -(-tokens // inputs.block_size) != end - start:
            yield (
                f"row {row} has {tokens} context tokens but {end - start} pages "
                f"of {inputs.block_size}"
            )


def _negative_units(inputs: PlanInputs) -> Iterator[str]:
    for row, (start, end) in enumerate(pairwise(inputs.qo_indptr)):
        # The first tile sees the fewest keys.
        visible = inputs.visible(row, min(inputs.qlen_granularity, end - start))
        if end > start and inputs.units(visible) < 0:
            yield (
                f"causal row {row} has {inputs.context_lens[row]} keys for {end - start} queries: "
                "a tile before the first key counts as negative work"
            )


def plan_sizes(
    batch_size: int,
    num_head_k: int,
    max_qlen: int,
    qlen_granularity: int = 256,
    *,
    cu_count: int,
    token_budget: int | None = None,
) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the plan's buffers, under AITER's names.

    Without `token_budget` these are the shapes of AITER's `get_ps_metadata_info_v1`, which
    lets every one of `batch_size` rows have `max_qlen` queries. `work_metadata_ptrs` is
    uint64 and never written by the planner; the others are int32.

    With `token_budget`, the queries (tokens) that all rows of a batch have together at most,
    the shapes suffice for every batch within the budget that a strict `plan_prefill` accepts,
    and some batch fills them (vLLM PR 57923 states the problem; this bound is lower than its):

    - *Tiles.* A row of q queries makes 1 + (q - 1) // g tiles. Giving r rows one query each
      and the other N - r in whole steps of g makes most: r + (N - r) // g, with all rows in
      use, and never more than a row's own limit S for each of them.
    - *Pieces.* A boundary between two of the T groups of a cluster cuts at most one tile, so
      a cluster has at most T - 1 pieces more than tiles. Each head has them once.
    - *Partials.* Only cut tiles have them, one more than cuts: at most min(tiles, T - 1) cut
      tiles, and T - 1 partials more.

    Where each piece writes a partial, as since aiter PR 3606, partials are pieces.

    >>> plan_sizes(1024, 16, 8192, cu_count=256)["reduce_partial_map"]
    (960,)
    >>> plan_sizes(1024, 16, 8192, cu_count=256, token_budget=8192)["reduce_partial_map"]
    (30,)

    Raises:
        PlanRefused: When a size is negative, or heads, granularity or units are not positive.
    """
    _check_sizes(batch_size, max_qlen, token_budget or 0, lowest=0)
    _check_sizes(num_head_k, qlen_granularity, cu_count, lowest=1)
    groups = cu_count // gcd(num_head_k, cu_count)
    row_tiles = -(-max_qlen // qlen_granularity)
    tiles = merges = batch_size * row_tiles
    pieces = (batch_size + groups - 1) * row_tiles
    partials = min(batch_size + groups - 1, 2 * (groups - 1)) * row_tiles
    if token_budget is not None:
        rows = min(batch_size, token_budget)
        tiles = min(rows * row_tiles, rows + (token_budget - rows) // qlen_granularity)
        cuts = groups - 1 if tiles else 0
        merges = min(tiles, cuts)
        pieces, partials = tiles + cuts, merges + cuts
    return {
        "work_metadata_ptrs": (2,),
        "work_indptr": (cu_count + 1,),
        "work_info": (pieces * num_head_k, 8),
        "reduce_indptr": (merges + 1,),
        "reduce_final_map": (merges, 2),
        "reduce_partial_map": (partials,),
    }


def _check_sizes(*sizes: int, lowest: int) -> None:
    for size in sizes:
        if size < lowest:
            raise PlanRefused(f"a size of {size} is below {lowest}: no buffer can be sized")


def check_buffers(
    buffers: Mapping[str, int | Sequence[int]], cu_count: int, *, strict: bool
) -> dict[str, tuple[int, ...]]:
    """Return the shapes as tuples; raise PlanRefused for one that is missing or malformed."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name, width in BUFFERS.items():
        shape = buffers.get(name, ())
        shapes[name] = (shape,) if isinstance(shape, int) else tuple(shape)
        if len(shapes[name]) != len(width) + 1 or shapes[name][1:] != width:
            wanted = ", ".join(["n", *map(str, width)])
            raise PlanRefused(f"buffer {name} has shape {list(shapes[name])}, not [{wanted}]")
    if strict and (given := shapes["work_indptr"][0]) > cu_count + 1:
        raise PlanRefused(
            f"work_indptr has {given} elements, more than cu_count + 1 = {cu_count + 1}: "
            "the reduce maps would come out empty"
        )
    return shapes


def check_room(needs: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise PlanRefused for buffers of fewer rows than the plan has: AITER writes past them."""
    short = [
        f"{name} needs {need} and has {shapes[name][0]}"
        for name, need in needs.items()
        if shapes[name][0] < need
    ]
    if short:
        raise PlanRefused(f"buffers too small: {', '.join(short)}")
