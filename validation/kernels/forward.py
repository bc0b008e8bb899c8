"""The persistent FP8 prefill attention kernel: each thread group walks its items of the plan.

It reads the arrays of the plan where AITER's `mla_prefill_ps_asm_fwd` reads them: a group its
two elements of `work_indptr` when it starts, and each item of `work_info` when its turn comes.
A whole tile goes to the output; a piece of a split tile goes to a partial tile, normalised, with
the natural logarithm of its softmax sum beside it, for the reduce kernel to merge. Nothing else
is written, and nothing is zeroed.

Q·K runs on FP8 operands, P·V on fp16 ones, to which V converts exactly, so that the result is close
enough to a float32 reference to show one wrong key.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .faults import HEAD, KEYS, PARTIAL, QUERIES, RANGE, ROW, report

PLAN_ARGUMENTS = ("work_indptr", "work_info")


def _score(
    q_low: tl.tensor,
    q_high: tl.tensor,
    k: tl.tensor,
    places: tl.tensor,
    mask: tl.tensor,
    heads: tl.tensor,
    head: tl.tensor,
) -> tl.tensor:
    """Return Q·K of [queries, places] in float32: 192 is no power of two, 128 + 64 is."""
    base = k + (places.to(tl.int64) * heads + head) * 192
    low = tl.arange(0, 128)
    high = 128 + tl.arange(0, 64)
    k_low = tl.load(base[:, None] + low[None, :], mask=mask[:, None], other=0.0)
    k_high = tl.load(base[:, None] + high[None, :], mask=mask[:, None], other=0.0)
    scores = tl.dot(q_low, tl.trans(k_low))
    return tl.dot(q_high, tl.trans(k_high), scores)


score = triton.jit(_score)


def _walk_keys(  # noqa: PLR0913 - likewise
    total: tl.tensor,
    top: tl.tensor,
    mass: tl.tensor,
    q_low: tl.tensor,
    q_high: tl.tensor,
    k: tl.tensor,
    v: tl.tensor,
    kv_page_indices: tl.tensor,
    first: tl.tensor,
    last: tl.tensor,
    limits: tl.tensor,
    heads: tl.tensor,
    head: tl.tensor,
    scale: tl.tensor,
    block_n: tl.constexpr,
    masked: tl.constexpr,
) -> tl.tensor:
    """Add the keys at [first, last) to a running softmax; query i sees those before limits[i]."""
    column = tl.arange(0, block_n)
    value = tl.arange(0, 128)
    for start in tl.range(first, last, block_n):
        place = start + column
        here = place < last
        page = tl.load(kv_page_indices + place, mask=here, other=0)
        scores = score(q_low, q_high, k, page, here, heads, head) * scale
        if masked:
            scores = tl.where(
                here[None, :] & (place[None, :] < limits[:, None]), scores, float("-inf")
            )
        new_top = tl.maximum(top, tl.max(scores, 1))
        # Where nothing was visible yet the top is -inf, and -inf - -inf is not a number.
        anchor = tl.where(new_top == float("-inf"), 0.0, new_top)
        weights = tl.exp2(scores - anchor[:, None])
        shrink = tl.exp2(top - anchor)
        mass = mass * shrink + tl.sum(weights, 1)
        v_base = v + (page.to(tl.int64) * heads + head) * 128
        values = tl.load(v_base[:, None] + value[None, :], mask=here[:, None], other=0.0)
        total = tl.dot(weights.to(tl.float16), values.to(tl.float16), total * shrink[:, None])
        top = new_top
    return total, top, mass


walk_keys = triton.jit(_walk_keys)


def _attend(  # noqa: PLR0913 - likewise
    row: tl.tensor,
    loc: tl.tensor,
    q_start: tl.tensor,
    q_end: tl.tensor,
    kv_start: tl.tensor,
    kv_end: tl.tensor,
    head: tl.tensor,
    q: tl.tensor,
    k: tl.tensor,
    v: tl.tensor,
    qo_indptr: tl.tensor,
    kv_indptr: tl.tensor,
    kv_page_indices: tl.tensor,
    split_data: tl.tensor,
    split_lse: tl.tensor,
    output: tl.tensor,
    heads: tl.tensor,
    scale: tl.tensor,
    v_factor: tl.tensor,
    causal: tl.constexpr,
    block_m: tl.constexpr,
    block_n: tl.constexpr,
) -> None:
    """Carry out one item, `block_m` queries at a time.

    A partial tile is written whole, with nothing in the rows past the item's queries, as AITER's
    kernel does. So an item of zeros, which a torn plan may have, empties partial tile 0.
    """
    q_base = tl.load(qo_indptr + row)
    kv_base = tl.load(kv_indptr + row)
    kv_len = tl.load(kv_indptr + row + 1) - kv_base
    # The first query sees this many keys fewer than the last.
    ahead = kv_len - (tl.load(qo_indptr + row + 1) - q_base)
    low = tl.arange(0, 128)
    high = 128 + tl.arange(0, 64)
    whole = loc == -1
    size = q_end - q_start
    for offset in tl.range(0, tl.where(whole, size, 256), block_m):
        query = q_start + offset + tl.arange(0, block_m)
        mine = query < q_end
        q_rows = q + (query.to(tl.int64) * heads + head) * 192
        q_low = tl.load(q_rows[:, None] + low[None, :], mask=mine[:, None], other=0.0)
        q_high = tl.load(q_rows[:, None] + high[None, :], mask=mine[:, None], other=0.0)
        limits = tl.zeros([block_m], tl.int32) + kv_end
        if causal:
            limits = tl.minimum(limits, kv_base + ahead + (query - q_base) + 1)
        # All keys before `clear` are visible to the first query, none at `stop` to the last.
        reach = tl.minimum(q_start + offset + block_m, q_end)
        clear = kv_end
        stop = kv_end
        if causal:
            clear = tl.minimum(clear, kv_base + ahead + (q_start + offset - q_base) + 1)
            stop = tl.minimum(stop, kv_base + ahead + (reach - 1 - q_base) + 1)
        stop = tl.where(offset < size, stop, kv_start)
        clear = tl.minimum(clear, stop)
        middle = kv_start + tl.maximum(clear - kv_start, 0) // block_n * block_n
        total = tl.zeros([block_m, 128], tl.float32)
        top = tl.zeros([block_m], tl.float32) + float("-inf")
        mass = tl.zeros([block_m], tl.float32)
        total, top, mass = walk_keys(
            *(total, top, mass, q_low, q_high, k, v, kv_page_indices, kv_start, middle, limits),
            *(heads, head, scale, block_n, False),
        )
        total, top, mass = walk_keys(
            *(total, top, mass, q_low, q_high, k, v, kv_page_indices, middle, stop, limits),
            *(heads, head, scale, block_n, True),
        )
        # Without keys both are 0, and so is the result; what is not a number stays that.
        share = tl.where(mass == 0.0, 1.0, mass)
        result = tl.where(mine[:, None], total / share[:, None] * v_factor, 0.0)
        if whole:
            target = output + (query.to(tl.int64) * heads + head) * 128
            tl.store(target[:, None] + low[None, :], result.to(tl.bfloat16), mask=mine[:, None])
        else:
            slot = loc.to(tl.int64) + (query - q_start)
            partial = split_data + (slot * heads + head) * 128
            tl.store(partial[:, None] + low[None, :], result)
            # From the base 2 of exp2 to the natural logarithm.
            lse = (top + tl.log2(share)) * 0.6931471805599453
            tl.store(split_lse + slot * heads + head, tl.where(mine, lse, float("-inf")))


attend = triton.jit(_attend)


def _forward(  # noqa: PLR0913 - likewise
    q: tl.tensor,
    k: tl.tensor,
    v: tl.tensor,
    qo_indptr: tl.tensor,
    kv_indptr: tl.tensor,
    kv_page_indices: tl.tensor,
    work_indptr: tl.tensor,
    work_info: tl.tensor,
    split_data: tl.tensor,
    split_lse: tl.tensor,
    output: tl.tensor,
    q_scale: tl.tensor,
    k_scale: tl.tensor,
    v_scale: tl.tensor,
    faults: tl.tensor,
    softmax_scale: tl.tensor,
    rows: tl.tensor,
    queries: tl.tensor,
    keys: tl.tensor,
    heads: tl.tensor,
    items: tl.tensor,
    partial_rows: tl.tensor,
    causal: tl.constexpr,
    block_m: tl.constexpr,
    block_n: tl.constexpr,
) -> None:
    """One program a thread group: check each of its items against the tensors, and carry it out."""
    group = tl.program_id(0)
    first = tl.load(work_indptr + group)
    last = tl.load(work_indptr + group + 1)
    # exp2 is the hardware's, hence log2(e).
    scale = softmax_scale * tl.load(q_scale) * tl.load(k_scale) * 1.4426950408889634
    v_factor = tl.load(v_scale)
    if (first < last) & ((first < 0) | (last > items)):
        report(faults, RANGE, group)
        last = first
    for item in tl.range(first, last):
        info = work_info + item * 8
        row = tl.load(info)
        loc = tl.load(info + 1)
        q_start = tl.load(info + 2)
        q_end = tl.load(info + 3)
        kv_start = tl.load(info + 4)
        kv_end = tl.load(info + 5)
        head = tl.load(info + 7) & 0xFFFF
        size = q_end - q_start
        if (row < 0) | (row >= rows):
            report(faults, ROW, item)
        elif (q_start < 0) | (q_end > queries) | (size > 256):
            report(faults, QUERIES, item)
        elif (kv_start < kv_end) & ((kv_start < 0) | (kv_end > keys)):
            report(faults, KEYS, item)
        elif head >= heads:
            report(faults, HEAD, item)
        elif (loc < -1) | ((loc >= 0) & (loc + 256 > partial_rows)):
            report(faults, PARTIAL, item)
        else:
            attend(
                *(row, loc, q_start, q_end, kv_start, kv_end, head, q, k, v),
                *(qo_indptr, kv_indptr, kv_page_indices, split_data, split_lse, output),
                *(heads, scale, v_factor, causal, block_m, block_n),
            )


# Where a number is 1 or divisible by 16 Triton would compile another kernel, and load it, at the
# first launch that has it: behind a waiting kernel that is a hang. Likewise for addresses: the
# arrays of a packed plan begin wherever the one before ends.
forward_kernel = triton.jit(
    _forward,
    do_not_specialize=[
        "softmax_scale",
        "rows",
        "queries",
        "keys",
        "heads",
        "items",
        "partial_rows",
    ],
    do_not_specialize_on_alignment=["qo_indptr", "kv_indptr", "kv_page_indices", *PLAN_ARGUMENTS],
)
