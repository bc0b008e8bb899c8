"""AITER's FP8 prefill: its planner into pinned memory, its forward and its reduce kernel.

What must be right and is not checked by AITER, so it is here:

- Trailing arguments that equal the Python default do not reach C++, whose defaults are others
  (`arriving`).
- A plan for a `work_indptr` of another length than one more than the compute units has empty reduce
  maps.
- The planner's inputs are host tensors of int32: device tensors would be read on the NULL stream,
  in no order with their producers.
- The three scales are read unconditionally: a missing one is a fault of the GPU.
- One index a token: pages have one token, and as many heads as the queries.
"""

from __future__ import annotations

from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, Any

import torch

from ...model.errors import BadInput
from ..kernels import Prefill
from ..kernels.shapes import TILE
from ..plan_inputs import BUFFERS
from ..planner import plan_prefill
from .calling import Required

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..kernels import Batch
    from .calling import Function
    from .library import Aiter

GEOMETRY: dict[str, Any] = {
    "qhead_granularity": 1,
    "qlen_granularity": TILE,
    "kvlen_granularity": 128,
    "block_size": 1,
}
"""What the kernels of gfx950 are made for, as vLLM PR 42509 plans for them."""

IN_CPP = {"kvlen_granularity": 1, "block_size": 1, "is_causal": True}
"""Defaults of the C++ planner where the Python declaration has 16, 16 and True."""

HEADS = (1, 2, 4, 8, 10, 16, 32, 40, 48, 64, 96, 128)
"""Head counts for which the reduce kernel is compiled with values of 128; others abort."""


