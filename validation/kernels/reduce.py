"""The reduce kernel: it merges the partial tiles of each split tile into the output.

It reads the three reduce arrays where AITER's `mla_reduce_v1` reads them. Merge `i` has the
partials at `reduce_indptr[i]` to `reduce_indptr[i + 1]` of `reduce_partial_map`, and writes the
queries `reduce_final_map[i]`. A merge of no partial or of one is skipped, so its queries keep what
they had; and merges end at the first whose start is the last element of `reduce_indptr`.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .faults import MERGE, MERGED_PARTIAL, MERGED_QUERIES, report


def _merge(  # noqa: PLR0913 - what Triton compiles has no objects to pass
    start: tl.tensor,
    end: tl.tensor,
    q_start: tl.tensor,
    size: tl.tensor,
    head: tl.tensor,
    part: tl.tensor,
    reduce_partial_map: tl.tensor,
    split_data: tl.tensor,
    split_lse: tl.tensor,
    output: tl.tensor,
    heads: tl.tensor,
    block: tl.constexpr,
) -> None:
    """Merge `block` queries of one head: partials weigh by their share of the softmax sum."""
    offset = part * block + tl.arange(0, block)
    value = tl.arange(0, 128)
    mine = offset < size
    top = tl.zeros([block], tl.float32) + float("-inf")
    for at in tl.range(start, end):
        slot = tl.load(reduce_partial_map + at).to(tl.int64) + offset
        top = tl.maximum(top, tl.load(split_lse + slot * heads + head, mask=mine, other=0.0))
    # Where no partial saw a key, all are -inf, and -inf - -inf is not a number.
    anchor = tl.where(top == float("-inf"), 0.0, top)
    total = tl.zeros([block, 128], tl.float32)
    mass = tl.zeros([block], tl.float32)
    for at in tl.range(start, end):
        slot = tl.load(reduce_partial_map + at).to(tl.int64) + offset
        lse = tl.load(split_lse + slot * heads + head, mask=mine, other=0.0)
        weight = tl.exp(lse - anchor)
        source = split_data + (slot * heads + head) * 128
        piece = tl.load(source[:, None] + value[None, :], mask=mine[:, None], other=0.0)
        total += weight[:, None] * piece
        mass += weight
    # Not `mass > 0`, which would turn a partial that is not a number into zeros.
    result = total / tl.where(mass == 0.0, 1.0, mass)[:, None]
    query = q_start.to(tl.int64) + offset
    target = output + (query * heads + head) * 128
    tl.store(target[:, None] + value[None, :], result.to(tl.bfloat16), mask=mine[:, None])


merge = triton.jit(_merge)


def _missing(
    start: tl.tensor,
    end: tl.tensor,
    size: tl.tensor,
    reduce_partial_map: tl.tensor,
    partial_rows: tl.tensor,
) -> tl.tensor:
    """Count the partials of a merge that lie outside the partial tiles."""
    missing = start * 0
    for at in tl.range(start, end):
        loc = tl.load(reduce_partial_map + at)
        missing += ((loc < 0) | (loc + size > partial_rows)).to(tl.int32)
    return missing


missing_partials = triton.jit(_missing)


def _reduce(  # noqa: PLR0913 - likewise
    reduce_indptr: tl.tensor,
    reduce_final_map: tl.tensor,
    reduce_partial_map: tl.tensor,
    split_data: tl.tensor,
    split_lse: tl.tensor,
    output: tl.tensor,
    faults: tl.tensor,
    merges: tl.tensor,
    partials: tl.tensor,
    queries: tl.tensor,
    partial_rows: tl.tensor,
    heads: tl.tensor,
    block: tl.constexpr,
) -> None:
    """A program takes every so many merges of one head, and `block` queries of each."""
    head = tl.program_id(1)
    part = tl.program_id(2)
    everything = tl.load(reduce_indptr + merges)
    for number in tl.range(tl.program_id(0), merges, tl.num_programs(0)):
        start = tl.load(reduce_indptr + number)
        end = tl.load(reduce_indptr + number + 1)
        if (start < everything) & (end - start > 1):
            q_start = tl.load(reduce_final_map + number * 2)
            size = tl.load(reduce_final_map + number * 2 + 1) - q_start
            fault = -1
            if (start < 0) | (end > partials):
                fault = MERGE
            elif (q_start < 0) | (q_start + size > queries) | (size > 256):
                fault = MERGED_QUERIES
            elif missing_partials(start, end, size, reduce_partial_map, partial_rows) > 0:
                fault = MERGED_PARTIAL
            if fault == -1:
                merge(
                    *(start, end, q_start, size, head, part, reduce_partial_map),
                    *(split_data, split_lse, output, heads, block),
                )
            elif (head == 0) & (part == 0):
                report(faults, fault, number)


# As for the forward kernel: one variant, whatever the sizes are and wherever the arrays begin.
reduce_kernel = triton.jit(
    _reduce,
    do_not_specialize=["merges", "partials", "queries", "partial_rows", "heads"],
    do_not_specialize_on_alignment=["reduce_indptr", "reduce_final_map", "reduce_partial_map"],
)
