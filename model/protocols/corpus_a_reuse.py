"""Public bugs, section A, continued: host memory used again, in place, unpinned or by two threads.

Each bug is reduced to the calls that matter, in its broken form and mended; where the bug's own
history has several forms, each stands here. See also `corpus_a`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol

if TYPE_CHECKING:
    from ..gpu import Gpu
    from ..objects import Stream


@protocol(
    "corpus/C06-slot-ring/sampling-only", expects={"cuda": "PROVED", "hip": "PROVED"}, slots=2
)
def slot_ring_sampling_only(gpu: Gpu, slots: int) -> None:
    """Kernels read a ring of host slots in place; a bounded queue of sampling steps guards it.

    The design that vLLM PR #53057 found wanting, in the case that it was made for: a step counts
    as finished when its future resolves, for a sampling step after an event, so that the ring is
    never outrun.
    """
    stream = gpu.stream("compute")
    ring = [gpu.pinned(f"slot{i}") for i in range(slots)]
    outputs = [gpu.event(f"output{i}") for i in range(2)]
    for n in gpu.steps():
        gpu.write(ring[n % slots], n)
        gpu.launch("encode", stream, reads={ring[n % slots]: n})
        outputs[n % 2].record(stream)
        outputs[(n - 1) % 2].synchronize()  # the future of step n - 1


@protocol(
    "corpus/C06-slot-ring/encoder-only", expects={"cuda": "REFUTED", "hip": "REFUTED"}, slots=2
)
def slot_ring_encoder_only(gpu: Gpu, slots: int) -> None:
    """The same ring with steps that only encode: their futures are done before the kernel is.

    vLLM instances that run encoders alone (PR #53057, #53176): nothing is sampled, so a step's
    future resolved at once, the queue bounded nothing, and the host overwrote slots of kernels
    still queued. The illegal access was reported at some later synchronisation.
    """
    stream = gpu.stream("compute")
    ring = [gpu.pinned(f"slot{i}") for i in range(slots)]
    for n in gpu.steps():
        gpu.write(ring[n % slots], n)
        gpu.launch("encode", stream, reads={ring[n % slots]: n})
        # The future of step n - 1 was done when it was made.


@protocol(
    "corpus/C06-slot-ring/encoder-waits", expects={"cuda": "PROVED", "hip": "PROVED"}, slots=2
)
def slot_ring_encoder_waits(gpu: Gpu, slots: int) -> None:
    """Each slot has an event of its own, awaited before the slot is filled, whatever the step.

    The mend of vLLM PR #53057 and #53176: encoder steps moved to a runner that waits for the
    device before it uses a slot again, instead of counting steps on the host.
    """
    stream = gpu.stream("compute")
    ring = [gpu.pinned(f"slot{i}") for i in range(slots)]
    read = [gpu.event(f"read{i}") for i in range(slots)]
    for n in gpu.steps():
        read[n % slots].synchronize()
        gpu.write(ring[n % slots], n)
        gpu.launch("encode", stream, reads={ring[n % slots]: n})
        read[n % slots].record(stream)


@protocol("corpus/C08-unpinned/pinned", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def unpinned_pinned(gpu: Gpu) -> None:
    """A pinned buffer refilled each step, in a runner that has no wait at all.

    The risk that vLLM PR #32799 removed from one of its runners: step n + 1 rewrites the buffer
    that the copy of step n has still to read.
    """
    stream = gpu.stream("compute")
    host, inputs = gpu.pinned("host_inputs"), gpu.device("inputs")
    for n in gpu.steps():
        gpu.write(host, n)
        gpu.memcpy_async(inputs, host, stream)
        gpu.launch("forward", stream, reads={inputs: n})


@protocol(
    "corpus/C08-unpinned/pageable",
    expects={"cuda": "PROVED", "hip": "PROVED", "cuda-hmm": "UNDETERMINED"},
)
def unpinned_pageable(gpu: Gpu) -> None:
    """The same buffer in ordinary memory: the copy has read it when the call returns.

    The mend of vLLM PR #32799: not to pin. The host pays for the staging inside the call. CUDA
    does not promise it where the GPU can read ordinary memory itself, and other calls that copy
    do not stage (see C12).
    """
    stream = gpu.stream("compute")
    host, inputs = gpu.pageable("host_inputs"), gpu.device("inputs")
    for n in gpu.steps():
        gpu.write(host, n)
        gpu.memcpy_async(inputs, host, stream)
        gpu.launch("forward", stream, reads={inputs: n})


@protocol("corpus/C10-kernel-arguments/one-thread", expects={"cuda": "PROVED", "hip": "PROVED"})
def kernel_arguments_one_thread(gpu: Gpu) -> None:
    """Arguments pass through one pinned and one constant buffer; an event guards both.

    Kokkos PR #3234, which replaced a copy from the caller's stack. One thread may use any number
    of streams: the event recorded after a kernel says that both buffers are free again.
    """
    streams = [gpu.stream("a"), gpu.stream("b")]
    host, constant = gpu.pinned("host_arguments"), gpu.device("constant")
    free = gpu.event("free")
    for n in gpu.steps():
        stream = streams[n % 2]
        free.synchronize()
        gpu.write(host, n)
        gpu.memcpy_async(constant, host, stream)
        gpu.launch("kernel", stream, reads={constant: n})
        free.record(stream)


@protocol("corpus/C10-kernel-arguments/two-threads", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def kernel_arguments_two_threads(gpu: Gpu) -> None:
    """Two host threads pass the event together: one kernel gets the other's arguments.

    Kokkos PR #4525 on what #3234 had left: wait, fill, copy, launch and record are not one step,
    and threads with a stream each interleave in between.
    """
    host, constant = gpu.pinned("host_arguments"), gpu.device("constant")
    free = gpu.event("free")

    def submit(stream: Stream, arguments: str) -> None:
        free.synchronize()
        gpu.write(host, arguments)
        gpu.memcpy_async(constant, host, stream)
        gpu.launch("kernel", stream, reads={constant: arguments})
        free.record(stream)

    other = gpu.thread(submit, gpu.stream("a"), "arguments of a")
    submit(gpu.stream("b"), "arguments of b")
    other.join()


@protocol("corpus/C10-kernel-arguments/mutex", expects={"cuda": "HOLDS", "hip": "HOLDS"})
def kernel_arguments_mutex(gpu: Gpu) -> None:
    """A lock around the whole sequence: it orders the calls, the event orders the kernels.

    The mend of Kokkos PR #4525. The lock has to be held up to the record: released after the
    launch, it would let the other thread await an older record.
    """
    host, constant = gpu.pinned("host_arguments"), gpu.device("constant")
    free, lock = gpu.event("free"), gpu.lock("submission")

    def submit(stream: Stream, arguments: str) -> None:
        with lock:
            free.synchronize()
            gpu.write(host, arguments)
            gpu.memcpy_async(constant, host, stream)
            gpu.launch("kernel", stream, reads={constant: arguments})
            free.record(stream)

    other = gpu.thread(submit, gpu.stream("a"), "arguments of a")
    submit(gpu.stream("b"), "arguments of b")
    other.join()