def arriving(planner: Function, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the geometry that reaches the C++ planner.

    torch's dispatcher passes no trailing argument that equals its default in the schema, which is
    the Python declaration's; the C++ binding then takes its own default.
    """
    kept = [parameter for parameter in planner.parameters if parameter.name in values]
    while kept and kept[-1].default is not Required and values[kept[-1].name] == kept[-1].default:
        kept.pop()
    return {**values, **IN_CPP, **{name: values[name] for name, _ in kept}}


class AiterPlanner:
    """AITER's prefill planner with buffers for `max_batch` requests of up to `max_qlen` queries.

    - `shapes`: of its six buffers, from `get_ps_metadata_info_v1`.
    - `buffers()`: new host buffers, pinned, so that a stream can copy from them.
    - `plan(into, ...)`: fill host buffers. The call returns when they are filled.
    - `plan_unordered(into, ...)`: fill device buffers at once, while kernels may be reading them:
      what an unpatched backend does, to reproduce what goes wrong.
    """

    def __init__(
        self, library: Aiter, *, max_batch: int, max_qlen: int, heads: int, is_causal: bool = True
    ) -> None:
        self.library = library
        self.heads = heads
        self.geometry = {**GEOMETRY, "is_causal": is_causal}
        arrives = arriving(library["get_ps_metadata_v1"], self.geometry)
        if arrives != self.geometry:
            raise BadInput(f"{self.geometry} would reach AITER's planner as {arrives}")
        sizes = library["get_ps_metadata_info_v1"](
            {
                "batch_size": max_batch,
                "num_head_k": heads,
                "max_qlen": max_qlen,
                "qlen_granularity": TILE,
            }
        )
        names = ("work_metadata_ptrs", *BUFFERS)
        self.sizes = {
            name: (shape if isinstance(shape, tuple) else (shape,), kind)
            for name, (shape, kind) in zip(names, sizes, strict=True)
        }
        if self.sizes["work_indptr"][0] != (library.units + 1,):
            raise BadInput(
                f"AITER sizes work_indptr for {self.sizes['work_indptr'][0][0] - 1} compute units, "
                f"and this device has {library.units}: is another device current?"
            )

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the five arrays of a plan, under AITER's names."""
        return {name: self.sizes[name][0] for name in BUFFERS}

    def buffers(
        self, device: torch.device | str = "cpu", *, pinned: bool | None = None
    ) -> dict[str, torch.Tensor]:
        """Make the six buffers, on the host in pinned memory unless told otherwise."""
        pin = torch.device(device).type == "cpu" if pinned is None else pinned
        return {
            name: torch.zeros(shape, dtype=kind, device=device, pin_memory=pin)
            for name, (shape, kind) in self.sizes.items()
        }

    def plan(
        self,
        into: Mapping[str, torch.Tensor],
        qo_indptr: torch.Tensor,
        kv_indptr: torch.Tensor,
        context_lens: torch.Tensor,
    ) -> None:
        """Plan a batch into host buffers; copies to the device are the caller's, on its stream.

        Args:
            into: The six buffers, on the host.
            qo_indptr: [B + 1] int32 on the host, the first query of each request.
            kv_indptr: [B + 1] likewise, the first key.
            context_lens: [B] likewise, the keys of each.

        Raises:
            BadInput: When an input or a buffer is not on the host, or a buffer has another shape.
        """
        for name, buffer in into.items():
            if buffer.device.type != "cpu":
                raise BadInput(
                    f"{name} is on {buffer.device}: plan into host buffers, and copy them on the "
                    "stream that reads them"
                )
        self._call(into, qo_indptr, kv_indptr, context_lens)

    def plan_unordered(
        self,
        into: Mapping[str, torch.Tensor],
        qo_indptr: torch.Tensor,
        kv_indptr: torch.Tensor,
        context_lens: torch.Tensor,
    ) -> None:
        """Plan a batch into device buffers at once: five blocking copies on the NULL stream."""
        self._call(into, qo_indptr, kv_indptr, context_lens)

    def differs(
        self,
        plan: Mapping[str, torch.Tensor],
        qo_indptr: Sequence[int],
        kv_indptr: Sequence[int],
        context_lens: Sequence[int],
    ) -> list[str]:
        """Name the arrays of a plan that are not as our own planner makes them."""
        geometry: Any = self.geometry
        own = plan_prefill(
            *(qo_indptr, kv_indptr, context_lens),
            **geometry,
            num_heads_k=self.heads,
            gqa_ratio=1,
            cu_count=self.library.units,
            buffers=self.shapes,
            strict=False,
        )
        return [name for name in own if plan[name].flatten().tolist() != own[name].ravel().tolist()]

    def _call(
        self,
        into: Mapping[str, torch.Tensor],
        qo_indptr: torch.Tensor,
        kv_indptr: torch.Tensor,
        context_lens: torch.Tensor,
    ) -> None:
        for name, (shape, kind) in self.sizes.items():
            buffer = into[name]
            if tuple(buffer.shape) != shape or buffer.dtype != kind or not buffer.is_contiguous():
                raise BadInput(
                    f"{name} must be contiguous, {kind} of shape {list(shape)}, not "
                    f"{buffer.dtype} of shape {list(buffer.shape)}"
                )
        self.library["get_ps_metadata_v1"](
            {
                "seqlens_qo_indptr": host_int32("qo_indptr", qo_indptr),
                "pages_kv_indptr": host_int32("kv_indptr", kv_indptr),
                "context_lens": host_int32("context_lens", context_lens),
                "gqa_ratio": 1,
                "num_heads_k": self.heads,
                "work_metadata_ptrs": into["work_metadata_ptrs"],
                "work_indptr": into["work_indptr"],
                "work_info": into["work_info"],
                "reduce_indptr": into["reduce_indptr"],
                "reduce_final_map": into["reduce_final_map"],
                "reduce_partial_map": into["reduce_partial_map"],
                **self.geometry,
            }
        )


def differing_arrays(
    library: Aiter, lengths: Sequence[int], context_lens: Sequence[int], *, heads: int, causal: bool
) -> list[str]:
    """Plan a batch with AITER, and name the arrays that are not as our own planner makes them.

    `lengths` and `context_lens` are the queries and keys of each request (tokens).
    """
    planner = AiterPlanner(
        library,
        max_batch=len(lengths),
        max_qlen=max(lengths),
        heads=heads,
        is_causal=causal,
    )
    into = planner.buffers()
    inputs = [*accumulate(lengths, initial=0)], [*accumulate(context_lens, initial=0)], context_lens
    planner.plan(into, *(torch.tensor(values, dtype=torch.int32) for values in inputs))
    return planner.differs(into, *inputs)


def host_int32(name: str, values: torch.Tensor) -> torch.Tensor:
    """Return a contiguous int32 tensor on the host; one that is on a device is refused."""
    if values.device.type != "cpu":
        raise BadInput(
            f"{name} is on {values.device}: AITER's planner would read it on the NULL stream, in "
            "no order with what wrote it; pass the host's copy"
        )
    # `.to(int32)` alone would leave a column of an int32 table as it is, with its stride.
    return values.to(torch.int32).contiguous()


def partial_tiles_of(plan: Mapping[str, torch.Tensor]) -> int:
    """Return how many partial tiles a host plan needs room for.

    Before aiter PR 3606 that is the last element of `reduce_indptr`. Since then pieces that are not
    merged write one too, so the items themselves are asked.
    """
    items = plan["work_info"][: int(plan["work_indptr"][-1])]
    highest = int(items[:, 1].max()) if len(items) else -1
    return max(int(plan["reduce_indptr"][-1]), -(-(highest + 1) // TILE) if highest >= 0 else 0)


class AiterPrefill(Prefill):
    """The outputs of one batch, and AITER's two kernels that fill them; used like `Prefill`.

    AITER's kernels do not check a plan: one that is stale may write past the tensors, and then the
    GPU faults or another tensor is overwritten. Run what may be stale in a process of its own.
    """

    def __init__(self, library: Aiter, batch: Batch, *, partial_tiles: int) -> None:
        if batch.heads not in HEADS:
            raise BadInput(
                f"AITER's reduce kernel is not compiled for {batch.heads} heads, and would end the "
                f"process: pad to one of {', '.join(map(str, HEADS))}"
            )
        super().__init__(batch, partial_tiles=partial_tiles)
        self.library = library

    def forward(self, plan: Mapping[str, torch.Tensor]) -> None:
        """Launch AITER's forward kernel on the current stream."""
        work_indptr, work_info = self._arrays(plan, "work_indptr", "work_info")
        batch = self.batch
        self.library["mla_prefill_ps_asm_fwd"](
            {
                "Q": batch.q,
                "K": batch.k,
                "V": batch.v,
                "qo_indptr": batch.qo_indptr,
                "kv_indptr": batch.kv_indptr,
                "kv_page_indices": batch.kv_page_indices,
                "work_indptr": work_indptr,
                "work_info": work_info,
                "max_seqlen_q": max(batch.lengths),
                "softmax_scale": batch.softmax_scale,
                "is_causal": batch.is_causal,
                "splitData": self.split_data,
                "splitLse": self.split_lse,
                "output": self.output,
                "q_scale": batch.q_scale,
                "k_scale": batch.k_scale,
                "v_scale": batch.v_scale,
            }
        )

    def reduce(self, plan: Mapping[str, torch.Tensor]) -> None:
        """Launch AITER's reduce kernel on the current stream."""
        indptr, final_map, partial_map = self._arrays(
            plan, "reduce_indptr", "reduce_final_map", "reduce_partial_map"
        )
        if not prod(partial_map.shape):
            return
        self.library["mla_reduce_v1"](
            {
                "partial_output": self.split_data,
                "partial_lse": self.split_lse,
                "reduce_indptr": indptr,
                "reduce_final_map": final_map,
                "reduce_partial_map": partial_map,
                "final_output": self.output,
            },
            # Tuning alone; 0 splits stand for as many as there are compute units.
            where_known={"max_seqlen_q": TILE, "num_kv_splits": 0},
        )
