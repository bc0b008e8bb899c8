"""Corpus F: buffers used again with the edge forward but not the edge back, or one buffer too few.

A consumer that waits for its producer is half a protocol: the producer's next round must wait for
the consumer too, or write somewhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol

if TYPE_CHECKING:
    from ..gpu import Gpu


# --- C31: sglang, shared maps -------------------------------------------------------------------


@protocol("corpus/C31-shared-map/forward-edge-only", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def map_forward_edge_only(gpu: Gpu) -> None:
    """The forward waits for the map's update, the next update does not wait for the forward.

    sglang PR #26380: in disaggregated serving, accuracy was flaky. The schedule stream, idle again
    at once, rewrote the index maps of the running batch while the previous forward still read
    them.
    """
    schedule, compute = gpu.stream("schedule"), gpu.stream("compute")
    table = gpu.device("map")
    updated = gpu.event("updated")
    for n in gpu.steps():
        gpu.launch("update", schedule, writes={table: n})
        updated.record(schedule)
        compute.wait(updated)
        gpu.launch("forward", compute, reads={table: n})


@protocol("corpus/C31-shared-map/both-edges", expects={"cuda": "PROVED", "hip": "PROVED"})
def map_both_edges(gpu: Gpu) -> None:
    """The schedule stream waits for the last forward before it updates the map.

    The mend of sglang PR #26380: one more wait at the top of the loop. It costs the overlap of the
    update with the forward, which the map, being one, does not allow anyway.
    """
    schedule, compute = gpu.stream("schedule"), gpu.stream("compute")
    table = gpu.device("map")
    updated, used = gpu.event("updated"), gpu.event("used")
    for n in gpu.steps():
        schedule.wait(used)
        gpu.launch("update", schedule, writes={table: n})
        updated.record(schedule)
        compute.wait(updated)
        gpu.launch("forward", compute, reads={table: n})
        used.record(compute)


@protocol(
    "corpus/C31-shared-map/host-sync-behind-forward",
    expects={"cuda": "REFUTED", "hip": "REFUTED"},
)
def map_host_sync_behind_forward(gpu: Gpu) -> None:
    """With both edges, a host wait on the schedule stream waits for a whole forward.

    The price of sglang PR #26380: what the host issues after such a wait no longer overlaps the
    forward before it. Nothing is wrong but the speed, which is stated here as a property.
    """
    schedule, compute = gpu.stream("schedule"), gpu.stream("compute")
    table, other = gpu.device("map"), gpu.stream("other")
    updated, used = gpu.event("updated"), gpu.event("used")
    before = None
    for n in gpu.steps():
        schedule.wait(used)
        gpu.launch("update", schedule, writes={table: n})
        updated.record(schedule)
        schedule.synchronize()
        prepare = gpu.launch("prepare", other)
        if before is not None:
            gpu.concurrent(before, prepare)
        compute.wait(updated)
        before = gpu.launch("forward", compute, reads={table: n})
        used.record(compute)


@protocol("corpus/C31-shared-map/host-sync-elsewhere", expects={"cuda": "PROVED", "hip": "PROVED"})
def map_host_sync_elsewhere(gpu: Gpu) -> None:
    """The host waits on a stream that does not wait for the forward: the overlap is back.

    The rest of sglang PR #26380: host waits moved off the schedule stream, to streams that have
    nothing to do with the map.
    """
    schedule, compute = gpu.stream("schedule"), gpu.stream("compute")
    table, other = gpu.device("map"), gpu.stream("other")
    updated, used = gpu.event("updated"), gpu.event("used")
    before = None
    for n in gpu.steps():
        schedule.wait(used)
        gpu.launch("update", schedule, writes={table: n})
        updated.record(schedule)
        other.synchronize()
        prepare = gpu.launch("prepare", other)
        if before is not None:
            gpu.concurrent(before, prepare)
        compute.wait(updated)
        before = gpu.launch("forward", compute, reads={table: n})
        used.record(compute)


# --- C33: DeepSpeed, two gradient buckets -------------------------------------------------------


@protocol(
    "corpus/C33-gradient-buckets/forward-edge-only", expects={"cuda": "REFUTED", "hip": "REFUTED"}
)
def buckets_forward_edge_only(gpu: Gpu) -> None:
    """Two buckets and one edge: the copy two rounds later overwrites a bucket being reduced.

    DeepSpeed PR #5606 (reported as #5523, #5545 and #3727): gradients went wrong with overlapping
    communication, but only where reducing was so slow that it fell two buckets behind.
    """
    default, reduction = gpu.stream("default"), gpu.stream("reduction")
    buckets = [gpu.device(f"bucket{i}") for i in range(2)]
    copied = gpu.event("copied")
    for n in gpu.steps():
        bucket = buckets[n % 2]
        gpu.launch("copy", default, writes={bucket: n})
        copied.record(default)
        reduction.wait(copied)
        gpu.launch("allreduce", reduction, reads={bucket: n}, writes={bucket: n})


@protocol("corpus/C33-gradient-buckets/both-edges", expects={"cuda": "PROVED", "hip": "PROVED"})
def buckets_both_edges(gpu: Gpu) -> None:
    """The two streams wait for each other once a bucket: one reduction may be behind, not two.

    The mend of DeepSpeed PR #5606. The default stream waits for the reductions issued so far, not
    for that of the bucket just copied: with two buckets this is just enough.
    """
    default, reduction = gpu.stream("default"), gpu.stream("reduction")
    buckets = [gpu.device(f"bucket{i}") for i in range(2)]
    copied, reduced = gpu.event("copied"), gpu.event("reduced")
    for n in gpu.steps():
        bucket = buckets[n % 2]
        gpu.launch("copy", default, writes={bucket: n})
        reduced.record(reduction)
        default.wait(reduced)
        copied.record(default)
        reduction.wait(copied)
        gpu.launch("allreduce", reduction, reads={bucket: n}, writes={bucket: n})
