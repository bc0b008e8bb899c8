"""A batch of prefill requests: FP8 queries, keys and values, and what attention gives for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import torch

from ...model.errors import BadInput
from ..planner import plan_lengths
from .shapes import QK_DIM, V_DIM

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..planner import Plan

FP8 = torch.float8_e4m3fn
"""What NVIDIA and gfx950 compute with. gfx942 has another FP8, and AITER no kernel for it."""

CHUNK = 512
"""Queries of the reference at once, so that its scores stay small."""


@dataclass(slots=True)
class Batch:
    """B prefill requests of one attention layer, as AITER's prefill kernel is given them.

    - `lengths`, `context_lens` [B]: queries and keys of each request (tokens).
    - `q` [total queries, heads, 192], `k` [pages, heads, 192], `v` [pages, heads, 128]: FP8.
    - `qo_indptr`, `kv_indptr` [B + 1]: first query and first key of each request (tokens).
    - `kv_page_indices` [total keys]: the page of each key; a page has one token.
    - `q_scale`, `k_scale`, `v_scale` [1]: float32 factors of what FP8 holds.
    """

    lengths: list[int]
    context_lens: list[int]
    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    qo_indptr: torch.Tensor
    kv_indptr: torch.Tensor
    kv_page_indices: torch.Tensor
    q_scale: torch.Tensor
    k_scale: torch.Tensor
    v_scale: torch.Tensor
    is_causal: bool = True
    softmax_scale: float = QK_DIM**-0.5
    _reference: torch.Tensor | None = field(default=None, repr=False)

    @classmethod
    def random(
        cls,
        lengths: Sequence[int],
        *,
        heads: int,
        device: torch.device | str,
        context_lens: Sequence[int] | None = None,
        is_causal: bool = True,
        scattered: bool = False,
        scales: tuple[float, float, float] = (1.0, 1.0, 1.0),
        seed: int = 0,
    ) -> Batch:
        """Make a batch with normally distributed content, the same for one seed and device.

        Queries are twice as large as keys and values, so that attention is far from uniform and
        one wrong key can show. Keys are as many as queries unless `context_lens` says otherwise.
        With `scattered` the pages of the keys are in random order, else in theirs.
        """
        contexts = list(lengths if context_lens is None else context_lens)
        if len(contexts) != len(lengths) or min([*contexts, *lengths], default=0) < 0 or heads < 1:
            raise BadInput(
                f"no batch has {len(lengths)} lengths, {len(contexts)} context lengths and "
                f"{heads} heads: give as many of both, none below 0, and 1 head or more"
            )
        random = torch.Generator(device).manual_seed(seed)

        def fp8(rows: int, width: int, size: float) -> torch.Tensor:
            content = torch.randn(rows, heads, width, generator=random, device=device)
            return content.mul_(size).to(FP8)

        def int32(values: Sequence[int]) -> torch.Tensor:
            return torch.tensor(values, dtype=torch.int32, device=device)

        keys = sum(contexts)
        pages = (
            torch.randperm(keys, generator=random, device=device)
            if scattered
            else torch.arange(keys, device=device)
        )
        return cls(
            lengths=list(lengths),
            context_lens=contexts,
            q=fp8(sum(lengths), QK_DIM, 2.0),
            k=fp8(keys, QK_DIM, 1.0),
            v=fp8(keys, V_DIM, 1.0),
            qo_indptr=int32([*accumulate(lengths, initial=0)]),
            kv_indptr=int32([*accumulate(contexts, initial=0)]),
            kv_page_indices=pages.to(torch.int32),
            q_scale=torch.full((1,), scales[0], device=device),
            k_scale=torch.full((1,), scales[1], device=device),
            v_scale=torch.full((1,), scales[2], device=device),
            is_causal=is_causal,
        )

    @property
    def heads(self) -> int:
        """Heads of queries, and of keys: the kernels know no grouped queries."""
        return self.q.shape[1]

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.q.device

    def plan(
        self, *, cu_count: int, buffers: Mapping[str, int | Sequence[int]] | None = None
    ) -> Plan:
        """Plan this batch on the host, for arrays of these shapes or just for it."""
        return plan_lengths(
            self.lengths,
            cu_count=cu_count,
            num_heads_k=self.heads,
            context_lens=self.context_lens,
            is_causal=self.is_causal,
            buffers=buffers,
        )

    def reference(self) -> torch.Tensor:
        """Return attention in float32, [total queries, heads, 128]; computed once."""
        if self._reference is None:
            self._reference = self._compute_reference()
        return self._reference

    def _compute_reference(self) -> torch.Tensor:
        result = torch.zeros(self.q.shape[0], self.heads, V_DIM, device=self.device)
        for row, (start, end) in enumerate(pairwise(accumulate(self.lengths, initial=0))):
            for first in range(start, end, CHUNK):
                part = slice(first, min(first + CHUNK, end))
                result[part] = self._attention(row, part, first - start)
        return result

    def _attention(self, row: int, part: slice, first: int) -> torch.Tensor:
        """Attention of the queries `part` of a request, the first of which is its query `first`."""
        start = sum(self.context_lens[:row])
        pages = self.kv_page_indices[start : start + self.context_lens[row]].long()
        q = (self.q[part].float() * self.q_scale).transpose(0, 1)
        k = (self.k[pages].float() * self.k_scale).permute(1, 2, 0)
        v = (self.v[pages].float() * self.v_scale).transpose(0, 1)
        scores = q @ k * self.softmax_scale
        if self.is_causal:
            ahead = self.context_lens[row] - self.lengths[row]
            query = torch.arange(q.shape[1], device=self.device) + first + ahead
            later = torch.arange(k.shape[2], device=self.device)[None, :] > query[:, None]
            scores = scores.masked_fill(later, float("-inf"))
        # A query that sees no key has no softmax; its output is 0.
        return (scores.softmax(-1).nan_to_num(0.0) @ v).transpose(0, 1)


def plan_to_device(plan: Plan, device: torch.device | str) -> dict[str, torch.Tensor]:
    """Copy a plan's arrays to tensors of their own, and wait until they are there."""
    return {name: torch.from_numpy(array).to(device) for name, array in plan.items()}


def partial_tiles(plan: Plan) -> int:
    """Return how many partial tiles a plan writes, from the host's copy of it."""
    return int(plan["reduce_indptr"][-1])
