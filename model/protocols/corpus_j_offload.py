"""Corpus J, continued: block copies tracked under the wrong name, and in one direction (C58)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol

if TYPE_CHECKING:
    from ..gpu import Gpu
    from ..memory import Buffer
    from ..objects import Event, Stream


@protocol("corpus/C58-block-copies/by-logical-id", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def by_logical_id(gpu: Gpu) -> None:
    """Pending copies are looked up by sequence, and the block has just changed its sequence.

    TensorRT-LLM before PR #9056: the offload of the old sequence was noted under that one's id; the
    copy for the new sequence looked under its own, found nothing and overwrote the block.
    """
    offload, onboard, compute = (gpu.stream(name) for name in ("offload", "onboard", "compute"))
    block, saved, stored = gpu.device("block"), gpu.pinned("saved"), gpu.pinned("stored")
    gpu.write(stored, "sequence 2")
    pending: dict[int, Event] = {}
    gpu.launch("prefill", compute, writes={block: "sequence 1"})
    compute.synchronize()  # its last output is processed: sequence 1 has ended
    gpu.memcpy_async(saved, block, offload)
    pending[1] = noted(gpu, offload)
    if 2 in pending:
        onboard.wait(pending[2])
    gpu.memcpy_async(block, stored, onboard)
    pending[2] = noted(gpu, onboard)
    compute.wait(pending[2])
    gpu.launch("attention", compute, reads={block: "sequence 2"})
    pending[1].synchronize()
    gpu.read(saved, expect="sequence 1")


@protocol(
    "corpus/C58-block-copies/partial-copy-untracked",
    expects={"cuda": "REFUTED", "hip": "REFUTED"},
)
def partial_copy_untracked(gpu: Gpu) -> None:
    """A copy from block to block on the device is not noted at all: nobody waits for it.

    The other half of TensorRT-LLM PR #9056: part of a block is shared by copying it, and the source
    was given away while that copy had still to read it.
    """
    onboard, compute = gpu.stream("onboard"), gpu.stream("compute")
    block, partial, stored = gpu.device("block"), gpu.device("partial"), gpu.pinned("stored")
    gpu.write(stored, "sequence 2")
    gpu.launch("prefill", compute, writes={block: "sequence 1"})
    prefilled = noted(gpu, compute)
    gpu.memcpy_async(partial, block, compute)
    onboard.wait(prefilled)
    gpu.memcpy_async(block, stored, onboard)
    compute.wait(noted(gpu, onboard))
    gpu.launch("attention", compute, reads={block: "sequence 2", partial: "sequence 1"})


@protocol("corpus/C58-block-copies/by-physical-block", expects={"cuda": "PROVED", "hip": "PROVED"})
def by_physical_block(gpu: Gpu) -> None:
    """Pending reads and writes are noted by block; each copy awaits what conflicts with it.

    The mend, TensorRT-LLM PR #9056: two maps keyed by the block itself, whoever owns it, and the
    copy streams exchange waits with the compute stream.
    """
    offload, onboard, compute = (gpu.stream(name) for name in ("offload", "onboard", "compute"))
    block, partial = gpu.device("block"), gpu.device("partial")
    saved, stored = gpu.pinned("saved"), gpu.pinned("stored")
    copies = Copies(gpu)
    gpu.write(stored, "sequence 2")
    gpu.launch("prefill", compute, writes={block: "sequence 1"})
    offload.wait(noted(gpu, compute))
    copies.copy(saved, block, offload)
    copies.copy(partial, block, offload)
    copies.copy(block, stored, onboard)
    for stream in (offload, onboard):
        compute.wait(noted(gpu, stream))
    gpu.launch("attention", compute, reads={block: "sequence 2", partial: "sequence 1"})
    offload.synchronize()
    gpu.read(saved, expect="sequence 1")


class Copies:
    """Copies of blocks, each after those that conflict with it, by the blocks' own identity."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.reads: dict[Buffer, list[Event]] = {}
        self.writes: dict[Buffer, list[Event]] = {}

    def copy(self, dst: Buffer, src: Buffer, stream: Stream) -> None:
        """Wait for the writers of the source, and for readers and writers of the target; copy."""
        conflicts = (self.writes.get(src, ()), self.reads.get(dst, ()), self.writes.get(dst, ()))
        for event in (event for events in conflicts for event in events):
            stream.wait(event)
        self.gpu.memcpy_async(dst, src, stream)
        done = noted(self.gpu, stream)
        self.reads.setdefault(src, []).append(done)
        self.writes.setdefault(dst, []).append(done)


def noted(gpu: Gpu, stream: Stream) -> Event:
    """A new event, recorded on the stream now."""
    event = gpu.event(f"{stream.name}_done")
    event.record(stream)
    return event
