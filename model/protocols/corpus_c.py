"""Public bugs, section C: the host reads a result before it has arrived.

Each bug is reduced to the calls that matter, in its broken form and mended; where the bug's own
history has several forms, each stands here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol

if TYPE_CHECKING:
    from ..gpu import Gpu


@protocol("corpus/C14-accepted-counts/no-wait", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def accepted_counts_no_wait(gpu: Gpu) -> None:
    """The counts of the step before are read from pinned memory without waiting for them.

    vLLM, hybrid models with speculative decoding (PR #36013): some other wait used to lie in
    between by luck, async scheduling took it away, and the host read counts of accepted tokens
    that were still on their way.
    """
    stream = gpu.stream("compute")
    counted, counts = gpu.device("counted"), gpu.pinned("counts")
    gpu.write(counts, -1)
    for n in gpu.steps():
        gpu.read(counts, expect=n - 1)
        gpu.launch("verify", stream, writes={counted: n})
        gpu.memcpy_async(counts, counted, stream)


@protocol("corpus/C14-accepted-counts/event-wait", expects={"cuda": "PROVED", "hip": "PROVED"})
def accepted_counts_event_wait(gpu: Gpu) -> None:
    """An event after the copy is awaited before the counts are read.

    The mend of vLLM PR #36013: the wait that used to be there by luck is stated.
    """
    stream = gpu.stream("compute")
    counted, counts = gpu.device("counted"), gpu.pinned("counts")
    arrived = gpu.event("arrived")
    gpu.write(counts, -1)
    for n in gpu.steps():
        arrived.synchronize()
        gpu.read(counts, expect=n - 1)
        gpu.launch("verify", stream, writes={counted: n})
        gpu.memcpy_async(counts, counted, stream)
        arrived.record(stream)


@protocol("corpus/C14-accepted-counts/host-writes", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def accepted_counts_host_writes(gpu: Gpu) -> None:
    """The host resets a request's count before the wait: it and the copy write one memory.

    The hazard that vLLM #53613 and #51599 name after that mend: a request that joins has its
    count set on the host while the download of the step before may still overwrite it.
    """
    stream = gpu.stream("compute")
    counted = gpu.device("counted", parts=("running", "joining"))
    counts = gpu.pinned("counts", parts=("running", "joining"))
    arrived = gpu.event("arrived")
    gpu.write(counts, -1)
    for n in gpu.steps():
        gpu.write(counts.joining, "one")
        arrived.synchronize()
        gpu.read(counts.running, expect=n - 1)
        gpu.read(counts.joining, expect="one")
        gpu.launch("verify", stream, writes={counted: n})
        gpu.memcpy_async(counts, counted, stream)
        arrived.record(stream)


@protocol("corpus/C14-accepted-counts/waits-first", expects={"cuda": "PROVED", "hip": "PROVED"})
def accepted_counts_waits_first(gpu: Gpu) -> None:
    """The host resets a request's count after the wait, when the download is done.

    The order that vLLM #53613 and #51599 call for: an event that guards a buffer comes before
    writes as much as before reads.
    """
    stream = gpu.stream("compute")
    counted = gpu.device("counted", parts=("running", "joining"))
    counts = gpu.pinned("counts", parts=("running", "joining"))
    arrived = gpu.event("arrived")
    gpu.write(counts, -1)
    for n in gpu.steps():
        arrived.synchronize()
        gpu.write(counts.joining, "one")
        gpu.read(counts.running, expect=n - 1)
        gpu.read(counts.joining, expect="one")
        gpu.launch("verify", stream, writes={counted: n})
        gpu.memcpy_async(counts, counted, stream)
        arrived.record(stream)


@protocol("corpus/C16-cpu-operator/stream-wait", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def cpu_operator_stream_wait(gpu: Gpu) -> None:
    """Another stream waits for the download; the operator that reads it runs on the host.

    ONNX Runtime PR #342: an event after the copy was awaited by a stream, which orders streams
    and leaves the host free to go on, so an operator on the CPU computed with the old value.
    """
    copies, compute = gpu.stream("copies"), gpu.stream("compute")
    result, value = gpu.device("result"), gpu.pinned("value")
    copied = gpu.event("copied")
    for n in gpu.steps():
        gpu.launch("produce", copies, writes={result: n})
        gpu.memcpy_async(value, result, copies)
        copied.record(copies)
        compute.wait(copied)
        gpu.read(value, expect=n)


@protocol("corpus/C16-cpu-operator/host-wait", expects={"cuda": "PROVED", "hip": "PROVED"})
def cpu_operator_host_wait(gpu: Gpu) -> None:
    """The host itself awaits the event before its operator reads the value.

    The mend of ONNX Runtime PR #342; NVIDIA DALI PR #5820 later told events that streams await
    from those that the host awaits.
    """
    copies = gpu.stream("copies")
    result, value = gpu.device("result"), gpu.pinned("value")
    copied = gpu.event("copied")
    for n in gpu.steps():
        gpu.launch("produce", copies, writes={result: n})
        gpu.memcpy_async(value, result, copies)
        copied.record(copies)
        copied.synchronize()
        gpu.read(value, expect=n)
