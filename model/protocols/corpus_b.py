"""Public bugs, section B: a temporary host buffer is gone before the copy reads it.

Each bug is reduced to the calls that matter, in its broken form and mended; where the bug's own
history has several forms, each stands here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol

if TYPE_CHECKING:
    from ..gpu import Gpu


@protocol("corpus/C11-local-vector/pageable", expects={"cuda": "HOLDS", "hip": "HOLDS"})
def local_vector_pageable(gpu: Gpu) -> None:
    """A local vector in ordinary memory is copied and freed on return: safe.

    How cuDF had it before PR #22321: the copy had read the vector when the call returned, so that
    the heap could hand its memory to any other thread.
    """
    stream = gpu.stream("stream")
    view, heap = gpu.device("view"), gpu.queue(name="heap")
    heap.put(gpu.pageable("block"))

    def other() -> None:
        block = heap.get()
        gpu.write(block, "other")
        heap.put(block)

    thread = gpu.thread(other)
    block = heap.get()
    gpu.write(block, "view")
    gpu.memcpy_async(view, block, stream)
    heap.put(block)
    gpu.launch("kernel", stream, reads={view: "view"})
    thread.join()


@protocol("corpus/C11-local-vector/pinned", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def local_vector_pinned(gpu: Gpu) -> None:
    """The local vector moved to a pinned pool that frees without asking the stream.

    cuDF issue #22284: with pinned memory the copy reads the vector later, the vector is gone on
    return, and another thread fills its block. Views on the device were corrupted, with many
    threads at work.
    """
    stream = gpu.stream("stream")
    view, pool = gpu.device("view"), gpu.queue(name="pool")
    pool.put(gpu.pinned("block"))

    def other() -> None:
        block = pool.get()
        gpu.write(block, "other")
        pool.put(block)

    thread = gpu.thread(other)
    block = pool.get()
    gpu.write(block, "view")
    gpu.memcpy_async(view, block, stream)
    pool.put(block)
    gpu.launch("kernel", stream, reads={view: "view"})
    thread.join()


@protocol("corpus/C11-local-vector/synchronised", expects={"cuda": "HOLDS", "hip": "HOLDS"})
def local_vector_synchronised(gpu: Gpu) -> None:
    """The stream is synchronised before the pinned vector goes out of scope.

    The mend of cuDF PR #22321: the function that owns the vector waits until the copy has read
    it. Pinned memory made the copy asynchronous, and this gives the gain back.
    """
    stream = gpu.stream("stream")
    view, pool = gpu.device("view"), gpu.queue(name="pool")
    pool.put(gpu.pinned("block"))

    def other() -> None:
        block = pool.get()
        gpu.write(block, "other")
        pool.put(block)

    thread = gpu.thread(other)
    block = pool.get()
    gpu.write(block, "view")
    gpu.memcpy_async(view, block, stream)
    stream.synchronize()
    pool.put(block)
    gpu.launch("kernel", stream, reads={view: "view"})
    thread.join()


@protocol(
    "corpus/C12-batched-copy/single-copy",
    expects={"cuda": "PROVED", "hip": "PROVED", "cuda-hmm": "UNDETERMINED"},
)
def batched_copy_single(gpu: Gpu) -> None:
    """One asynchronous copy from a vector that is freed at once: the call has read it.

    What Velox and cuDF relied on before they batched their copies (issue #17163, PR #23718); not
    promised where the GPU can read ordinary memory itself.
    """
    stream, column = gpu.stream("stream"), gpu.device("column")
    vector = gpu.pageable("vector")
    reused = gpu.malloc("reused", of=vector)
    for n in gpu.steps():
        gpu.write(vector, n)
        gpu.memcpy_async(column, vector, stream)
        gpu.write(reused, "other")
        gpu.launch("kernel", stream, reads={column: n})


@protocol("corpus/C12-batched-copy/stream-order", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def batched_copy_stream_order(gpu: Gpu) -> None:
    """A batched copy reads its source in stream order, though the source is pageable.

    Velox issue #17163: with the batched call, the same vector was read after it had been freed:
    the driver's own thread crashed, or values differed from run to run. Blocking launches do not
    help, since no kernel is at fault.
    """
    stream, column = gpu.stream("stream"), gpu.device("column")
    vector = gpu.pageable("vector")
    reused = gpu.malloc("reused", of=vector)
    for n in gpu.steps():
        gpu.write(vector, n)
        gpu.memcpy_async(column, vector, stream, source="stream")
        gpu.write(reused, "other")
        gpu.launch("kernel", stream, reads={column: n})


@protocol("corpus/C12-batched-copy/any-order", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def batched_copy_any_order(gpu: Gpu) -> None:
    """A batched copy that may read its source at any time: it may be too late as well.

    The other order that a batched copy can be given (cuDF PR #23718): the source need not be read
    in turn, and still it need not have been read when the call returns.
    """
    stream, column = gpu.stream("stream"), gpu.device("column")
    vector = gpu.pageable("vector")
    reused = gpu.malloc("reused", of=vector)
    for n in gpu.steps():
        gpu.write(vector, n)
        gpu.memcpy_async(column, vector, stream, source="any")
        gpu.write(reused, "other")
        gpu.launch("kernel", stream, reads={column: n})


@protocol("corpus/C12-batched-copy/during-call", expects={"cuda": "PROVED", "hip": "PROVED"})
def batched_copy_during_call(gpu: Gpu) -> None:
    """A batched copy told to read its source during the call.

    One mend of cuDF PR #23718: the order of access is stated, so that the vector may go when the
    call returns, on every platform.
    """
    stream, column = gpu.stream("stream"), gpu.device("column")
    vector = gpu.pageable("vector")
    reused = gpu.malloc("reused", of=vector)
    for n in gpu.steps():
        gpu.write(vector, n)
        gpu.memcpy_async(column, vector, stream, source="call")
        gpu.write(reused, "other")
        gpu.launch("kernel", stream, reads={column: n})


@protocol("corpus/C12-batched-copy/synchronised", expects={"cuda": "PROVED", "hip": "PROVED"})
def batched_copy_synchronised(gpu: Gpu) -> None:
    """The stream is synchronised where the vector's owner lets it go.

    The other mend of Velox issue #17163: batched copies stay asynchronous among themselves, and
    the owner waits once for all of them.
    """
    stream, column = gpu.stream("stream"), gpu.device("column")
    vector = gpu.pageable("vector")
    reused = gpu.malloc("reused", of=vector)
    for n in gpu.steps():
        gpu.write(vector, n)
        gpu.memcpy_async(column, vector, stream, source="stream")
        stream.synchronize()
        gpu.write(reused, "other")
        gpu.launch("kernel", stream, reads={column: n})
