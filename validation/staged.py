"""`StagedPlan`: a host-made plan on the device, without waiting for the device's work.

The class that an attention backend would use. The host plans into page-locked slots, copies go to
the stream that reads them, and the host waits only for the copies that used a slot last. When to
wait, fill, copy and record is decided by `model.protocols.staged_slots`, the code that the
protocols `fp8-prefill/staged` and `staged-packed` are proved with; here are only its tensors.
"""

from __future__ import annotations

from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.errors import BadInput, CannotRunHere
from ..model.protocols.fp8_plan import PARTS
from ..model.protocols.staged_slots import StagedSlots

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch import Tensor

ALIGNMENT = 256
"""Bytes between the beginnings of two arrays of an arena: what a device's own allocator keeps."""

PLANNED_LAST = "reduce_indptr"
"""The array whose last entry is the number of partial tiles."""


class Published(NamedTuple):
    """A plan that is on its way to the device.

    - `arrays` are int32 tensors on the device, the same ones for every plan; what is launched on
      the stream from now on finds this plan in them;
    - `partial_tiles` is taken from the host's copy, so that nothing is read back.
    """

    arrays: Mapping[str, Tensor]
    partial_tiles: int


class StagedPlan:
    """The five arrays of a plan on a device, and the slots that they are planned into.

    Args:
        shapes: of the arrays, by AITER's names (`planner.plan_sizes`), made for the largest batch.
        slots: how many plans may be on their way at once.
        packed: one copy of one arena a plan; otherwise five copies.
        device: where the plan goes.
        runtime: where streams and events come from; torch's own for the device by default.

    The stream that is current when it is made is the one that must read the plans: their order is
    what keeps a plan until its readers are done.
    """

    def __init__(
        self,
        shapes: Mapping[str, int | Sequence[int]],
        *,
        slots: int = 2,
        packed: bool = True,
        device: str = "cuda",
        runtime: Any = None,
    ) -> None:
        torch = import_torch()
        if slots < 1:
            raise BadInput(f"a plan is staged in at least one slot, not {slots}")
        self.torch = torch
        self.runtime = runtime or torch.cuda
        self.packed = packed
        self.layout = Layout(shapes)
        self.stream = self.runtime.current_stream()
        size = self.layout.nbytes
        self.arena = torch.zeros(size, dtype=torch.uint8, device=device)
        self.arrays = self.layout.views(self.arena)
        pinned = device != "cpu"
        self.pinned = [
            torch.zeros(size, dtype=torch.uint8, pin_memory=pinned) for _ in range(slots)
        ]
        self.views = {id(slot): self.layout.views(slot) for slot in self.pinned}
        copied = [self.runtime.Event() for _ in range(slots)]
        self.staging: StagedSlots[Tensor, Any] = StagedSlots(self.pinned, copied, self.stream)
        self.step = 0
        self.planner: Callable[[Mapping[str, Tensor]], None] | None = None
        self.partial_tiles = 0

    def publish(self, planner: Callable[[Mapping[str, Tensor]], None]) -> Published:
        """Have `planner` fill a slot's arrays (int32 tensors in page-locked memory), and copy them.

        The whole of every array is copied, so a planner leaves nothing of an older plan in them.

        Raises:
            BadInput: inside a graph capture, or on another stream than the one it was made for.
        """
        self._check_place()
        self.planner = planner
        self.staging.stage(self.step, self._fill, self._copy)
        self.step += 1
        return Published(self.arrays, self.partial_tiles)

    def plan(
        self, lengths: Sequence[int], *, heads: int, cu_count: int, causal: bool = True
    ) -> Published:
        """Plan prompts of these lengths (tokens) with AITER's planner, and publish the plan."""
        from .planner import plan_lengths

        made = plan_lengths(
            lengths,
            cu_count=cu_count,
            num_heads_k=heads,
            is_causal=causal,
            buffers=self.layout.shapes,
        )
        return self.publish(lambda arrays: self.layout.store(made, arrays))

    def _fill(self, slot: Tensor, step: int) -> None:
        """The host planner; the partial tiles are counted in its copy of the plan."""
        del step
        assert self.planner is not None
        arrays = self.views[id(slot)]
        self.planner(arrays)
        self.partial_tiles = int(arrays[PLANNED_LAST][-1])

    def _copy(self, slot: Tensor) -> None:
        """One copy of the arena, or one an array, on the readers' stream."""
        if self.packed:
            self.arena.copy_(slot, non_blocking=True)
            return
        for name, array in self.views[id(slot)].items():
            self.arrays[name].copy_(array, non_blocking=True)

    def _check_place(self) -> None:
        if self.runtime.is_current_stream_capturing():
            raise BadInput(
                "a plan cannot be published inside a graph capture: each replay would copy the "
                "same slot again; publish before the replay, on its stream"
            )
        if self.runtime.current_stream() != self.stream:
            raise BadInput(
                "the current stream is not the one that this StagedPlan was made on: only that "
                "stream's order keeps a plan until its readers are done"
            )


