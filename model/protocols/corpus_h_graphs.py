"""Corpus H: graphs. A node keeps an address for good, and reads it anew at each replay.

What stood at that address when the graph was captured says nothing about later replays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol

if TYPE_CHECKING:
    from ..gpu import Gpu


# --- C42: a captured copy from a temporary host buffer ------------------------------------------


@protocol("corpus/C42-captured-upload/source-reused", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def source_reused(gpu: Gpu) -> None:
    """A graph uploads a pointer table from a host buffer that the pool hands out again.

    onnxruntime PR #32121, Paddle PR #78568: the table was written once, at capture; a prefill then
    filled the same pinned buffer with its own, and the next replay uploaded that.
    """
    compute = gpu.stream("compute")
    staging, table = gpu.pinned("staging"), gpu.device("table")
    gpu.write(staging, "pointers")
    with gpu.capture(compute) as graph:
        gpu.memcpy_async(table, staging, compute)
        gpu.launch("concat", compute, reads=[table])
    graph.launch(compute, reads={table: "pointers"})
    compute.synchronize()
    reused = gpu.malloc("prefill_staging", of=staging)
    gpu.write(reused, "other pointers")
    graph.launch(compute, reads={table: "pointers"})


@protocol("corpus/C42-captured-upload/source-kept", expects={"cuda": "PROVED", "hip": "PROVED"})
def source_kept(gpu: Gpu) -> None:
    """The graph keeps its host buffer: everyone else gets other memory.

    The mend of onnxruntime PR #32121: a copy of the table that lives as long as the graph does.
    """
    compute = gpu.stream("compute")
    staging, table = gpu.pinned("staging"), gpu.device("table")
    gpu.write(staging, "pointers")
    with gpu.capture(compute) as graph:
        gpu.memcpy_async(table, staging, compute)
        gpu.launch("concat", compute, reads=[table])
    graph.launch(compute, reads={table: "pointers"})
    compute.synchronize()
    other = gpu.pinned("prefill_staging")
    gpu.write(other, "other pointers")
    graph.launch(compute, reads={table: "pointers"})


# --- C43: a copy left out of the graph ----------------------------------------------------------


@protocol("corpus/C43-upload-left-out/memory-reused", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def memory_reused(gpu: Gpu) -> None:
    """The upload is not captured, and the graph overwrites its target: one replay is right.

    Paddle PR #36987 avoided C42 by leaving the copy out of the graph. But the graph's pool had
    handed the target's address to a later kernel of the same graph: from the second replay on, the
    first kernel read that kernel's output.
    """
    compute = gpu.stream("compute")
    source, table = gpu.pinned("source"), gpu.device("table")
    output = gpu.malloc("output", of=table)  # the pool knows of no use of `table` after `gather`
    gpu.write(source, "table")
    gpu.memcpy_async(table, source, compute)
    with gpu.capture(compute) as graph:
        gpu.launch("gather", compute, reads=[table])
        gpu.launch("matmul", compute, writes={output: "output"})
    for _ in gpu.steps():
        graph.launch(compute, reads={table: "table"})


@protocol("corpus/C43-upload-left-out/captured", expects={"cuda": "PROVED", "hip": "PROVED"})
def upload_captured(gpu: Gpu) -> None:
    """The upload is captured, from a host buffer that stays: each replay brings the table.

    The correction, Paddle PR #37774. That the graph's own memory is used twice does no harm now.
    """
    compute = gpu.stream("compute")
    source, table = gpu.pinned("source"), gpu.device("table")
    output = gpu.malloc("output", of=table)
    gpu.write(source, "table")
    with gpu.capture(compute) as graph:
        gpu.memcpy_async(table, source, compute)
        gpu.launch("gather", compute, reads=[table])
        gpu.launch("matmul", compute, writes={output: "output"})
    for _ in gpu.steps():
        graph.launch(compute, reads={table: "table"})


# --- C45: a library's hidden workspace ----------------------------------------------------------


@protocol("corpus/C45-hidden-workspace/freed", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def workspace_freed(gpu: Gpu) -> None:
    """Two graphs share a library's workspace, and the end of one frees it.

    PyTorch issue #193402: the workspace goes by the stream of capture, so both graphs hold its
    address; when the second was destroyed, the workspace was cleared with it, and the first one's
    next replay wrote freed memory.
    """
    compute = gpu.stream("compute")
    workspace = gpu.malloc("workspace")
    with gpu.capture(compute, "first") as first:
        gpu.launch("gemm", compute, writes={workspace: "partial sums"})
    with gpu.capture(compute, "second") as second:
        gpu.launch("gemm", compute, writes={workspace: "partial sums"})
    second.launch(compute)
    compute.synchronize()
    gpu.free(workspace)  # the second graph was destroyed
    first.launch(compute)


@protocol("corpus/C45-hidden-workspace/reused", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def workspace_reused(gpu: Gpu) -> None:
    """The same, and the pool has given the workspace's memory to activations.

    What the fault of PyTorch issue #193402 looks like when the memory stays mapped: the replay
    scribbles over its new owner.
    """
    compute = gpu.stream("compute")
    workspace = gpu.malloc("workspace")
    with gpu.capture(compute, "first") as first:
        gpu.launch("gemm", compute, writes={workspace: "partial sums"})
    gpu.free(workspace)  # the second graph was destroyed
    activations = gpu.malloc("activations", of=workspace)
    gpu.launch("forward", compute, writes={activations: 1})
    first.launch(compute)
    gpu.launch("sample", compute, reads={activations: 1})


@protocol("corpus/C45-hidden-workspace/one-each", expects={"cuda": "PROVED", "hip": "PROVED"})
def workspace_each(gpu: Gpu) -> None:
    """Each graph has a workspace of its own, which dies with it.

    The mend of PyTorch issue #193402, from #193832 on: a workspace comes from its graph's own pool.
    """
    compute = gpu.stream("compute")
    workspaces = [gpu.malloc("workspace1"), gpu.malloc("workspace2")]
    with gpu.capture(compute, "first") as first:
        gpu.launch("gemm", compute, writes={workspaces[0]: "partial sums"})
    with gpu.capture(compute, "second") as second:
        gpu.launch("gemm", compute, writes={workspaces[1]: "partial sums"})
    second.launch(compute)
    compute.synchronize()
    gpu.free(workspaces[1])
    first.launch(compute)
