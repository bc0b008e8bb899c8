"""Host waits declared and undeclared: protocols of one verdict that an audit tells apart.

The forward pass must know how many partial tiles a plan has, to size their results. The plan itself
is staged here, so that nothing else is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol
from .fp8_plan import run_layers
from .fp8_staged_plan import StagedPlan

if TYPE_CHECKING:
    from ..gpu import Gpu


@protocol(
    "sync-audit/item-declared", expects={"cuda": "PROVED", "hip": "PROVED"}, slots=2, layers=1
)
def item_declared(gpu: Gpu, slots: int, layers: int) -> None:
    """The tile count is read back with `.item()`, and that wait is declared as intended.

    What vLLM PR #56526 did for the count that #42509 reads back. It drains the stream once a step,
    so that the host never plans ahead: declared does not mean cheap.
    """
    compute = gpu.stream("compute")
    plan = StagedPlan(gpu, compute, slots)
    partial_tiles = gpu.pinned("partial_tiles")
    for n in gpu.steps():
        plan.publish(n)
        gpu.memcpy_async(partial_tiles, plan.device.reduce_indptr, compute)
        with gpu.sync_allowed("the partial results are sized by the plan"):
            compute.synchronize()
        gpu.read(partial_tiles, expect=n)
        run_layers(gpu, compute, plan.device, n, layers)


@protocol(
    "sync-audit/item-undeclared", expects={"cuda": "PROVED", "hip": "PROVED"}, slots=2, layers=1
)
def item_undeclared(gpu: Gpu, slots: int, layers: int) -> None:
    """The same `.item()` undeclared: nothing races, and the audit fails.

    vLLM before PR #56526: its sync checker (#43107) failed every request after the warm-up. A wait
    too many is not a hazard, so the verdict says nothing about it.
    """
    compute = gpu.stream("compute")
    plan = StagedPlan(gpu, compute, slots)
    partial_tiles = gpu.pinned("partial_tiles")
    for n in gpu.steps():
        plan.publish(n)
        gpu.memcpy_async(partial_tiles, plan.device.reduce_indptr, compute)
        compute.synchronize()
        gpu.read(partial_tiles, expect=n)
        run_layers(gpu, compute, plan.device, n, layers)


@protocol(
    "sync-audit/count-from-host-plan",
    expects={"cuda": "PROVED", "hip": "PROVED"},
    slots=2,
    layers=1,
)
def count_from_host_plan(gpu: Gpu, slots: int, layers: int) -> None:
    """The tile count is read from the plan on the host: no wait but the slot's.

    With staged slots (vLLM PR #58887) the host holds the plan that it has just made, and the
    `.item()` of #56526 is not needed.
    """
    compute = gpu.stream("compute")
    plan = StagedPlan(gpu, compute, slots)
    for n in gpu.steps():
        plan.publish(n)
        gpu.read(plan.pinned[n % slots].reduce_indptr, expect=n)
        run_layers(gpu, compute, plan.device, n, layers)
