"""Corpus L: what lies under a stream is finite, and a call that returns at once may not.

Hardware queues, launch queues and launch-blocking mode are extra order that a runtime adds. It is
written out here: streams that share a queue as one stream, the places of a launch queue as a
bounded queue, launch-blocking mode as a host wait after each launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol

if TYPE_CHECKING:
    from ..gpu import Gpu
    from ..objects import Cell, Event, Queue, Stream


# --- C67: a wait and its write in one hardware queue --------------------------------------------


def waits_then_writes(gpu: Gpu, waiting: Stream, writing: Stream) -> None:
    """One stream waits for a value, another one writes it."""
    ready = gpu.cell("ready")
    gpu.wait_value(waiting, ready, 1)
    gpu.launch("kernel", waiting)
    gpu.write_value(writing, ready, 1)


@protocol("corpus/C67-hardware-queues/shared", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def queue_shared(gpu: Gpu) -> None:
    """Two streams are given one hardware queue: the write stands behind the wait for it.

    ROCm systems PR #9249: a wrong estimate of how busy the queues were put the producer's stream on
    the very queue that held the wait, though others were idle. One queue is one stream here.
    """
    queue = gpu.stream("queue0")
    waits_then_writes(gpu, waiting=queue, writing=queue)


@protocol("corpus/C67-hardware-queues/unshared-first", expects={"cuda": "HOLDS", "hip": "HOLDS"})
def queue_unshared_first(gpu: Gpu) -> None:
    """A stream is given a queue that no other has, as long as there is one.

    The mend, ROCm systems PR #9249. No runtime promises it: the verdict carries the warning that
    the program can hang where streams are serialised.
    """
    queues = [gpu.stream(f"queue{i}") for i in range(4)]
    waits_then_writes(gpu, waiting=queues[0], writing=queues[1])


@protocol(
    "corpus/C67-hardware-queues/more-streams-than-queues",
    expects={"cuda": "REFUTED", "hip": "REFUTED"},
)
def more_streams_than_queues(gpu: Gpu) -> None:
    """With more live streams than queues some must share, and it may be these two.

    What ROCm systems PR #9249 cannot mend: the fifth stream comes back to the first queue.
    """
    queues = [gpu.stream(f"queue{i}") for i in range(4)]
    streams = [queues[i % len(queues)] for i in range(5)]
    waits_then_writes(gpu, waiting=streams[0], writing=streams[4])


# --- C71: a full launch queue -------------------------------------------------------------------


class LaunchQueue:
    """A launch queue with so many places: a launch takes one, which its completion gives back."""

    def __init__(self, gpu: Gpu, name: str, places: int | None) -> None:
        self.gpu = gpu
        self.places: Queue = gpu.queue(places, name)
        self.launched: Queue = gpu.queue(name=f"{name}_in_flight")

    def launch(self, kernel: str, stream: Stream) -> None:
        """Launch once there is a place."""
        self.places.put(kernel)
        self.gpu.launch(kernel, stream)
        done = self.gpu.event(f"{kernel}_done")
        done.record(stream)
        self.launched.put(done)

    def retire(self, operations: int) -> None:
        """What the device does, on a host thread: give the places back in launch order."""
        for _ in range(operations):
            done: Event = self.launched.get()
            done.synchronize()
            self.places.get()


def collective(gpu: Gpu, stream: Stream, request: Cell, served: Cell) -> None:
    """The kernel asks the proxy for something, and spins until it has it."""
    gpu.write_value(stream, request, 1)
    gpu.wait_value(stream, served, 1)


def proxy_copies(gpu: Gpu, main: LaunchQueue, own: LaunchQueue | None) -> None:
    """Launch a collective and one kernel more; the proxy thread serves it with a copy."""
    compute, copies = gpu.stream("compute"), gpu.stream("copies")
    request, served = gpu.cell("request"), gpu.cell("served")

    def proxy() -> None:
        request.wait(1)
        (own or main).launch("copy_tail", copies)
        gpu.write_value(copies, served, 1)

    def device() -> None:
        main.retire(2 if own else 3)

    threads = [gpu.thread(proxy), gpu.thread(device)]
    collective(gpu, compute, request, served)
    main.launch("collective", compute)
    main.launch("next", compute)
    for thread in threads:
        thread.join()


@protocol("corpus/C71-full-launch-queue/shared", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def launch_queue_full(gpu: Gpu) -> None:
    """The proxy's "asynchronous" copy blocks: kernels that wait for the proxy fill the queue.

    mscclpp issue #516: the host filled the launch queue behind a running collective, the proxy
    needed one place more to serve it, and everything stood still.
    """
    proxy_copies(gpu, main=LaunchQueue(gpu, "launch_queue", 2), own=None)


@protocol("corpus/C71-full-launch-queue/unbounded", expects={"cuda": "HOLDS", "hip": "HOLDS"})
def launch_queue_unbounded(gpu: Gpu) -> None:
    """With a queue that is never full the program is right.

    The control for mscclpp issue #516: what one has in mind when one calls a launch asynchronous.
    """
    proxy_copies(gpu, main=LaunchQueue(gpu, "launch_queue", None), own=None)


@protocol("corpus/C71-full-launch-queue/own-queue", expects={"cuda": "HOLDS", "hip": "HOLDS"})
def launch_queue_own(gpu: Gpu) -> None:
    """The proxy has a launch queue of its own, which nobody else can fill.

    One mend for mscclpp issue #516 (vLLM PR #29013 raised the number of connections for the same
    reason): more queues than one.
    """
    own = LaunchQueue(gpu, "proxy_queue", 1)
    proxy_copies(gpu, main=LaunchQueue(gpu, "launch_queue", 2), own=own)


@protocol("corpus/C71-full-launch-queue/no-driver-call", expects={"cuda": "HOLDS", "hip": "HOLDS"})
def proxy_without_driver(gpu: Gpu) -> None:
    """The proxy stores its answer itself: there is no driver call to block in.

    The other mend for mscclpp issue #516: host memory that the kernel can see.
    """
    compute, request, served = gpu.stream("compute"), gpu.cell("request"), gpu.cell("served")
    main = LaunchQueue(gpu, "launch_queue", 2)

    def proxy() -> None:
        request.wait(1)
        served.set(1)

    def device() -> None:
        main.retire(2)

    threads = [gpu.thread(proxy), gpu.thread(device)]
    collective(gpu, compute, request, served)
    main.launch("collective", compute)
    main.launch("next", compute)
    for thread in threads:
        thread.join()


# --- C72: launch-blocking mode ------------------------------------------------------------------


def collective_with_proxy(gpu: Gpu, *, blocking: bool, work_first: bool) -> None:
    """Launch a collective and hand the proxy thread its work, in one order or the other."""
    compute, work, served = gpu.stream("compute"), gpu.queue(name="work"), gpu.cell("served")

    def proxy() -> None:
        work.get()
        served.set(1)

    thread = gpu.thread(proxy)
    if work_first:
        work.put("collective")
    gpu.wait_value(compute, served, 1)
    gpu.launch("collective", compute)
    if blocking:
        compute.synchronize()
    if not work_first:
        work.put("collective")
    thread.join()


@protocol("corpus/C72-launch-blocking/off", expects={"cuda": "HOLDS", "hip": "HOLDS"})
def launch_blocking_off(gpu: Gpu) -> None:
    """Launch a collective, then hand its work to the proxy thread: right in normal mode.

    NCCL issue #750 without launch-blocking mode: the launch returns at once.
    """
    collective_with_proxy(gpu, blocking=False, work_first=False)


@protocol("corpus/C72-launch-blocking/on", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def launch_blocking_on(gpu: Gpu) -> None:
    """In launch-blocking mode the launch never returns: the kernel waits for the proxy's work.

    NCCL issue #750: the mode that is to help with debugging made a right program hang. It is
    written as a host wait after the launch.
    """
    collective_with_proxy(gpu, blocking=True, work_first=False)


@protocol("corpus/C72-launch-blocking/work-first", expects={"cuda": "HOLDS", "hip": "HOLDS"})
def launch_blocking_work_first(gpu: Gpu) -> None:
    """The proxy has its work before the kernel is launched: right in launch-blocking mode too.

    The mend of NCCL issue #750, PR #774, as far as one device goes.
    """
    collective_with_proxy(gpu, blocking=True, work_first=True)


@protocol("corpus/C72-launch-blocking/two-devices", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def launch_blocking_two_devices(gpu: Gpu) -> None:
    """One thread, two devices: in launch-blocking mode the second launch never comes.

    What is left of NCCL issue #750 after PR #774: each kernel waits for its peer to arrive.
    """
    streams = [gpu.stream(f"compute{i}", device=i) for i in range(2)]
    arrived = [gpu.cell(f"arrived{i}") for i in range(2)]
    for i in range(2):
        gpu.write_value(streams[i], arrived[i], 1)
        gpu.wait_value(streams[i], arrived[1 - i], 1)
        gpu.launch("collective", streams[i])
        streams[i].synchronize()
