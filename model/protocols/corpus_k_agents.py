"""Corpus K: a NIC that knows of no stream, and kernels that start before their stream says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol

if TYPE_CHECKING:
    from ..gpu import Gpu


# --- C60: sending right after packing -----------------------------------------------------------


@protocol("corpus/C60-packed-send/at-once", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def send_at_once(gpu: Gpu) -> None:
    """A GPU-aware MPI send is posted while the kernel that packs its buffer is still queued.

    MFEM PR #4253, GHEX #220, PIConGPU #3573: the send takes a device pointer and knows nothing of
    streams. The NIC reads when the host posts, which is too early.
    """
    packing, nic = gpu.stream("packing"), gpu.agent("nic")
    buffer = gpu.device("buffer")
    gpu.launch("pack", packing, writes={buffer: "packed"})
    nic.read(buffer, expect="packed").synchronize()


@protocol("corpus/C60-packed-send/default-stream", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def send_from_default_stream(gpu: Gpu) -> None:
    """The same with the kernel on the default stream, which waits for nobody either.

    What the reviewers of MFEM PR #4253 expected to be safe: the default stream orders itself with
    other streams, not with the host, and a send is the host's.
    """
    nic, buffer = gpu.agent("nic"), gpu.device("buffer")
    gpu.launch("pack", gpu.null_stream, writes={buffer: "packed"})
    nic.read(buffer, expect="packed").synchronize()


@protocol("corpus/C60-packed-send/synchronise-first", expects={"cuda": "PROVED", "hip": "PROVED"})
def send_after_synchronise(gpu: Gpu) -> None:
    """The host waits for the packing stream before it posts the send.

    The mend, MFEM PR #4253. The host wait is the order: there is no stream to make the NIC wait.
    """
    packing, nic = gpu.stream("packing"), gpu.agent("nic")
    buffer = gpu.device("buffer")
    gpu.launch("pack", packing, writes={buffer: "packed"})
    with gpu.sync_allowed("the send does not wait for the stream"):
        packing.synchronize()
    nic.read(buffer, expect="packed").synchronize()


# --- C66: early launch within one stream --------------------------------------------------------


@protocol("corpus/C66-early-launch/wait-left-out", expects={"cuda": "REFUTED", "hip": "PROVED"})
def wait_left_out(gpu: Gpu) -> None:
    """A kernel is launched early, and the wait inside it was compiled out for this target.

    CCCL issue #9134, PR #9163: "one stream" no longer means "in order", and the kernel read before
    its producer had written. HIP has no early launch: the attribute is nothing, the order stays.
    """
    stream, data = gpu.stream("stream"), gpu.device("data")
    gpu.launch("producer", stream, writes={data: 1})
    gpu.launch("consumer", stream, reads={data: 1}, early=True)


@protocol("corpus/C66-early-launch/waits", expects={"cuda": "PROVED", "hip": "PROVED"})
def early_and_waits(gpu: Gpu) -> None:
    """Launched early, and the kernel waits before it touches memory.

    The mend, CCCL PR #9163: the attribute is set only where the compiled code has the wait.
    """
    stream, data = gpu.stream("stream"), gpu.device("data")
    gpu.launch("producer", stream, writes={data: 1})
    gpu.launch("consumer", stream, reads={data: 1}, early="waits")


@protocol(
    "corpus/C66-early-launch/wait-after-first-read", expects={"cuda": "REFUTED", "hip": "PROVED"}
)
def wait_after_first_read(gpu: Gpu) -> None:
    """The kernel waits, but has read something before it does.

    CCCL #3131: a prologue loaded what the kernel before writes. It is an early kernel by itself
    here, and what comes after the wait an ordinary one. HIP has no early launch: both are in order.
    """
    stream = gpu.stream("stream")
    data = gpu.device("data", parts=("size", "items"))
    gpu.launch("producer", stream, writes={data: 1})
    gpu.launch("consumer_prologue", stream, reads={data["size"]: 1}, early=True)
    gpu.launch("consumer", stream, reads={data["items"]: 1})


@protocol(
    "corpus/C66-early-launch/waits-for-the-last", expects={"cuda": "UNDETERMINED", "hip": "PROVED"}
)
def waits_for_the_last_only(gpu: Gpu) -> None:
    """The third kernel waits for the second, which did not wait for the first.

    From the review of llama.cpp PR #22522: does the wait reach back to the first kernel's writes?
    CUDA does not say (U6), so nobody may rely on it; under HIP, which has no early launch, the
    stream orders all three.
    """
    stream, data = gpu.stream("stream"), gpu.device("data")
    gpu.launch("first", stream, writes={data: 1})
    gpu.launch("second", stream, early=True)
    gpu.launch("third", stream, reads={data: 1}, early="waits")


@protocol("corpus/C66-early-launch/each-waits", expects={"cuda": "PROVED", "hip": "PROVED"})
def each_waits(gpu: Gpu) -> None:
    """Every early kernel waits for the one before it: the chain is whole again.

    What the review of llama.cpp PR #22522 came to, and a rule that needs no promise that CUDA does
    not make.
    """
    stream, data = gpu.stream("stream"), gpu.device("data")
    gpu.launch("first", stream, writes={data: 1})
    gpu.launch("second", stream, early="waits")
    gpu.launch("third", stream, reads={data: 1}, early="waits")
