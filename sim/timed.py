"""The clock of a timed run: what everything costs, and what it competes for.

How to drive it:

    class MyCosts(Costs):
        def call(self, cursor): return 2e-6   # host seconds before a call takes effect
        def op(self, op): return 8e-6 if op.kind == "copy" else 40e-6   # device seconds it runs

    sim = simulate(
        body, 1000, CUDA,
        lambda: Timed(MyCosts(), Hardware(queues=4, copy_engines=2), watch=MyWatch()),
        until=None,                # or so many seconds; sim.run(until) goes on from there
    )
    sim.env.now                    # seconds of simulated time
    sim.contents, sim.blocked      # what memory holds; host threads that never returned
    sim.clock                      # the `Timed` that the run had

All times are in seconds. `body(gpu)` is any protocol (`entry.bind(parameters)` gives one of the
catalogue); `steps` a number, or an iterable that may end when a workload does. The protocol's
Python runs once, so in a timed run it may look at the simulation (`clock.env.now`) and at other
Python objects. A `Watch` hears of everything that goes on; `clock.trace` is the list of happenings
if `trace=True`, and `conform.accepted(body, steps, contract.readings()[0], trace)` follows it in
the machine, and raises where the machine cannot go that way.

An operation takes effect at its end, as one step of the machine: it reads, then it writes. That two
accesses overlap in time (a *hazard met*) is reported apart, to `Watch.overlap`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import simpy

from ..model.errors import Again
from ..model.memory import Idempotent, conflict
from .clock import Clock, Happening
from .cursors import Live
from .gpu import SimGpu

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..model.calls import Reads
    from ..model.contract import Contract
    from ..model.gpu import Gpu
    from ..model.memory import Region
    from ..model.objects import Stream
    from .contents import Wrong
    from .cursors import Cursor
    from .ops import Op


class Costs:
    """How long everything takes, in seconds; nothing costs anything unless a subclass says so.

    Each is asked once for each call or operation, so it may draw at random or follow a trace.
    `cursor.call` is the call (see `model.calls`), `cursor.where` its source line, `cursor.step`
    the step, `cursor.thread` the host thread; of an operation see `ops.Op`: `op.kind`, `op.kernel`,
    `op.label`, `op.call`, `op.reads`, `op.writes`, `op.stream`, `op.step`.
    """

    def call(self, cursor: Cursor) -> float:
        """The host's time from the end of its last call until this one takes effect."""
        del cursor
        return 0.0

    def returning(self, cursor: Cursor) -> float:
        """The host's time from the end of what a call awaits until the call returns or goes on."""
        del cursor
        return 0.0

    def op(self, op: Op) -> float:
        """The time that an operation runs, once it has started."""
        del op
        return 0.0


class Hardware(NamedTuple):
    """What operations compete for; None is as many as are asked for.

    - `queues`: hardware queues. Streams are given one in turn as they are first used; an operation
      holds its queue from when it comes to its head, also while it waits for others, until it ends;
    - `copy_engines`: copies that run at a time; `kernels`: kernels that run at a time. These are
      taken once everything before the operation is done, first come, first served.
    """

    queues: int | None = None
    copy_engines: int | None = None
    kernels: int | None = None


class Watch:
    """Hears what goes on in a timed run. Subclass what is wanted; times are `clock.env.now`."""

    def called(self, cursor: Cursor) -> None:
        """A host thread's call, or the rest of one (`cursor.phase`), takes effect now."""

    def waits(self, cursor: Cursor) -> None:
        """A host thread begins to wait for the device: `cursor.awaited`."""

    def returns(self, cursor: Cursor) -> None:
        """That wait is over (before what `Costs.returning` adds)."""

    def issued(self, op: Op) -> None:
        """An operation is issued now."""

    def started(self, op: Op) -> None:
        """An operation starts now."""

    def ran(self, op: Op) -> None:
        """An operation ends now; `op.issued`, `op.started` and `op.ended` are set."""

    def wrong(self, who: Cursor | Op, wrong: list[Wrong]) -> None:
        """Accesses found a wrong version: each with its `region`, `expected` and `found`."""

    def overlap(self, running: Op, other: Op | Cursor, region: Region) -> None:
        """A hazard is met: an operation runs that accesses a region, and another begins to, or the
        host does, and one of them writes. Only with `Timed(hazards=True)`.
        """