class Layout:
    """Where the arrays of a plan are in one arena."""

    def __init__(self, shapes: Mapping[str, int | Sequence[int]]) -> None:
        missing = [name for name in PARTS if name not in shapes]
        if missing:
            raise BadInput(f"shapes lack {', '.join(missing)}: a plan has {', '.join(PARTS)}")
        self.shapes: dict[str, tuple[int, ...]] = {name: whole(shapes[name]) for name in PARTS}
        sizes = [-(-4 * prod(shape) // ALIGNMENT) * ALIGNMENT for shape in self.shapes.values()]
        self.offsets: dict[str, int] = dict(zip(PARTS, accumulate(sizes, initial=0), strict=False))
        self.nbytes = sum(sizes)

    def views(self, arena: Tensor) -> dict[str, Tensor]:
        """The arrays of an arena, each a contiguous int32 tensor."""
        torch = import_torch()
        found = {}
        for name, shape in self.shapes.items():
            begin = self.offsets[name]
            part = arena[begin : begin + 4 * prod(shape)]
            found[name] = part.view(torch.int32).view(shape)
        return found

    def store(self, plan: Mapping[str, Any], arrays: Mapping[str, Tensor]) -> None:
        """Write a plan, given as arrays on the host, into tensors of the same shapes."""
        for name, target in arrays.items():
            target.copy_(index_tensor(plan[name], name))


def whole(shape: int | Sequence[int]) -> tuple[int, ...]:
    """A shape as a tuple."""
    return (shape,) if isinstance(shape, int) else tuple(shape)


def index_tensor(values: Any, name: str = "an index array") -> Tensor:
    """Values as a contiguous int32 tensor on the host, as kernels read them.

    A slice of a wider tensor keeps its strides through `.to(int32)`, which changes nothing on an
    int32 tensor: so it is made contiguous here. Raises `BadInput` for a tensor on a device, which
    the host would have to wait for, and for values that int32 does not hold.
    """
    torch = import_torch()
    made = values if isinstance(values, torch.Tensor) else torch.as_tensor(values)
    if made.device.type != "cpu":
        raise BadInput(f"{name} is on {made.device}: reading it would make the host wait")
    if made.is_floating_point() or made.is_complex() or made.dtype == torch.bool:
        raise BadInput(f"{name} holds {made.dtype}: indices are whole numbers")
    narrow = made.to(torch.int32)
    if narrow.dtype != made.dtype and not torch.equal(narrow.to(made.dtype), made):
        raise BadInput(f"{name} holds numbers that do not fit into 32 bits")
    return narrow.contiguous()


def import_torch() -> Any:
    """The torch module; raises `CannotRunHere` without it."""
    try:
        import torch
    except ImportError:
        raise CannotRunHere("torch is not installed: pip install 'streamorder[gpu]'") from None
    return torch
