"""Corpus I: event objects. A wait binds to the latest record, which may not be the one meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol

if TYPE_CHECKING:
    from ..gpu import Gpu
    from ..memory import Buffer
    from ..objects import Event, Stream


# --- C50: one event for successive steps, and a thread that waits for it ------------------------


@protocol("corpus/C50-output-thread/one-event", expects={"cuda": "HOLDS", "hip": "HOLDS"})
def output_one_event(gpu: Gpu) -> None:
    """A thread awaits the one event and reads each step's output: the versions are right.

    vLLM before PR #39115: the event may have been recorded again before the thread waits, and then
    stands for a later copy of the same stream, which implies the one meant.
    """
    compute = gpu.stream("compute")
    tokens, copied = gpu.device("tokens"), gpu.event("copied")
    steps = gpu.queue(name="steps")

    def output() -> None:
        for n in gpu.steps():
            host = steps.get()
            copied.synchronize()
            gpu.read(host, expect=n)

    thread = gpu.thread(output)
    for n in gpu.steps():
        host = gpu.pinned("output")
        gpu.launch("sample", compute, writes={tokens: n})
        gpu.memcpy_async(host, tokens, compute)
        copied.record(compute)
        steps.put(host)
    thread.join()


def next_step_needs_output(gpu: Gpu, *, one_event: bool) -> None:
    """Each step's kernel waits for the output thread to have handled the step before."""
    compute = gpu.stream("compute")
    tokens, shared = gpu.device("tokens"), gpu.event("copied")
    steps, handled = gpu.queue(name="steps"), gpu.cell("handled")

    def output() -> None:
        for n in gpu.steps():
            host, copied = steps.get()
            copied.synchronize()
            gpu.read(host, expect=n)
            handled.set(n + 1)

    thread = gpu.thread(output)
    for n in gpu.steps():
        host = gpu.pinned("output")
        copied = shared if one_event else gpu.event("copied")
        gpu.wait_value(compute, handled, n)
        gpu.launch("sample", compute, writes={tokens: n})
        gpu.memcpy_async(host, tokens, compute)
        copied.record(compute)
        steps.put((host, copied))
    thread.join()


@protocol(
    "corpus/C50-output-thread/one-event-released-late",
    expects={"cuda": "REFUTED", "hip": "REFUTED"},
)
def output_released_late(gpu: Gpu) -> None:
    """With one event the thread may wait for a later step, which here waits for the thread.

    What vLLM PR #39115 mends: outputs came a step late. Late is no error to a model without time;
    so let the next step need the thread's answer, and late becomes never.
    """
    next_step_needs_output(gpu, one_event=True)


@protocol("corpus/C50-output-thread/event-per-step", expects={"cuda": "HOLDS", "hip": "HOLDS"})
def output_event_per_step(gpu: Gpu) -> None:
    """A new event for each step: the thread goes on as soon as its own step is done.

    The mend, vLLM PR #39115, under the same demand: each step needs the answer to the one before.
    """
    next_step_needs_output(gpu, one_event=False)


@protocol(
    "corpus/C50-output-thread/one-event-overlap", expects={"cuda": "REFUTED", "hip": "REFUTED"}
)
def output_one_event_overlap(gpu: Gpu) -> None:
    """The answer to a step comes only after the next step's copy: they no longer overlap.

    The same delay (vLLM PR #39115) as a property. One host thread makes both threads' calls, in the
    order in which it shows: the next step is recorded before this step's output is awaited.
    """
    compute, answers = gpu.stream("compute"), gpu.stream("answers")
    tokens, copied = gpu.device("tokens"), gpu.event("copied")
    waiting = False
    for n in gpu.steps():
        gpu.launch("sample", compute, writes={tokens: n})
        copy = gpu.memcpy_async(gpu.pinned("output"), tokens, compute)
        copied.record(compute)
        if waiting:
            copied.synchronize()  # meant for the step before
            gpu.concurrent(copy, gpu.launch("answer", answers))
        waiting = True