class Timed(Clock):
    """Simulated seconds.

    - `costs` and `hardware` as above; `watch` hears of everything;
    - `choose(cursor)` decides what `gpu.choose` answers: the number of an option (default: the
      first);
    - `trace` keeps every happening in `self.trace`; `hazards` looks for overlapping accesses.

    Hardware queues: override `queue_of` for another map from streams to queues.
    """

    def __init__(
        self,
        costs: Costs | None = None,
        hardware: Hardware | None = None,
        watch: Watch | None = None,
        choose: Callable[[Cursor], int] | None = None,
        *,
        trace: bool = False,
        hazards: bool = False,
    ) -> None:
        super().__init__()
        self.costs = costs or Costs()
        self.hardware = hardware or Hardware()
        self.watch = watch or Watch()
        self.chooses = choose or (lambda _cursor: 0)
        self.trace: list[Happening] | None = [] if trace else None
        self.hazards = hazards
        self.running: dict[int, dict[Op, bool | Idempotent]] = {}
        self.queues: dict[Stream, simpy.Resource] = {}
        self.pool = self.resources(self.hardware.queues)
        self.engines = {
            "copy": self.resource(self.hardware.copy_engines),
            "kernel": self.resource(self.hardware.kernels),
        }

    def resource(self, capacity: int | None) -> simpy.Resource | None:
        """Something that so many can hold at a time."""
        return None if capacity is None else simpy.Resource(self.env, capacity)

    def resources(self, count: int | None) -> list[simpy.Resource]:
        """So many things, each held by one at a time."""
        return [simpy.Resource(self.env, 1) for _ in range(count or 0)]

    # --- when ---

    def turn(self, sim: SimGpu, cursor: Cursor) -> Any:
        """After the host's own time."""
        del sim
        cost = self.costs.call(cursor)
        if cost:
            yield self.env.timeout(cost)

    def rest(self, sim: SimGpu, cursor: Cursor) -> Any:
        """After the host's own time."""
        del sim
        cost = self.costs.returning(cursor)
        if cost:
            yield self.env.timeout(cost)

    def returned(self, sim: SimGpu, cursor: Cursor) -> Any:
        """After the host's own time, where a call returns as soon as its wait is over."""
        return self.rest(sim, cursor)

    def admit(self, sim: SimGpu, op: Op) -> Any:
        """Once its hardware queue has come to it."""
        del sim
        if op.ticket is not None:
            yield op.ticket

    def work(self, sim: SimGpu, op: Op) -> Any:
        """After its time on its engine, or once the cell that it waits for is large enough."""
        engine = self.engines.get(op.kind)
        request = None
        if engine is not None:
            request = engine.request()
            yield request
        self.begin(op)
        cost = self.costs.op(op)
        if cost:
            yield self.env.timeout(cost)
        while op.awaits and not sim.satisfied(op):
            yield sim.changed(op.cell)  # type: ignore[arg-type] - it waits for one
        if request is not None:
            engine.release(request)  # type: ignore[union-attr]

    def begin(self, op: Op) -> None:
        """An operation starts."""
        op.started = self.env.now
        self.watch.started(op)
        if self.hazards:
            for region, mode in accesses(op.reads, op.writes):
                self.meet(op, region, mode)
                self.running.setdefault(region.slot, {})[op] = mode

    def meet(self, who: Op | Cursor, region: Region, mode: bool | Idempotent) -> None:
        """Report the running operations that an access conflicts with."""
        for op, other in self.running.get(region.slot, {}).items():
            if op is not who and conflict(mode, other):
                self.watch.overlap(op, who, region)

    def choice(self, sim: SimGpu, cursor: Cursor) -> int:
        """What the caller decides."""
        del sim
        return self.chooses(cursor)

    # --- hardware queues ---

    def queue_of(self, stream: Stream) -> simpy.Resource | None:
        """The hardware queue of a stream: one after the other as streams are first used."""
        if not self.pool:
            return None
        if stream not in self.queues:
            self.queues[stream] = self.pool[len(self.queues) % len(self.pool)]
        return self.queues[stream]

    def issued(self, sim: SimGpu, op: Op) -> None:
        """The operation lines up in its hardware queue."""
        del sim
        op.issued = self.env.now
        queue = self.queue_of(op.stream)
        if queue is not None:
            op.ticket = queue.request()
        self.watch.issued(op)

    def ran(self, sim: SimGpu, op: Op) -> None:
        """It leaves its hardware queue."""
        del sim
        op.ended = self.env.now
        if op.ticket is not None:
            op.ticket.resource.release(op.ticket)
            op.ticket = None
        if self.hazards:
            for region, _mode in accesses(op.reads, op.writes):
                self.running.get(region.slot, {}).pop(op, None)
        self.watch.ran(op)

    # --- who hears of it ---

    def happened(self, sim: SimGpu, happening: Happening, who: Cursor | Op) -> None:
        """Keep it."""
        del sim
        if self.trace is not None:
            self.trace.append(happening)
        if happening[0] == "host":
            self.watch.called(who)  # type: ignore[arg-type] - a host thread's

    def waits(self, sim: SimGpu, cursor: Cursor) -> None:
        """Tell the watch."""
        del sim
        self.watch.waits(cursor)

    def returns(self, sim: SimGpu, cursor: Cursor) -> None:
        """Tell the watch."""
        del sim
        self.watch.returns(cursor)

    def accessed(self, sim: SimGpu, cursor: Cursor, reads: Reads, writes: Reads) -> None:
        """Look for running operations that it conflicts with."""
        del sim
        if self.hazards:
            for region, mode in accesses(reads, writes):
                self.meet(cursor, region, mode)

    def wrong(self, sim: SimGpu, who: Cursor | Op, wrong: list[Wrong]) -> None:
        """Tell the watch."""
        del sim
        self.watch.wrong(who, wrong)


def simulate(
    body: Callable[[Gpu], None],
    steps: int | Iterable[int],
    contract: Contract,
    clock: Callable[[], Timed],
    until: float | None = None,
) -> SimGpu:
    """Run a protocol under a contract's weakest reading, to its end or for so many seconds.

    `clock()` makes the clock; it is asked for a second one where the protocol turns out to launch
    kernels early (R8.4), which a run must know from its start. Raises what the protocol raises.
    """
    live = Live(body, steps)
    reading = contract.readings()[0]
    sim = SimGpu(live, reading, clock())
    sim.start()
    try:
        sim.run(until)
    except Again:
        sim = SimGpu(live.again(), reading, clock())
        sim.start()
        sim.run(until)
    return sim


def accesses(reads: Reads, writes: Reads) -> Iterator[tuple[Region, bool | Idempotent]]:
    """Each region that is read (False) or written (True, or an idempotent version)."""
    yield from ((region, False) for region, _expected in reads)
    yield from ((region, v if isinstance(v, Idempotent) else True) for region, v in writes)
