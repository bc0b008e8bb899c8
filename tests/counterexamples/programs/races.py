"""Small protocols, each with one mistake that leaves two accesses without an order.

A comment `from X` marks the line whose access should come first, `to X` the line that nothing makes
wait for it; X names a missing edge, of which a protocol may have several. Lines are marked as both
contracts, CUDA and HIP, find them.
"""

from __future__ import annotations

from streamorder import Gpu, protocol


@protocol()
def slot_reuse(gpu: Gpu) -> None:
    """The host fills a slot again while the copy from it may still run."""
    s = gpu.stream("s")
    slot, d = gpu.pinned("slot"), gpu.device("d")
    for n in gpu.steps():
        gpu.write(slot, n)  # to A
        gpu.memcpy_async(d, slot, s)  # from A
        gpu.launch("use", s, reads={d: n})


@protocol()
def early_download(gpu: Gpu) -> None:
    """The host reads a result before its copy has landed, and the copy may land on the reader."""
    s = gpu.stream("s")
    d, out = gpu.device("d"), gpu.pinned("out")
    gpu.launch("make", s, writes={d: 7})
    gpu.memcpy_async(out, d, s)  # from A
    gpu.read(out, expect=7)  # to A


@protocol()
def between_streams(gpu: Gpu) -> None:
    """One stream writes what another reads, without any event."""
    s, t = gpu.stream("s"), gpu.stream("t")
    d = gpu.device("d")
    gpu.launch("first", s, writes={d: 1})  # from A
    gpu.launch("use", t, reads={d: 1})  # to A


@protocol()
def no_reverse_edge(gpu: Gpu) -> None:
    """The reader waits for the writer, but the next writer does not wait for the reader."""
    s, t = gpu.stream("s"), gpu.stream("t")
    d, made = gpu.device("d"), gpu.event("made")
    for n in gpu.steps():
        gpu.launch("make", s, writes={d: n})  # to A
        made.record(s)
        t.wait(made)
        gpu.launch("use", t, reads={d: n})  # from A


@protocol()
def wrong_stream_recorded(gpu: Gpu) -> None:
    """The event is recorded on the stream that waits for it, not on the one that works."""
    s, t = gpu.stream("s"), gpu.stream("t")
    d, made = gpu.device("d"), gpu.event("made")
    gpu.launch("make", s, writes={d: 1})  # from A
    made.record(t)
    t.wait(made)
    gpu.launch("use", t, reads={d: 1})  # to A


@protocol()
def recorded_too_early(gpu: Gpu) -> None:
    """The event is recorded before the work that it should stand for."""
    s, t = gpu.stream("s"), gpu.stream("t")
    d, made = gpu.device("d"), gpu.event("made")
    made.record(s)
    gpu.launch("make", s, writes={d: 1})  # from A
    t.wait(made)
    gpu.launch("use", t, reads={d: 1})  # to A


@protocol()
def waited_too_early(gpu: Gpu) -> None:
    """The wait comes before the record: it sees an event that was never recorded."""
    s, t = gpu.stream("s"), gpu.stream("t")
    d, made = gpu.device("d"), gpu.event("made")
    t.wait(made)
    gpu.launch("make", s, writes={d: 1})  # from A
    made.record(s)
    gpu.launch("use", t, reads={d: 1})  # to A


@protocol()
def off_by_one(gpu: Gpu) -> None:
    """Double buffering with three events: it awaits the copy before the one that matters."""
    s = gpu.stream("s")
    d = gpu.device("d")
    slots = [gpu.pinned(f"slot{i}") for i in range(2)]
    copied = [gpu.event(f"copied{i}") for i in range(3)]
    for n in gpu.steps():
        copied[n % 3].synchronize()
        gpu.write(slots[n % 2], n)  # to A
        gpu.memcpy_async(d, slots[n % 2], s)  # from A
        copied[n % 3].record(s)
        gpu.launch("use", s, reads={d: n})


@protocol()
def null_and_non_blocking(gpu: Gpu) -> None:
    """A fill on the NULL stream, which a non-blocking stream does not wait for."""
    s = gpu.stream("s")
    d = gpu.device("d")
    gpu.memset(d, 1)  # from A
    gpu.launch("use", s, reads={d: 1})  # to A


@protocol()
def torn(gpu: Gpu) -> None:
    """Two copies with a reader of both, which the second copy does not order."""
    s, t = gpu.stream("s"), gpu.stream("t")
    d, src = gpu.device("d", parts=("head", "tail")), gpu.pinned("src", parts=("head", "tail"))
    half = gpu.event("half")
    gpu.write(src, 1)
    gpu.memcpy_async(d.head, src.head, s)
    half.record(s)
    gpu.memcpy_async(d.tail, src.tail, s)  # from A
    t.wait(half)
    gpu.launch("use", t, reads={d: 1})  # to A


@protocol()
def two_mistakes(gpu: Gpu) -> None:
    """Neither direction is ordered, and the first mistake must not hide the second."""
    s, t = gpu.stream("s"), gpu.stream("t")
    d = gpu.device("d")
    for n in gpu.steps():
        gpu.launch("make", s, writes={d: n})  # from A, to B
        gpu.launch("use", t, reads={d: n})  # to A, from B


@protocol()
def unread_writes(gpu: Gpu) -> None:
    """Two writes without an order that nothing reads: a race, but no wrong version."""
    s, t = gpu.stream("s"), gpu.stream("t")
    d = gpu.device("d")
    gpu.launch("one", s, writes={d: 1})  # from A
    gpu.launch("two", t, writes={d: 2})  # to A


@protocol()
def forgotten_path(gpu: Gpu) -> None:
    """One of two paths forgets the wait."""
    s, t = gpu.stream("s"), gpu.stream("t")
    d, made = gpu.device("d"), gpu.event("made")
    gpu.launch("make", s, writes={d: 1})  # from A
    made.record(s)
    if gpu.choose("wait", "forget") == "wait":
        t.wait(made)
    gpu.launch("use", t, reads={d: 1})  # to A


@protocol()
def unheeded_query(gpu: Gpu) -> None:
    """The host asks whether the copy has landed, and reads either way."""
    s = gpu.stream("s")
    d, out, landed = gpu.device("d"), gpu.pinned("out"), gpu.event("landed")
    gpu.launch("make", s, writes={d: 7})
    gpu.memcpy_async(out, d, s)  # from A
    landed.record(s)
    landed.query()
    gpu.read(out, expect=7)  # to A


@protocol()
def two_threads(gpu: Gpu) -> None:
    """Two host threads fill one buffer without a lock."""
    shared = gpu.pinned("shared")

    def worker() -> None:
        gpu.write(shared, 1)  # to A

    other = gpu.thread(worker)
    gpu.write(shared, 2)  # from A
    other.join()
