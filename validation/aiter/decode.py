"""AITER's persistent decode: its planner on the current stream, and its kernel.

Unlike the prefill planner this one is a kernel: plan and use are ordered by the stream that both
are on. What AITER does not say, and is minded here:

- The data types default to bf16: left out for FP8, the plan is for another fold of the heads
  (vLLM PR 46997).
- With bf16, 16 heads and 32 or more requests `mla_decode_fwd` quietly ignores the plan, unless it
  is told a number of splits.
- FP8 needs both scales.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ...model.errors import BadInput
from ..plan_inputs import BUFFERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .library import Aiter

FP8 = (torch.float8_e4m3fn, torch.float8_e4m3fnuz)


class DecodeBatch(NamedTuple):
    """B requests, as index tensors on the device; they are made contiguous int32 where they go in.

    - `qo_indptr` [B + 1]: first query of each request; `kv_indptr` [B + 1]: its first page;
    - `kv_indices` [used pages]: the page at each place;
    - `kv_last_page_lens` [B]: tokens in the last page of each.
    """

    qo_indptr: torch.Tensor
    kv_indptr: torch.Tensor
    kv_indices: torch.Tensor
    kv_last_page_lens: torch.Tensor


class AiterDecode:
    """Six device buffers for up to `max_batch` requests, and what fills and reads them.

    `heads` is a multiple of 16, up to 128: AITER folds more than 16 into several batches, and for
    other numbers has no persistent kernel (8 heads have one in two special cases only).
    """

    def __init__(
        self,
        library: Aiter,
        *,
        max_batch: int,
        max_qlen: int,
        heads: int,
        q_dtype: torch.dtype,
        kv_dtype: torch.dtype,
        page_size: int = 1,
        device: torch.device | str = "cuda",
    ) -> None:
        if heads % 16 or not 16 <= heads <= 128:
            raise BadInput(f"persistent decode needs 16, 32, ... or 128 heads, not {heads}")
        if page_size < 1 or page_size & (page_size - 1):
            raise BadInput(f"page_size {page_size} is not a power of two")
        self.library, self.heads, self.max_qlen, self.page_size = (
            library,
            heads,
            max_qlen,
            page_size,
        )
        self.q_dtype, self.kv_dtype = q_dtype, kv_dtype
        sizes = library["get_mla_metadata_info_v1"](
            {
                "batch_size": max_batch,
                "max_seqlen_qo": max_qlen,
                "num_head_qo": heads,
                "q_dtype": q_dtype,
                "kv_dtype": kv_dtype,
                "is_sparse": False,
                "fast_mode": True,
            }
        )
        names = ("work_metadata_ptrs", *BUFFERS)
        self.buffers = {
            name: torch.zeros(shape, dtype=kind, device=device)
            for name, (shape, kind) in zip(names, sizes, strict=True)
        }

    def plan(self, batch: DecodeBatch) -> None:
        """Plan a batch on the current stream, into the buffers."""
        metadata = self.library["get_mla_metadata_v1"]
        split_types = metadata.has("dtype_q_nope") and not metadata.has("dtype_q")
        types = (
            {
                "dtype_q_nope": self.q_dtype,
                "dtype_q_rope": self.q_dtype,
                "dtype_kv_nope": self.kv_dtype,
                "dtype_kv_rope": self.kv_dtype,
            }
            if split_types
            else {"dtype_q": self.q_dtype, "dtype_kv": self.kv_dtype}
        )
        metadata(
            {
                "seqlens_qo_indptr": device_int32(batch.qo_indptr),
                "seqlens_kv_indptr": device_int32(batch.kv_indptr),
                "kv_last_page_lens": device_int32(batch.kv_last_page_lens),
                "num_heads_per_head_k": self.heads,
                "num_heads_k": 1,
                "is_causal": True,
                "work_metadata_ptrs": self.buffers["work_metadata_ptrs"],
                "work_info": self.buffers["work_info"],
                "work_indptr": self.buffers["work_indptr"],
                "reduce_indptr": self.buffers["reduce_indptr"],
                "reduce_final_map": self.buffers["reduce_final_map"],
                "reduce_partial_map": self.buffers["reduce_partial_map"],
                "page_size": self.page_size,
                "kv_granularity": max(self.page_size, 16),
                "max_seqlen_qo": self.max_qlen,
                "uni_seqlen_qo": self.max_qlen,
                "fast_mode": True,
                # Not the default, so nothing before them is dropped on the way to C++.
                **types,
            }
        )

    def forward(
        self,
        q: torch.Tensor,
        kv_buffer: torch.Tensor,
        output: torch.Tensor,
        batch: DecodeBatch,
        *,
        softmax_scale: float,
        q_scale: torch.Tensor | None = None,
        kv_scale: torch.Tensor | None = None,
    ) -> None:
        """Launch the decode kernel over the plan, on the current stream.

        Args:
            q: [total queries, heads, 576], of `q_dtype`.
            kv_buffer: [pages, page_size, 1, 576], of `kv_dtype`.
            output: [total queries, heads, 512], bf16.
            batch: the batch that was planned last.
            softmax_scale: what scores are multiplied by.
            q_scale: [1] float32, with FP8 queries.
            kv_scale: [1] float32, with FP8 keys.

        Raises:
            BadInput: When types are not those of the plan, or a scale of FP8 is missing.
        """
        self._check(q, self.q_dtype, q_scale, "q")
        self._check(kv_buffer, self.kv_dtype, kv_scale, "kv")
        plan: Mapping[str, Any] = self.buffers
        self.library["mla_decode_fwd"](
            {
                "q": q,
                "kv_buffer": kv_buffer,
                "o": output,
                "qo_indptr": device_int32(batch.qo_indptr),
                "kv_indptr": device_int32(batch.kv_indptr),
                "kv_indices": device_int32(batch.kv_indices),
                "kv_last_page_lens": device_int32(batch.kv_last_page_lens),
                "max_seqlen_q": self.max_qlen,
                "page_size": self.page_size,
                "nhead_kv": 1,
                "sm_scale": softmax_scale,
                "num_kv_splits": self.library.units,
                "work_meta_data": plan["work_metadata_ptrs"],
                "work_indptr": plan["work_indptr"],
                "work_info": plan["work_info"],
                "reduce_indptr": plan["reduce_indptr"],
                "reduce_final_map": plan["reduce_final_map"],
                "reduce_partial_map": plan["reduce_partial_map"],
                "q_scale": q_scale,
                "kv_scale": kv_scale,
            }
        )

    def _check(
        self, tensor: torch.Tensor, planned: torch.dtype, scale: torch.Tensor | None, name: str
    ) -> None:
        if tensor.dtype != planned:
            raise BadInput(f"{name} is {tensor.dtype}, and the plan is for {planned}")
        if planned in FP8 and scale is None:
            raise BadInput(f"{name} is FP8: the kernel reads {name}_scale, which is missing")


def device_int32(values: torch.Tensor) -> torch.Tensor:
    """Return a contiguous int32 tensor where it is: a column of a table is copied, not strided."""
    return values.to(torch.int32).contiguous()
