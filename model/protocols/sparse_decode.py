"""Sparse MLA decode: metadata rewritten on one stream, read by a graph replayed on another.

The metadata is recomputed only when its key changes; else the replay finds what the last change
wrote. Two keys are enough for the model: every change is one from the current key to the other.
The host awaits a step's output before the next step, unless a variant says otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol
from .mla_decode import PARTS, Output, capture_decode

if TYPE_CHECKING:
    from ..gpu import Gpu
    from ..memory import Buffer
    from ..objects import Graph, Stream


def set_up(gpu: Gpu, compute: Stream, layers: int) -> tuple[Buffer, Graph]:
    """The metadata of the first key, complete, and the captured decode that reads it."""
    metadata = gpu.device("metadata", parts=PARTS)
    gpu.launch("metadata", compute, writes={metadata: 0})
    with gpu.sync_allowed("once, before the first step"):
        gpu.synchronize()
    return metadata, capture_decode(gpu, compute, metadata, layers)


def key_changed(gpu: Gpu) -> bool:
    """Whether the batch asks for other metadata than the last one did."""
    return gpu.choose("same key", "new key") == "new key"


@protocol("sparse-decode/unsynchronised", expects={"cuda": "REFUTED", "hip": "REFUTED"}, layers=1)
def unsynchronised(gpu: Gpu, layers: int) -> None:
    """Nothing orders the new metadata before the replay that reads it.

    vLLM issue #47196, a memory fault with MTP and graphs: the host has awaited the readers of the
    old metadata, but the kernel that writes the new one is on another stream than the replay.
    """
    compute, writer = gpu.stream("compute"), gpu.stream("writer")
    metadata, graph = set_up(gpu, compute, layers)
    output = Output(gpu)
    key = 0
    for n in gpu.steps():
        if key_changed(gpu):
            key = 1 - key
            gpu.launch("metadata", writer, writes={metadata: key})
        graph.launch(compute, reads=metadata.expect(PARTS, key))
        output.wait(compute, n)


@protocol(
    "sparse-decode/synchronize-on-change", expects={"cuda": "PROVED", "hip": "PROVED"}, layers=1
)
def synchronize_on_change(gpu: Gpu, layers: int) -> None:
    """After recomputing, the host waits for the writer's stream; on that branch only.

    The fix of vLLM #47196 (PR #47404). A step whose key is unchanged neither computes nor waits
    (though computing the key has a cost of its own, see #54369).
    """
    compute, writer = gpu.stream("compute"), gpu.stream("writer")
    metadata, graph = set_up(gpu, compute, layers)
    output = Output(gpu)
    key = 0
    for n in gpu.steps():
        if key_changed(gpu):
            key = 1 - key
            gpu.launch("metadata", writer, writes={metadata: key})
            with gpu.sync_allowed("the replay must find the new metadata"):
                writer.synchronize()
        graph.launch(compute, reads=metadata.expect(PARTS, key))
        output.wait(compute, n)


@protocol("sparse-decode/event-wait", expects={"cuda": "PROVED", "hip": "PROVED"}, layers=1)
def event_wait(gpu: Gpu, layers: int) -> None:
    """After recomputing, the replay's stream waits for the writer's event; no host stall.

    What vLLM PR #47404 does with a host wait, done on the device: the same order, and the host is
    free to go on.
    """
    compute, writer = gpu.stream("compute"), gpu.stream("writer")
    metadata, graph = set_up(gpu, compute, layers)
    output, computed = Output(gpu), gpu.event("computed")
    key = 0
    for n in gpu.steps():
        if key_changed(gpu):
            key = 1 - key
            gpu.launch("metadata", writer, writes={metadata: key})
            computed.record(writer)
            compute.wait(computed)
        graph.launch(compute, reads=metadata.expect(PARTS, key))
        output.wait(compute, n)


@protocol(
    "sparse-decode/synchronize-before-rewrite",
    expects={"cuda": "REFUTED", "hip": "REFUTED"},
    layers=1,
)
def synchronize_before_rewrite(gpu: Gpu, layers: int) -> None:
    """The whole device is drained before the rewrite: a dear wait on the wrong side of it.

    A mutant of vLLM PR #47404. The readers of the old metadata were awaited anyway; what is missing
    is the order between the rewrite and the replay that follows.
    """
    compute, writer = gpu.stream("compute"), gpu.stream("writer")
    metadata, graph = set_up(gpu, compute, layers)
    output = Output(gpu)
    key = 0
    for n in gpu.steps():
        if key_changed(gpu):
            with gpu.sync_allowed("nothing may read the old metadata any more"):
                gpu.synchronize()
            key = 1 - key
            gpu.launch("metadata", writer, writes={metadata: key})
        graph.launch(compute, reads=metadata.expect(PARTS, key))
        output.wait(compute, n)


@protocol("sparse-decode/same-stream", expects={"cuda": "PROVED", "hip": "PROVED"}, layers=1)
def same_stream(gpu: Gpu, layers: int) -> None:
    """The metadata is recomputed on the replay's own stream: right as it stands.

    The control for vLLM #47196: with writer and reader on one stream, the synchronisation of
    PR #47404 adds nothing.
    """
    compute = gpu.stream("compute")
    metadata, graph = set_up(gpu, compute, layers)
    output = Output(gpu)
    key = 0
    for n in gpu.steps():
        if key_changed(gpu):
            key = 1 - key
            gpu.launch("metadata", compute, writes={metadata: key})
        graph.launch(compute, reads=metadata.expect(PARTS, key))
        output.wait(compute, n)


@protocol(
    "sparse-decode/cross-stream-async", expects={"cuda": "REFUTED", "hip": "REFUTED"}, layers=1
)
def cross_stream_async(gpu: Gpu, layers: int) -> None:
    """`event-wait` without the host's wait for the output: the next rewrite meets a replay.

    The mend of vLLM #47196 leans on the host having awaited the last step. Under async scheduling
    (compare #58886) an edge from writer to replay is half of what is needed.
    """
    compute, writer = gpu.stream("compute"), gpu.stream("writer")
    metadata, graph = set_up(gpu, compute, layers)
    computed = gpu.event("computed")
    key = 0
    for _ in gpu.steps():
        if key_changed(gpu):
            key = 1 - key
            gpu.launch("metadata", writer, writes={metadata: key})
            computed.record(writer)
            compute.wait(computed)
        graph.launch(compute, reads=metadata.expect(PARTS, key))


@protocol(
    "sparse-decode/cross-stream-async-both-edges",
    expects={"cuda": "PROVED", "hip": "PROVED"},
    layers=1,
)
def cross_stream_async_both_edges(gpu: Gpu, layers: int) -> None:
    """The writer also waits for the last replay: both edges, and the host waits for nothing.

    What vLLM #47196 needs under async scheduling, where no host wait stands between a replay and
    the next rewrite.
    """
    compute, writer = gpu.stream("compute"), gpu.stream("writer")
    metadata, graph = set_up(gpu, compute, layers)
    computed, replayed = gpu.event("computed"), gpu.event("replayed")
    key = 0
    for _ in gpu.steps():
        if key_changed(gpu):
            key = 1 - key
            writer.wait(replayed)
            gpu.launch("metadata", writer, writes={metadata: key})
            computed.record(writer)
            compute.wait(computed)
        graph.launch(compute, reads=metadata.expect(PARTS, key))
        replayed.record(compute)
