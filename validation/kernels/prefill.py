"""One layer's prefill attention over a plan: the workspace, and the launches of the two kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from ...model.errors import BadInput
from .batch import Batch, partial_tiles, plan_to_device
from .comparison import Comparison, compare, poison
from .faults import clear_faults, no_faults, read_faults
from .forward import forward_kernel
from .reduce import reduce_kernel
from .shapes import TILE, V_DIM

if TYPE_CHECKING:
    from collections.abc import Mapping

BLOCKS = {"causal": True, "block_m": 128, "block_n": 128, "num_warps": 8, "num_stages": 2}

MERGE_ROWS = 32
"""Queries that one program of the reduce kernel merges at a time."""

MERGERS = 64
"""Programs of the reduce kernel for each head and part of a tile; each takes every 64th merge."""


class Prefill:
    """The outputs of one batch, and the two kernels that fill them.

    - A new one is *poisoned*: what is never written can be told from everything written.
    - `forward` and `reduce` launch on the current stream, allocate nothing and wait for nothing,
      so they can be captured in a graph; before that, or behind a waiting kernel, `warm_up` must
      have compiled them.
    - `compare` waits for the current stream, and says what came of it.

    `partial_tiles` is how many partial tiles there is room for: the number in this batch's plan,
    as vLLM sizes it.
    """

    def __init__(self, batch: Batch, *, partial_tiles: int) -> None:
        self.batch = batch
        heads, device = batch.heads, batch.device
        rows = partial_tiles * TILE
        self.output = torch.empty(
            batch.q.shape[0], heads, V_DIM, dtype=torch.bfloat16, device=device
        )
        self.split_data = torch.empty(rows, heads, V_DIM, device=device)
        self.split_lse = torch.empty(rows, heads, device=device)
        self.faults = no_faults(device)
        self.poison()

    def poison(self) -> None:
        """Mark all outputs and partials as never written, in the current stream."""
        poison(self.output)
        self.split_data.fill_(float("nan"))
        self.split_lse.fill_(float("nan"))
        clear_faults(self.faults)

    def run(self, plan: Mapping[str, torch.Tensor]) -> None:
        """Run both kernels over one plan."""
        self.forward(plan)
        self.reduce(plan)

    def forward(self, plan: Mapping[str, torch.Tensor]) -> None:
        """Launch the forward kernel; it reads `work_indptr` and `work_info` of the plan.

        Raises:
            BadInput: When one of them is no contiguous int32 tensor on the batch's device.
        """
        batch = self.batch
        work_indptr, work_info = self._arrays(plan, "work_indptr", "work_info")
        forward_kernel[(work_indptr.shape[0] - 1,)](
            *(batch.q, batch.k, batch.v, batch.qo_indptr, batch.kv_indptr),
            *(batch.kv_page_indices, work_indptr, work_info),
            *(self.split_data, self.split_lse, self.output),
            *(batch.q_scale, batch.k_scale, batch.v_scale, self.faults, batch.softmax_scale),
            *(len(batch.lengths), batch.q.shape[0], batch.kv_page_indices.shape[0], batch.heads),
            *(work_info.shape[0], self.split_lse.shape[0]),
            **{**BLOCKS, "causal": batch.is_causal},
        )

    def reduce(self, plan: Mapping[str, torch.Tensor]) -> None:
        """Launch the reduce kernel; it reads the other three arrays of the plan.

        Raises:
            BadInput: When one of them is no contiguous int32 tensor on the batch's device.
        """
        indptr, final_map, partial_map = self._arrays(
            plan, "reduce_indptr", "reduce_final_map", "reduce_partial_map"
        )
        merges = min(indptr.shape[0] - 1, final_map.shape[0])
        if not merges:
            return
        reduce_kernel[(min(merges, MERGERS), self.batch.heads, TILE // MERGE_ROWS)](
            *(indptr, final_map, partial_map, self.split_data, self.split_lse, self.output),
            *(self.faults, merges, partial_map.shape[0], self.batch.q.shape[0]),
            *(self.split_lse.shape[0], self.batch.heads),
            block=MERGE_ROWS,
        )

    def compare(self) -> Comparison:
        """Wait for the current stream, and compare the output with the float32 reference."""
        return compare(self.output, self.batch.reference(), read_faults(self.faults))

    def _arrays(self, plan: Mapping[str, torch.Tensor], *names: str) -> list[torch.Tensor]:
        for name in names:
            array = plan[name]
            if (
                array.dtype != torch.int32
                or not array.is_contiguous()
                or array.device != self.output.device
            ):
                raise BadInput(
                    f"{name} must be a contiguous int32 tensor on {self.output.device}, not "
                    f"{array.dtype} on {array.device}"
                )
        return [plan[name] for name in names]


def warm_up(device: torch.device | str, *, heads: int = 1) -> None:
    """Compile and load both kernels, causal or not, and wait: no later launch will have to."""
    for is_causal in (True, False):
        batch = Batch.random(
            [2, 40], heads=heads, device=device, context_lens=[2, 200], is_causal=is_causal
        )
        plan = batch.plan(cu_count=3)
        prefill = Prefill(batch, partial_tiles=partial_tiles(plan))
        prefill.run(plan_to_device(plan, batch.device))
        if not (seen := prefill.compare()).matches:
            raise BadInput(f"the kernels do not work on {batch.device}: warm-up {seen}")
