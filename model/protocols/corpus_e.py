"""Public bugs, section E: the edge from producer to consumer is missing or starts elsewhere.

Each bug is reduced to the calls that matter, in its broken form and mended; where the bug's own
history has several forms, each stands here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol

if TYPE_CHECKING:
    from ..gpu import Gpu


@protocol("corpus/C22-wrong-stream/downloads", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def wrong_stream_downloads(gpu: Gpu) -> None:
    """The event that guards an upload is recorded on the stream of the downloads.

    Megatron-LM PR #3140, optimizer states kept on the host: every call is there, record and wait,
    but the stream recorded is idle, so that the forward pass could start with parameters that had
    not arrived.
    """
    uploads, downloads, main = gpu.stream("uploads"), gpu.stream("downloads"), gpu.stream("main")
    host, parameters = gpu.pinned("host_parameters"), gpu.device("parameters")
    gradients, host_gradients = gpu.device("gradients"), gpu.pinned("host_gradients")
    uploaded, computed = gpu.event("uploaded"), gpu.event("computed")
    for n in gpu.steps():
        gpu.write(host, n)  # the optimizer
        gpu.memcpy_async(parameters, host, uploads)
        uploaded.record(downloads)
        main.wait(uploaded)
        gpu.launch("forward_backward", main, reads={parameters: n}, writes={gradients: n})
        computed.record(main)
        downloads.wait(computed)
        gpu.memcpy_async(host_gradients, gradients, downloads)
        downloads.synchronize()
        gpu.read(host_gradients, expect=n)


@protocol("corpus/C22-wrong-stream/uploads", expects={"cuda": "PROVED", "hip": "PROVED"})
def wrong_stream_uploads(gpu: Gpu) -> None:
    """The event that guards an upload is recorded on the stream of the uploads.

    The mend of Megatron-LM PR #3140. The way back needs no event: the host awaits the gradients
    before it touches the parameters again.
    """
    uploads, downloads, main = gpu.stream("uploads"), gpu.stream("downloads"), gpu.stream("main")
    host, parameters = gpu.pinned("host_parameters"), gpu.device("parameters")
    gradients, host_gradients = gpu.device("gradients"), gpu.pinned("host_gradients")
    uploaded, computed = gpu.event("uploaded"), gpu.event("computed")
    for n in gpu.steps():
        gpu.write(host, n)  # the optimizer
        gpu.memcpy_async(parameters, host, uploads)
        uploaded.record(uploads)
        main.wait(uploaded)
        gpu.launch("forward_backward", main, reads={parameters: n}, writes={gradients: n})
        computed.record(main)
        downloads.wait(computed)
        gpu.memcpy_async(host_gradients, gradients, downloads)
        downloads.synchronize()
        gpu.read(host_gradients, expect=n)


@protocol("corpus/C24-gradient-bucket/one-producer", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def gradient_bucket_one_producer(gpu: Gpu) -> None:
    """Two streams fill a bucket of gradients; the reduction waits for the current one only.

    DeepSpeed issue #8061: gradient hooks run on different streams, and the reduction awaited the
    stream that was current when the bucket was full. Reduced gradients held slices that another
    stream had not written yet.
    """
    producers = [gpu.stream("hook0"), gpu.stream("hook1")]
    reduction = gpu.stream("reduction")
    bucket = gpu.device("bucket", parts=("slice0", "slice1"))
    filled, reduced = gpu.event("filled"), gpu.event("reduced")
    for n in gpu.steps():
        for i, producer in enumerate(producers):
            producer.wait(reduced)
            gpu.launch(f"gradient{i}", producer, writes={bucket[f"slice{i}"]: n})
        filled.record(producers[1])
        reduction.wait(filled)
        gpu.launch("all_reduce", reduction, reads=bucket.expect(("slice0", "slice1"), n))
        reduced.record(reduction)


@protocol("corpus/C24-gradient-bucket/all-producers", expects={"cuda": "PROVED", "hip": "PROVED"})
def gradient_bucket_all_producers(gpu: Gpu) -> None:
    """The reduction waits for every stream that filled a part of the bucket.

    The mend of DeepSpeed issue #8061: the bucket remembers its producers. An event may be recorded
    again at once, since a wait already made keeps its own record.
    """
    producers = [gpu.stream("hook0"), gpu.stream("hook1")]
    reduction = gpu.stream("reduction")
    bucket = gpu.device("bucket", parts=("slice0", "slice1"))
    filled, reduced = gpu.event("filled"), gpu.event("reduced")
    for n in gpu.steps():
        for i, producer in enumerate(producers):
            producer.wait(reduced)
            gpu.launch(f"gradient{i}", producer, writes={bucket[f"slice{i}"]: n})
        for producer in producers:
            filled.record(producer)
            reduction.wait(filled)
        gpu.launch("all_reduce", reduction, reads=bucket.expect(("slice0", "slice1"), n))
        reduced.record(reduction)


@protocol("corpus/C24-gradient-bucket/overlap-lost", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def gradient_bucket_overlap_lost(gpu: Gpu) -> None:
    """Two buckets, but every producer waits for the latest reduction: nothing overlaps.

    DeepSpeed issue #8364, on the wait back from reduction to producers: no version is wrong, but
    gradients of the next bucket are no longer computed while the last one is reduced.
    """
    producers = [gpu.stream("hook0"), gpu.stream("hook1")]
    reduction = gpu.stream("reduction")
    buckets = [gpu.device(f"bucket{i}", parts=("slice0", "slice1")) for i in range(2)]
    filled, reduced = gpu.event("filled"), gpu.event("reduced")
    reducing = None
    for n in gpu.steps():
        bucket = buckets[n % 2]
        for i, producer in enumerate(producers):
            producer.wait(reduced)
            write = gpu.launch(f"gradient{i}", producer, writes={bucket[f"slice{i}"]: n})
            if reducing is not None:
                gpu.concurrent(reducing, write)
            filled.record(producer)
            reduction.wait(filled)
        reducing = gpu.launch("all_reduce", reduction, reads=bucket.expect(("slice0", "slice1"), n))
        reduced.record(reduction)


@protocol("corpus/C24-gradient-bucket/overlap-kept", expects={"cuda": "PROVED", "hip": "PROVED"})
def gradient_bucket_overlap_kept(gpu: Gpu) -> None:
    """Two buckets with an event each: producers wait for the reduction of the same bucket.

    What DeepSpeed issue #8364 asks for: the wait back concerns the reduction that read this bucket
    last, and the one in progress goes on beside the next gradients.
    """
    producers = [gpu.stream("hook0"), gpu.stream("hook1")]
    reduction = gpu.stream("reduction")
    buckets = [gpu.device(f"bucket{i}", parts=("slice0", "slice1")) for i in range(2)]
    filled, reduced = gpu.event("filled"), [gpu.event(f"reduced{i}") for i in range(2)]
    reducing = None
    for n in gpu.steps():
        bucket = buckets[n % 2]
        for i, producer in enumerate(producers):
            producer.wait(reduced[n % 2])
            write = gpu.launch(f"gradient{i}", producer, writes={bucket[f"slice{i}"]: n})
            if reducing is not None:
                gpu.concurrent(reducing, write)
            filled.record(producer)
            reduction.wait(filled)
        reducing = gpu.launch("all_reduce", reduction, reads=bucket.expect(("slice0", "slice1"), n))
        reduced[n % 2].record(reduction)
