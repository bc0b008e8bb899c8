"""Corpus F, continued: two buffers that act as one, and what two mends of that cost (C34)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol

if TYPE_CHECKING:
    from ..gpu import Gpu


@protocol("corpus/C34-ping-pong/index-reset", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def index_reset(gpu: Gpu) -> None:
    """The index is swapped and then reset: two buckets act as one, waits are for two.

    DeepSpeed before PR #7371: clearing the bucket's bookkeeping also put the index back to 0, so
    the next copy wrote the bucket that was being reduced.
    """
    default, reduction = gpu.stream("default"), gpu.stream("reduction")
    buckets = [gpu.device(f"bucket{i}") for i in range(2)]
    copied, reduced = gpu.event("copied"), gpu.event("reduced")
    index, before = 0, None
    for n in gpu.steps():
        copy = gpu.launch("copy", default, writes={buckets[index]: n})
        if before is not None:
            gpu.concurrent(before, copy)
        reduced.record(reduction)
        default.wait(reduced)
        copied.record(default)
        reduction.wait(copied)
        before = gpu.launch("allreduce", reduction, reads={buckets[index]: n})
        index = 1 - index
        index = 0  # what clearing the bucket did as well


def two_way_wait(gpu: Gpu, *, overlap: bool) -> None:
    """The index is still reset; each copy waits for the reduction before it."""
    default, reduction = gpu.stream("default"), gpu.stream("reduction")
    bucket = gpu.device("bucket0")
    copied, reduced = gpu.event("copied"), gpu.event("reduced")
    before = None
    for n in gpu.steps():
        reduced.record(reduction)
        default.wait(reduced)
        copy = gpu.launch("copy", default, writes={bucket: n})
        if overlap and before is not None:
            gpu.concurrent(before, copy)
        copied.record(default)
        reduction.wait(copied)
        before = gpu.launch("allreduce", reduction, reads={bucket: n})


@protocol("corpus/C34-ping-pong/two-way-wait", expects={"cuda": "PROVED", "hip": "PROVED"})
def two_way_wait_versions(gpu: Gpu) -> None:
    """Each copy waits for the reduction before it: every reduction reads its own gradients.

    The first mend, DeepSpeed PR #7371: the index still sticks, and a wait in both directions makes
    the one bucket safe.
    """
    two_way_wait(gpu, overlap=False)


@protocol(
    "corpus/C34-ping-pong/two-way-wait-overlap", expects={"cuda": "REFUTED", "hip": "REFUTED"}
)
def two_way_wait_overlap(gpu: Gpu) -> None:
    """The same, where a copy is to overlap the reduction before it: the wait forbids it.

    What DeepSpeed PR #7371 cost, noticed half a year later: the second bucket, there for this
    overlap alone, was never used.
    """
    two_way_wait(gpu, overlap=True)


@protocol("corpus/C34-ping-pong/index-kept", expects={"cuda": "PROVED", "hip": "PROVED"})
def index_kept(gpu: Gpu) -> None:
    """The index alternates: a copy overlaps the reduction before it, in the other bucket.

    The second mend, DeepSpeed PR #7805: the reset is gone, and with it the reason for the extra
    wait.
    """
    default, reduction = gpu.stream("default"), gpu.stream("reduction")
    buckets = [gpu.device(f"bucket{i}") for i in range(2)]
    copied, reduced = gpu.event("copied"), gpu.event("reduced")
    index, before = 0, None
    for n in gpu.steps():
        copy = gpu.launch("copy", default, writes={buckets[index]: n})
        if before is not None:
            gpu.concurrent(before, copy)
        reduced.record(reduction)
        default.wait(reduced)
        copied.record(default)
        reduction.wait(copied)
        before = gpu.launch("allreduce", reduction, reads={buckets[index]: n})
        index = 1 - index
