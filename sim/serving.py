"""Serving: a protocol that publishes plans, under a closed loop of clients, on a simulated device.

    result = serve(Serving(protocol, workload, device, model), seed=1)
    result.metrics.output_tok_per_s

The protocol's own Python runs, with the engine around its step loop (`serving_engine`), on
`SimGpu` with simulated seconds. Two protocols of one seed meet the same prompts, answers and
durations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import timed
from .costs import DeviceClock
from .draws import Draws
from .serving_costs import EngineCosts
from .serving_engine import Recorded, program
from .serving_session import Observer, Session
from .simulate import refuse_hang
from .watching import Both, Watching

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..model.contract import Contract
    from ..model.gpu import Gpu
    from ..model.protocol import Protocol
    from .clock import Happening
    from .device import Device
    from .durations import Duration
    from .serving_metrics import Metrics, Plan
    from .serving_model import StepModel
    from .serving_scheduler import Batch
    from .serving_workload import Workload
    from .timed import Watch


class Serving(NamedTuple):
    """One experiment.

    - `sizes` are the bytes of the plan's parts by name; `jitter` multiplies every forward pass;
    - `classify` says in words what a kernel does that finds another step's plan: from the lengths
      of the prefills that the kernel works on, and of those that the plan is for.
    """

    protocol: Protocol
    workload: Workload
    device: Device
    model: StepModel
    parameters: Mapping[str, Any] = {}
    sizes: Mapping[str, int] = {}
    engine: EngineCosts = EngineCosts()
    jitter: Duration | None = None
    classify: Callable[[list[int], list[int]], str] | None = None

    @property
    def contract(self) -> Contract:
        """What the device's runtime promises."""
        return self.device.contract

    @property
    def layers(self) -> int:
        """Launches of the protocol's forward kernel a step."""
        known = {**self.protocol.parameters, **self.parameters}
        return int(known.get("layers", 1))


class Result(NamedTuple):
    """What a run gives.

    - `plans` are the plan updates, `batches` what was scheduled, `outputs` when the host had each
      batch's output (seconds);
    - `waits` are, for each request, when its client sent it and when its first token was there;
    - `trace` is every happening, for the machine to follow (None unless asked for).
    """

    metrics: Metrics
    plans: list[Plan]
    batches: list[Batch]
    outputs: list[float]
    waits: list[tuple[float, float]]
    trace: list[Happening] | None


def serve(
    serving: Serving,
    seed: int = 1,
    *,
    watch: Watch | None = None,
    trace: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Run one experiment to the end of its workload.

    Args:
        serving: the experiment.
        seed: of all lengths and durations.
        watch: hears of everything as well, such as a `Timeline` for a plot.
        trace: keep every happening, for the machine to follow.
        progress: is told how many requests are finished, and of how many.

    Raises:
        BadInput: the workload makes no sense, or the protocol cannot be served.
        NotModelled: a call that the device's contract does not model.
    """
    serving.workload.checked()
    observer = Observer()
    session = Session(serving, Draws(seed), observer, progress)
    heard = observer if watch is None else Both(observer, watch)
    clock = DeviceClock(session.costs, heard, trace=trace, hazards=True)
    observer.env = clock.env
    if isinstance(watch, Watching):
        watch.env = clock.env
    asynchronous = serving.workload.async_scheduling
    body = program(serving.protocol, serving.parameters, lambda: session, asynchronous=asynchronous)
    sim = timed.simulate(body, 0, serving.contract, lambda: clock)
    refuse_hang(sim, serving.protocol.name)
    plans = session.plans()
    return Result(session.metrics(plans), plans, session.batches, session.outputs, session.waits,
                  clock.trace)  # fmt: skip


def replayed(serving: Serving, batches: list[Batch]) -> Callable[[Gpu], None]:
    """The program of a run whose batches are known, without a clock: what the machine follows."""
    return program(serving.protocol, serving.parameters, lambda: Recorded(batches),
                   asynchronous=serving.workload.async_scheduling)  # fmt: skip
