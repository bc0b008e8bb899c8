"""FP8 prefill, the plan rewritten in place: the bug, and what was tried against it.

The planner copies into the buffers that the previous step's kernels may still be reading, and its
copies run on the NULL stream, which a non-blocking stream does not wait for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol
from .fp8_plan import PARTS, plan_in_place, run_layers

if TYPE_CHECKING:
    from ..gpu import Gpu


@protocol("fp8-prefill/direct", expects={"cuda": "REFUTED", "hip": "REFUTED"}, layers=1)
def direct(gpu: Gpu, layers: int) -> None:
    """The plan is rewritten in place while the previous step's kernels may read it.

    vLLM on ROCm before the fix (issue #58886, from #42509 on), under async scheduling: five
    blocking copies without a stream, kernels on a non-blocking stream. Under HIP the next plan
    overwrites one in use; under CUDA the kernels may also start before their own plan has landed.
    """
    compute = gpu.stream("compute")
    plan = gpu.device("plan", parts=PARTS)
    vectors = gpu.pageable("vectors", parts=PARTS)
    for n in gpu.steps():
        plan_in_place(gpu, plan, vectors, n)
        run_layers(gpu, compute, plan, n, layers)


@protocol("fp8-prefill/direct-item-after", expects={"cuda": "REFUTED", "hip": "REFUTED"}, layers=1)
def direct_item_after(gpu: Gpu, layers: int) -> None:
    """`.item()` after the rewrite: it waits for the previous step's kernels, but too late.

    vLLM reads the last entry of `reduce_indptr` back to size its partial results; #56526 declared
    that wait as intended. It drains the stream once a step and protects nothing (issue #58886).
    """
    compute = gpu.stream("compute")
    plan = gpu.device("plan", parts=PARTS)
    vectors = gpu.pageable("vectors", parts=PARTS)
    partial_tiles = gpu.pinned("partial_tiles")
    for n in gpu.steps():
        plan_in_place(gpu, plan, vectors, n)
        gpu.memcpy_async(partial_tiles, plan.reduce_indptr, compute)
        with gpu.sync_allowed("the partial results are sized by the plan"):
            compute.synchronize()
        gpu.read(partial_tiles, expect=n)
        run_layers(gpu, compute, plan, n, layers)


@protocol(
    "fp8-prefill/direct-blocking-stream", expects={"cuda": "PROVED", "hip": "PROVED"}, layers=1
)
def direct_blocking_stream(gpu: Gpu, layers: int) -> None:
    """The kernels run on a blocking stream, which the NULL stream's copies wait for.

    The same code as `direct` with the one kind of stream for which it is right, and the reason why
    a test on the default stream cannot show the bug: vLLM's stream is non-blocking (#58886).
    """
    compute = gpu.stream("compute", blocking=True)
    plan = gpu.device("plan", parts=PARTS)
    vectors = gpu.pageable("vectors", parts=PARTS)
    for n in gpu.steps():
        plan_in_place(gpu, plan, vectors, n)
        run_layers(gpu, compute, plan, n, layers)


@protocol("fp8-prefill/synchronize-first", expects={"cuda": "REFUTED", "hip": "PROVED"}, layers=1)
def synchronize_first(gpu: Gpu, layers: int) -> None:
    """Synchronise the device, then plan in place: right under HIP only.

    A workaround for vLLM #58886, at the price of a full drain a step, and not portable: under CUDA
    a blocking copy from pageable memory may return before it has landed (driver API, "API
    synchronization behavior"), so the reduce kernel can read an old `reduce_partial_map`.
    """
    compute = gpu.stream("compute")
    plan = gpu.device("plan", parts=PARTS)
    vectors = gpu.pageable("vectors", parts=PARTS)
    for n in gpu.steps():
        with gpu.sync_allowed("nothing may read the plan any more"):
            gpu.synchronize()
        plan_in_place(gpu, plan, vectors, n)
        run_layers(gpu, compute, plan, n, layers)


@protocol("fp8-prefill/no-async-scheduling", expects={"cuda": "REFUTED", "hip": "PROVED"}, layers=1)
def no_async_scheduling(gpu: Gpu, layers: int) -> None:
    """The host awaits a step's output before it plans the next one: right under HIP only.

    vLLM without async scheduling (#58886 needs it on). The readers are gone when the plan is
    rewritten; under CUDA the last copy may still be in flight when the new readers start.
    """
    compute = gpu.stream("compute")
    plan = gpu.device("plan", parts=PARTS)
    vectors = gpu.pageable("vectors", parts=PARTS)
    output, tokens = gpu.device("output"), gpu.pinned("tokens")
    ready = gpu.event("ready")
    for n in gpu.steps():
        plan_in_place(gpu, plan, vectors, n)
        run_layers(gpu, compute, plan, n, layers)
        gpu.launch("sample", compute, writes={output: n})
        gpu.memcpy_async(tokens, output, compute)
        ready.record(compute)
        with gpu.sync_allowed("the next step is scheduled from this step's output"):
            ready.synchronize()
        gpu.read(tokens, expect=n)


@protocol("fp8-prefill/synchronize-around", expects={"cuda": "PROVED", "hip": "PROVED"}, layers=1)
def synchronize_around(gpu: Gpu, layers: int) -> None:
    """Synchronise the device, plan in place, synchronise the NULL stream: right everywhere.

    What the workaround for vLLM #58886 has to be under CUDA: the second wait is for the last copy
    from pageable memory to land.
    """
    compute = gpu.stream("compute")
    plan = gpu.device("plan", parts=PARTS)
    vectors = gpu.pageable("vectors", parts=PARTS)
    for n in gpu.steps():
        with gpu.sync_allowed("nothing may read the plan any more"):
            gpu.synchronize()
        plan_in_place(gpu, plan, vectors, n)
        with gpu.sync_allowed("the plan must have landed"):
            gpu.null_stream.synchronize()
        run_layers(gpu, compute, plan, n, layers)


@protocol("fp8-prefill/no-fp8-prefill", expects={"cuda": "PROVED", "hip": "PROVED"}, layers=1)
def no_fp8_prefill(gpu: Gpu, layers: int) -> None:
    """The plan is rewritten in place, but the kernels that run do not read it.

    The control for vLLM #58886: another prefill kernel, which needs no plan, runs instead, and the
    planner's copies alone cannot hurt.
    """
    compute = gpu.stream("compute")
    plan = gpu.device("plan", parts=PARTS)
    vectors = gpu.pageable("vectors", parts=PARTS)
    for n in gpu.steps():
        plan_in_place(gpu, plan, vectors, n)
        for _ in range(layers):
            gpu.launch("bf16_prefill", compute)
