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
from .serving_costs import FORWARD, EngineCosts, ServingCosts
from .serving_engine import Recorded, program
from .serving_metrics import UNKNOWN, Metrics, Plan, median, weighted_median
from .serving_scheduler import Scheduler
from .serving_workload import Clients
from .simulate import refuse_hang
from .watching import Both, Watching

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..model.contract import Contract
    from ..model.gpu import Gpu
    from ..model.memory import Region
    from ..model.protocol import Protocol
    from .clock import Happening
    from .contents import Wrong
    from .cursors import Cursor
    from .device import Device
    from .durations import Duration
    from .ops import Op
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


class Observer(Watching):
    """Hears what plan updates meet, how the host waits, and when the device has no kernel."""

    def __init__(self) -> None:
        self.open: dict[Op, None] = {}
        self.met: dict[int, set[int]] = {}
        self.launched: dict[int, float] = {}
        self.late: dict[int, bool] = {}
        self.wrong_reads = 0
        self.stall = self.idle = 0.0
        self.waiting = 0.0
        self.busy_until: float | None = None

    def called(self, cursor: Cursor) -> None:
        """The first forward kernel of a step: its plan update has returned."""
        call, step = cursor.call, cursor.step
        if step is None or step in self.launched or call is None:
            return
        if call[0] == "graph_launch" or (call[0] == "launch" and call[2] in FORWARD):
            self.launched[step] = self.now
            self.late[step] = not self.open

    def waits(self, cursor: Cursor) -> None:
        """The host begins to wait."""
        del cursor
        self.waiting = self.now

    def returns(self, cursor: Cursor) -> None:
        """The host has waited."""
        del cursor
        self.stall += self.now - self.waiting

    def issued(self, op: Op) -> None:
        """A forward kernel is pending from now on."""
        if op.kernel in FORWARD:
            self.open[op] = None

    def started(self, op: Op) -> None:
        """Time without a kernel ends."""
        if op.kind == "kernel" and self.busy_until is not None:
            self.idle += max(0.0, self.now - self.busy_until)

    def ran(self, op: Op) -> None:
        """A kernel has ended."""
        if op.kind == "kernel":
            self.busy_until = max(self.busy_until or 0.0, self.now)
            self.open.pop(op, None)

    def wrong(self, who: Cursor | Op, wrong: list[Wrong]) -> None:
        """A kernel found another step's plan."""
        self.wrong_reads += len(wrong)
        for one in wrong:
            if isinstance(one.found, int) and who.step is not None and one.found > who.step:
                self.met.setdefault(one.found, set()).add(who.step)

    def overlap(self, running: Op, other: Op | Cursor, region: Region) -> None:
        """A plan is written while a kernel that reads it runs."""
        del region
        if running.step is not None and other.step is not None and other.step > running.step:
            self.met.setdefault(other.step, set()).add(running.step)


class Session:
    """The engine's batches in a timed run, and what is measured of them."""

    def __init__(
        self,
        serving: Serving,
        draws: Draws,
        observer: Observer,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        engine = serving.engine
        self.serving = serving
        self.observer = observer
        self.progress = progress
        self.costs = ServingCosts(serving.device, draws, serving.sizes, serving.model, engine,
                                  serving.layers, serving.jitter)  # fmt: skip
        self.clients = Clients(serving.workload, draws, engine.turnaround, engine.tokenise)
        self.scheduler = Scheduler(serving.workload, self.clients.opening())
        self.batches: list[Batch] = []
        self.planned: dict[int, tuple[float, bool]] = {}
        self.gaps: list[tuple[float, int]] = []
        self.outputs: list[float] = []
        self.waits: list[tuple[float, float]] = []
        self.tokens = 0
        self.finished = 0
        self.seconds = 0.0

    def next(self, *, idle: bool) -> Batch | None:
        """The next batch; an idle engine sleeps until a request arrives."""
        now = self.observer.now
        batch, slept = self.scheduler.schedule(now), 0.0
        arrival = self.scheduler.next_arrival()
        if batch is None and idle and arrival is not None:
            slept = max(0.0, arrival - now)
            batch = self.scheduler.schedule(now + slept)
        if batch is not None:
            self.batches.append(batch)
            self.costs.begin(batch, slept)
        return batch

    def planning(self, batch: Batch) -> None:
        """Note when planning begins, and whether a prefill is pending."""
        assert batch.prefill is not None
        self.planned[batch.prefill] = self.observer.now, bool(self.observer.open)

    def done(self, batch: Batch) -> None:
        """Tokens reach their clients; who has the last one sends the next prompt."""
        now = self.observer.now
        if self.outputs and batch.decodes:
            self.gaps.append((now - self.outputs[-1], batch.decodes))
        self.outputs.append(now)
        reached = now + self.serving.engine.deliver
        for chunk in batch.chunks:
            if chunk.last:
                self.waits.append((chunk.request.sent, reached))
                self.tokens += 1
        self.tokens += batch.decodes
        for _request in batch.finished:
            self.finished += 1
            self.seconds = reached
            following = self.clients.after(reached)
            if following is not None:
                self.scheduler.add(following)
        if self.progress is not None and batch.finished:
            self.progress(self.finished, self.serving.workload.prompts)
        self.costs.end(batch)

    # --- what it adds up to ---

    def plans(self) -> list[Plan]:
        """Every plan update."""
        seen, found = self.observer, []
        for step, (began, pending) in self.planned.items():
            met = tuple(sorted(seen.met.get(step, ())))
            late = pending and seen.late[step]
            found.append(Plan(step, began, seen.launched[step], pending, late, met))
        return found

    def metrics(self, plans: list[Plan]) -> Metrics:
        """The run in figures."""
        seen = self.observer
        pending = [plan for plan in plans if plan.pending]
        return Metrics(
            output_tok_per_s=self.tokens / self.seconds,
            median_itl_ms=weighted_median(self.gaps) * 1e3,
            mean_ttft_ms=sum(first - sent for sent, first in self.waits) / len(self.waits) * 1e3,
            seconds=self.seconds,
            requests=self.finished,
            steps=len(self.batches),
            prefill_steps=len(plans),
            overlap_share=len(pending) / len(plans),
            late=sum(plan.late for plan in pending),
            overlapped=len(pending),
            plan_latency_ms=median(plan.returned - plan.began for plan in plans) * 1e3,
            plan_latency_pending_ms=median(p.returned - p.began for p in pending) * 1e3,
            host_stall_share=seen.stall / self.seconds,
            device_idle_share=seen.idle / self.seconds,
            hazards=self.hazards(plans),
            wrong_reads=seen.wrong_reads,
        )

    def hazards(self, plans: list[Plan]) -> dict[str, int]:
        """Plan updates that met kernels of an earlier step, by the worst that these may do."""
        lengths = [batch.lengths for batch in self.batches if batch.chunks]
        found: dict[str, int] = {}
        for plan in plans:
            for step in plan.met:
                classify = self.serving.classify
                kind = classify(lengths[step], lengths[plan.step]) if classify else UNKNOWN
                found[kind] = found.get(kind, 0) + 1
        return found


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
