"""Ways of bringing a plan to the device, right and wrong, over real memory.

Each way has the arrays that kernels read, and `publish(plan)`, which brings a host plan there. What
follows on the way's stream may read it.

- `unpatched`: five blocking copies without a stream, whatever runs (`fp8-prefill/direct`);
- `synchronize-first`: the same after waiting for the device;
- `staged`, `staged-five`: `StagedPlan` with one copy of one arena, or with five copies;
- `staged-no-wait`: `StagedPlan` with one slot whose event nobody waits for.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from ..model.errors import BadInput
from ..model.protocols.fp8_plan import PARTS
from .runtime_library import HOST_TO_DEVICE
from .staged import Layout, StagedPlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from .planner import Plan
    from .torch_runtime import TorchRuntime


SLOTS = 2


class Unpatched:
    """The planner's own vectors, and a blocking copy of each into the arrays in use."""

    synchronizes = False

    def __init__(self, runtime: TorchRuntime, shapes: Mapping[str, Any]) -> None:
        self.runtime = runtime
        self.layout = Layout(shapes)
        torch = runtime.torch
        self.arena = torch.zeros(self.layout.nbytes, dtype=torch.uint8, device="cuda")
        self.arrays = self.layout.views(self.arena)

    def publish(self, plan: Plan) -> Mapping[str, Tensor]:
        """Copy the vectors one by one."""
        if self.synchronizes:
            self.runtime.synchronize()
        for name in PARTS:
            vector, target = plan[name], self.arrays[name]
            source = vector.ctypes.data_as(ctypes.c_void_p).value or 0
            self.runtime.memcpy(target.data_ptr(), source, vector.nbytes, HOST_TO_DEVICE)
        return self.arrays


class SynchronizeFirst(Unpatched):
    """The same once the device is idle."""

    synchronizes = True


class Staged:
    """The shippable class."""

    def __init__(
        self,
        runtime: TorchRuntime,
        shapes: Mapping[str, Any],
        *,
        packed: bool = True,
        slots: int = SLOTS,
        staging: Any = None,
    ) -> None:
        del runtime
        self.plan = StagedPlan(shapes, packed=packed, slots=slots, runtime=staging)
        self.arrays = self.plan.arrays

    def publish(self, plan: Plan) -> Mapping[str, Tensor]:
        """Plan into a slot: here the plan is made, and stored there."""
        return self.plan.publish(lambda arrays: store(plan, arrays)).arrays


def store(plan: Plan, arrays: Mapping[str, Tensor]) -> None:
    """Write the plan's arrays into the slot's."""
    for name, target in arrays.items():
        source = plan[name].ctypes.data_as(ctypes.c_void_p).value or 0
        ctypes.memmove(target.data_ptr(), source, plan[name].nbytes)


class WaitsForNothing:
    """torch's streams, and events that the host does not wait for: the mistake to be shown."""

    def __init__(self, cuda: Any) -> None:
        self.cuda = cuda
        self.current_stream = cuda.current_stream
        self.is_current_stream_capturing = cuda.is_current_stream_capturing

    def Event(self) -> Any:  # noqa: N802 - as torch calls it
        """An event whose `synchronize` returns at once."""
        return Unawaited(self.cuda.Event())


class Unawaited:
    """An event that is recorded and never awaited."""

    def __init__(self, event: Any) -> None:
        self.event = event

    def record(self, stream: Any) -> None:
        """Record it."""
        self.event.record(stream)

    def synchronize(self) -> None:
        """Return at once."""


WAYS = ("unpatched", "synchronize-first", "staged", "staged-five", "staged-no-wait")


def way(name: str, runtime: TorchRuntime, shapes: Mapping[str, Any]) -> Any:
    """A way by its name; raises `BadInput` for another."""
    if name == "unpatched":
        return Unpatched(runtime, shapes)
    if name == "synchronize-first":
        return SynchronizeFirst(runtime, shapes)
    if name in {"staged", "staged-five"}:
        return Staged(runtime, shapes, packed=name == "staged")
    if name == "staged-no-wait":
        return Staged(runtime, shapes, slots=1, staging=WaitsForNothing(runtime.torch.cuda))
    raise BadInput(f"there is no way {name!r} of publishing a plan: it is one of {', '.join(WAYS)}")
