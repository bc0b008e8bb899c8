"""Public bugs, section D: work on the NULL stream, which a non-blocking stream does not wait for.

Each bug is reduced to the calls that matter, in its broken form and mended; where the bug's own
history has several forms, each stands here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol

if TYPE_CHECKING:
    from ..gpu import Gpu


@protocol(
    "corpus/C18-blocking-upload/non-blocking-stream",
    expects={"cuda": "REFUTED", "hip": "PROVED"},
)
def blocking_upload_non_blocking(gpu: Gpu) -> None:
    """A value is uploaded by a blocking copy and read at once on a non-blocking stream.

    ONNX Runtime PR #9841: the first inference on a new value was wrong now and then. Under CUDA
    the copy returns when its pageable source is staged (ninfer-3090 #44 saw it from about 1 MiB
    on); HIP's returns after the device write, so there each fresh value is safe.
    """
    stream = gpu.stream("compute")
    host = gpu.pageable("host")
    for n in gpu.steps():
        value = gpu.device("value")
        gpu.write(host, n)
        gpu.memcpy(value, host)
        gpu.launch("infer", stream, reads={value: n})


@protocol("corpus/C18-blocking-upload/blocking-stream", expects={"cuda": "PROVED", "hip": "PROVED"})
def blocking_upload_blocking(gpu: Gpu) -> None:
    """The same copy with a kernel on a blocking stream, which waits for the NULL stream.

    The control for ONNX Runtime PR #9841: whatever the copy has done on return, a kernel on a
    blocking stream starts after it. Non-blocking streams are what made the bug.
    """
    stream = gpu.stream("compute", blocking=True)
    host = gpu.pageable("host")
    for n in gpu.steps():
        value = gpu.device("value")
        gpu.write(host, n)
        gpu.memcpy(value, host)
        gpu.launch("infer", stream, reads={value: n})


@protocol("corpus/C18-blocking-upload/synchronised", expects={"cuda": "PROVED", "hip": "PROVED"})
def blocking_upload_synchronised(gpu: Gpu) -> None:
    """The NULL stream is synchronised after the blocking copy.

    The mend of ONNX Runtime PR #9841: a second wait after a call that is named blocking, for the
    write that it may have left behind.
    """
    stream = gpu.stream("compute")
    host = gpu.pageable("host")
    for n in gpu.steps():
        value = gpu.device("value")
        gpu.write(host, n)
        gpu.memcpy(value, host)
        gpu.null_stream.synchronize()
        gpu.launch("infer", stream, reads={value: n})


@protocol("corpus/C18-blocking-upload/on-its-stream", expects={"cuda": "PROVED", "hip": "PROVED"})
def blocking_upload_on_its_stream(gpu: Gpu) -> None:
    """The value is uploaded on the stream that reads it: no wait is needed.

    Another mend for ONNX Runtime #9841: the stream's own order puts the write before the kernel,
    and the pageable source is read within the call.
    """
    stream = gpu.stream("compute")
    host = gpu.pageable("host")
    for n in gpu.steps():
        value = gpu.device("value")
        gpu.write(host, n)
        gpu.memcpy_async(value, host, stream)
        gpu.launch("infer", stream, reads={value: n})


@protocol("corpus/C19-device-copy/null-stream", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def device_copy_null_stream(gpu: Gpu) -> None:
    """A "blocking" copy within the device blocks neither the host nor the kernels' stream.

    MIOpen PR #3299 and #3655: between two kernels on a non-blocking stream, the copy runs on the
    NULL stream and returns at once. It can come before the kernel that makes its source, and after
    the kernel that needs its result.
    """
    stream = gpu.stream("compute")
    made, copied = gpu.device("made"), gpu.device("copied")
    for n in gpu.steps():
        gpu.launch("produce", stream, writes={made: n})
        gpu.memcpy(copied, made)
        gpu.launch("consume", stream, reads={copied: n})


@protocol("corpus/C19-device-copy/kernels-stream", expects={"cuda": "PROVED", "hip": "PROVED"})
def device_copy_kernels_stream(gpu: Gpu) -> None:
    """The copy is issued to the stream of the kernels around it.

    The mend of MIOpen PR #3299 and #3655: one stream, one order, and no wait of the host either.
    """
    stream = gpu.stream("compute")
    made, copied = gpu.device("made"), gpu.device("copied")
    for n in gpu.steps():
        gpu.launch("produce", stream, writes={made: n})
        gpu.memcpy_async(copied, made, stream)
        gpu.launch("consume", stream, reads={copied: n})


@protocol("corpus/C20-signal-words/null-memset", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def signal_words_null_memset(gpu: Gpu) -> None:
    """Signal words are zeroed by a memset that only enqueues: it can erase a peer's signal.

    XLA PR #40697: collective kernels signal each other and spin until they are signalled. The
    "synchronous" zeroing ran late on a device's NULL stream, after the peer's signal, and tests
    on several GPUs hung. (HIP's waits, but only away from the start of an allocation.)
    """
    streams = [gpu.stream(f"collective{i}", device=i) for i in range(2)]
    signals = [gpu.cell(f"signal{i}") for i in range(2)]
    for i in range(2):
        gpu.write_value(gpu.null(i), signals[i], 0)  # the memset
    for i in range(2):
        gpu.write_value(streams[i], signals[1 - i], 1)  # one kernel: it signals the peer,
        gpu.wait_value(streams[i], signals[i], 1)  # then spins


@protocol("corpus/C20-signal-words/awaited-memset", expects={"cuda": "HOLDS", "hip": "HOLDS"})
def signal_words_awaited_memset(gpu: Gpu) -> None:
    """The memset goes to a stream and is awaited before any peer may signal.

    The mend of XLA PR #40697. That the two kernels meet at all still takes devices that run at the
    same time, which no runtime promises.
    """
    streams = [gpu.stream(f"collective{i}", device=i) for i in range(2)]
    signals = [gpu.cell(f"signal{i}") for i in range(2)]
    for i in range(2):
        gpu.write_value(streams[i], signals[i], 0)  # the memset
        streams[i].synchronize()
    for i in range(2):
        gpu.write_value(streams[i], signals[1 - i], 1)  # one kernel: it signals the peer,
        gpu.wait_value(streams[i], signals[i], 1)  # then spins
