"""The serving engine as part of a protocol: its step loop, written in the stream API.

Each step that prefills is one step of the protocol, which plans and launches the kernels of the
forward pass; the engine does the rest. It prepares the step (`inputs`), launches steps that only
decode itself, samples, copies the tokens to the host, records an event, and awaits it: that of the
step before with async scheduling, that of the same step without.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

from ..model.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ..model.gpu import Gpu
    from ..model.objects import Stream
    from ..model.protocol import Protocol as StreamProtocol
    from .serving_scheduler import Batch


DECODE, SAMPLE = "decode step", "sample tokens"
"""The engine's own kernels; no protocol has kernels of these names."""


class Source(Protocol):
    """Where the engine's batches come from."""

    def next(self, *, idle: bool) -> Batch | None:
        """The next batch; None if there is none now. `idle`: nothing is in flight to wait for."""
        ...

    def planning(self, batch: Batch) -> None:
        """The protocol is about to plan and launch this batch."""

    def done(self, batch: Batch) -> None:
        """The host has this batch's output."""


class Recorded:
    """Batches that were scheduled before: the same program without a clock."""

    def __init__(self, batches: Iterable[Batch]) -> None:
        self.left = deque(batches)

    def next(self, *, idle: bool) -> Batch | None:
        """The next one, at the moment at which it was scheduled before."""
        del idle
        return self.left.popleft() if self.left else None

    def planning(self, batch: Batch) -> None:
        """Nothing is measured."""

    def done(self, batch: Batch) -> None:
        """Nothing is measured."""


def program(
    protocol: StreamProtocol,
    parameters: Mapping[str, object],
    source: Callable[[], Source],
    *,
    asynchronous: bool,
) -> Callable[[Gpu], None]:
    """The protocol with the engine around its step loop, as a function of the Gpu.

    `source` makes the batches anew for each run of the program.
    """
    bound = protocol.bind(parameters)

    def body(gpu: Gpu) -> None:
        gpu.loop = steps(gpu, source(), asynchronous=asynchronous)
        bound(gpu)

    return body


def steps(gpu: Gpu, source: Source, *, asynchronous: bool) -> Iterator[int]:
    """The steps that prefill, one after the other; what else the engine does is done between."""
    stream = kernels_stream(gpu)
    inputs, sampled = gpu.pageable("inputs"), gpu.device("sampled")
    tokens = [gpu.pinned("tokens0"), gpu.pinned("tokens1")]
    ready = [gpu.event("ready0"), gpu.event("ready1")]
    flight: deque[Batch] = deque()
    while (batch := source.next(idle=not flight)) is not None or flight:
        if batch is not None:
            gpu.write(inputs, batch.number)
            if batch.prefill is None:
                gpu.launch(DECODE, stream, writes={sampled: batch.number})
            else:
                source.planning(batch)
                gpu.reading.mark("step", batch.prefill)
                yield batch.prefill
                gpu.launch(SAMPLE, stream, writes={sampled: batch.number})
            turn = batch.number % 2
            gpu.memcpy_async(tokens[turn], sampled, stream)
            ready[turn].record(stream)
            flight.append(batch)
        while len(flight) > (asynchronous and batch is not None):
            oldest = flight.popleft()
            with gpu.sync_allowed("the output of a step"):
                ready[oldest.number % 2].synchronize()
            gpu.read(tokens[oldest.number % 2], expect=oldest.number)
            source.done(oldest)
    gpu.reading.mark("step", None)


def kernels_stream(gpu: Gpu) -> Stream:
    """The stream on which the protocol runs its kernels; by its name, `compute`."""
    for stream in gpu.streams:
        if stream.name == "compute":
            return stream
    raise BadInput(
        "serving needs a protocol that makes a stream named 'compute' before its step loop, "
        "such as fp8-prefill/staged"
    )
