"""A serving run from inside: the engine's batches as time goes on, and what is measured of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.errors import BadInput
from .serving_costs import FORWARD, ServingCosts
from .serving_metrics import UNKNOWN, Metrics, Plan, median, weighted_median
from .serving_scheduler import Scheduler
from .serving_workload import Clients
from .watching import Watching

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model.memory import Region
    from .contents import Wrong
    from .cursors import Cursor
    from .draws import Draws
    from .ops import Op
    from .serving import Serving
    from .serving_scheduler import Batch


class Observer(Watching):
    """Hears what plan updates meet, how the host waits, and when the device has no kernel."""

    def __init__(self) -> None:
        self.open: dict[Op, None] = {}
        self.forwards: dict[int | None, int] = {}
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
            self.forwards[op.step] = self.forwards.get(op.step, 0) + 1

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
        if batch.prefill is not None:
            self.check_forward(batch.prefill)
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

    def check_forward(self, step: int) -> None:
        """Refuse a protocol whose steps are no forward passes."""
        launched = self.observer.forwards.pop(step, 0)
        if launched != self.costs.layers:
            names = " or ".join(repr(name) for name in sorted(FORWARD))
            raise BadInput(
                f"serving needs a protocol whose step launches a kernel {names} once for each of "
                f"its {self.costs.layers} layers; {self.serving.protocol.name} launches "
                f"{launched} in step {step}"
            )

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