@protocol(
    "corpus/C50-output-thread/event-per-step-overlap", expects={"cuda": "PROVED", "hip": "PROVED"}
)
def output_event_per_step_overlap(gpu: Gpu) -> None:
    """Two events in turn, in the same order of calls: answer and next copy overlap again.

    The mend of vLLM PR #39115 as a property; two events are as good as a new one for each step
    here, since a step's output is awaited before the next but one is issued.
    """
    compute, answers = gpu.stream("compute"), gpu.stream("answers")
    tokens, events = gpu.device("tokens"), [gpu.event("copied0"), gpu.event("copied1")]
    waiting = False
    for n in gpu.steps():
        gpu.launch("sample", compute, writes={tokens: n})
        copy = gpu.memcpy_async(gpu.pinned("output"), tokens, compute)
        events[n % 2].record(compute)
        if waiting:
            events[(n - 1) % 2].synchronize()
            gpu.concurrent(copy, gpu.launch("answer", answers))
        waiting = True


# --- C51: one event for packing and for completion ----------------------------------------------


class Fill:
    """A halo fill: what is packed is exchanged on the network stream, then unpacked."""

    def __init__(self, gpu: Gpu, name: str, compute: Stream, network: Stream) -> None:
        self.gpu = gpu
        self.compute = compute
        self.network = network
        self.sent: Buffer = gpu.device(f"{name}.sent")
        self.received: Buffer = gpu.device(f"{name}.received")

    def pack(self, n: int, event: Event) -> None:
        """The compute stream packs, the event says when it has."""
        self.gpu.launch("pack", self.compute, writes={self.sent: n})
        event.record(self.compute)

    def exchange(self, n: int, packed: Event, done: Event) -> None:
        """The network stream exchanges, another event says when it has."""
        self.network.wait(packed)
        self.gpu.launch("exchange", self.network, reads={self.sent: n}, writes={self.received: n})
        done.record(self.network)

    def finish(self, n: int, done: Event) -> None:
        """The compute stream waits for the exchange and unpacks."""
        self.compute.wait(done)
        self.gpu.launch("unpack", self.compute, reads={self.received: n})


@protocol("corpus/C51-halo-fills/finished-between", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def finished_between(gpu: Gpu) -> None:
    """One fill is finished when the next has packed, and the event stands for that pack.

    Oceananigans.jl before PR #5803: one event served for packing and for completion. Recorded again
    on the compute stream, it made that stream wait for itself, and unpack what had not come yet.
    """
    compute, network = gpu.stream("compute"), gpu.stream("network")
    event = gpu.event("event")
    first, second = (Fill(gpu, name, compute, network) for name in ("first", "second"))
    for n in gpu.steps():
        first.pack(n, event)
        first.exchange(n, event, event)
        second.pack(n, event)
        first.finish(n, event)
        second.exchange(n, event, event)
        second.finish(n, event)


@protocol("corpus/C51-halo-fills/finished-after", expects={"cuda": "PROVED", "hip": "PROVED"})
def finished_after(gpu: Gpu) -> None:
    """The same event, and both fills are finished after both were started: right by luck.

    The look-alike of Oceananigans.jl PR #5803: the latest record is the second exchange, and the
    network stream runs the first one before it.
    """
    compute, network = gpu.stream("compute"), gpu.stream("network")
    event = gpu.event("event")
    first, second = (Fill(gpu, name, compute, network) for name in ("first", "second"))
    for n in gpu.steps():
        first.pack(n, event)
        first.exchange(n, event, event)
        second.pack(n, event)
        second.exchange(n, event, event)
        first.finish(n, event)
        second.finish(n, event)


@protocol("corpus/C51-halo-fills/event-per-fill", expects={"cuda": "PROVED", "hip": "PROVED"})
def event_per_fill(gpu: Gpu) -> None:
    """Each pending fill has a completion event of its own.

    The mend, Oceananigans.jl PR #5803. The next pack of a fill comes after its unpack, so that the
    buffers are fenced both ways.
    """
    compute, network = gpu.stream("compute"), gpu.stream("network")
    packed, done1, done2 = gpu.event("packed"), gpu.event("done1"), gpu.event("done2")
    first, second = (Fill(gpu, name, compute, network) for name in ("first", "second"))
    for n in gpu.steps():
        first.pack(n, packed)
        first.exchange(n, packed, done1)
        second.pack(n, packed)
        first.finish(n, done1)
        second.exchange(n, packed, done2)
        second.finish(n, done2)
