"""What the prefill kernels of one step do when they find the plan of another.

The kernels take their tensors from the step that launched them and their work from the plan. So a
plan made for other prompts sends them to rows and queries that those tensors may not have. Which
accesses are bounded follows the kernels of ROCm/aiter commit e4048607a535: keys, values and pages
are limited by their tensors; the output is limited by the work item itself, partial results and
the row pointers not at all.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from .planner import plan_lengths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .planner import Plan

QUERIES = 256
"""Queries in a tile, and rows in a partial result, as vLLM calls the planner (PR 42509)."""


class Effect(Enum):
    """What happens: the same work as intended; other work inside the step's own tensors; accesses
    outside them, which may fault or overwrite something else.
    """

    HARMLESS = "harmless"
    SILENT = "silently wrong"
    OUT_OF_RANGE = "out of range"


def effect(
    launched: Sequence[int], found: Sequence[int], *, cu_count: int = 256, num_heads_k: int = 16
) -> Effect:
    """What kernels launched for prompts of the lengths `launched` do with the plan for `found`.

    Lengths are in tokens, without earlier context. A plan that is replaced while its kernels run
    is torn only for the copies' time, far below a layer's; here a kernel finds it whole.
    """
    own = planned(tuple(launched), cu_count, num_heads_k)
    other = planned(tuple(found), cu_count, num_heads_k)
    if outside(other, rows=len(launched), queries=sum(launched), partials=partial_rows(own)):
        return Effect.OUT_OF_RANGE
    same = all(np.array_equal(trimmed(own, name), trimmed(other, name)) for name in own)
    return Effect.HARMLESS if same else Effect.SILENT


@lru_cache(maxsize=256)
def planned(lengths: tuple[int, ...], cu_count: int, num_heads_k: int) -> Plan:
    """The plan for prompts of these lengths, remembered."""
    return plan_lengths(lengths, cu_count=cu_count, num_heads_k=num_heads_k)


def items(plan: Plan) -> int:
    """How many work items the kernels run through."""
    return int(plan["work_indptr"][-1])


def merges(plan: Plan) -> int:
    """How many tiles the reduce kernel merges."""
    total = plan["reduce_indptr"][-1]
    return int(np.searchsorted(plan["reduce_indptr"], total)) if total else 0


def partial_rows(plan: Plan) -> int:
    """The rows of partial results that vLLM allocates for a plan: 256 a partial tile."""
    return int(plan["reduce_indptr"][-1]) * QUERIES


def trimmed(plan: Plan, name: str) -> NDArray[np.int32]:
    """The part of an array that the kernels use."""
    used = {
        "work_indptr": len(plan["work_indptr"]),
        "work_info": items(plan),
        "reduce_indptr": merges(plan) + 1,
        "reduce_final_map": merges(plan),
        "reduce_partial_map": int(plan["reduce_indptr"][-1]),
    }
    return plan[name][: used[name]]


def outside(plan: Plan, *, rows: int, queries: int, partials: int) -> bool:
    """Whether a plan names a row, a query or a partial result that a step's tensors lack."""
    work = trimmed(plan, "work_info")
    if not len(work):
        return False
    finals, locs = trimmed(plan, "reduce_final_map"), trimmed(plan, "reduce_partial_map")
    return bool(
        work[:, 0].max() >= rows
        or work[:, 3].max() > queries
        or work[:, 1].max() >= partials
        or (len(finals) and finals[:, 1].max() > queries)
        or (len(locs) and locs.max() >= partials)
    )
