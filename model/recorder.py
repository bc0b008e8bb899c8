"""A schedule carried out once more, keeping everything: the ground for counterexamples.

Every phase of a host call and every operation becomes a `Moment` with its place on its lane and
its clock. A host lane ticks once a phase here, so that clocks also say which host calls happened
before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .clocks import Clocks
from .effects import mode
from .host_order import HostOrder, HostStep, own_footprint
from .memory import POISON, UNINITIALISED, UNWRITTEN, Idempotent, Region, spoiled
from .schedule import Schedule
from .values import Patient

if TYPE_CHECKING:
    from .calls import Call, Reads
    from .clocks import Clock, Frontier
    from .contract import Contract
    from .gpu import Gpu
    from .host import Host, Node
    from .objects import Event, Stream


class Staged:
    """What the host read for a staged copy: in which moment, and which version."""

    __slots__ = ("index", "moment", "value")

    def __init__(self, moment: Moment, index: int, value: object) -> None:
        self.moment = moment
        self.index = index
        self.value = value


class Moment:
    """One phase of a host call, or one operation of a stream.

    - `index` is its place in issue order, `lane` and `tick` its place on its lane;
    - `clock` maps other lanes to the last tick that happened before it;
    - `node` is the call, `phase` which phase of it, `number` which operation of the phase (None:
      the host itself), `result` the call's result, `label` a graph node's captured call, `aside` a
      remark;
    - `reads` are (region, expected), `writes` (region, version), `staged` regions read to stage.
    """

    __slots__ = (
        "aside", "clock", "index", "label", "lane", "node", "number", "phase", "reads", "result",
        "staged", "stream", "tick", "writes",
    )  # fmt: skip

    def __init__(
        self, index: int, node: Node, phase: int, lane: int, tick: int, clock: Clock
    ) -> None:
        self.index = index
        self.node = node
        self.phase = phase
        self.lane = lane
        self.tick = tick
        self.clock = clock
        self.result: object = None
        self.label: str | None = None
        self.aside: str | None = None
        self.number: int | None = None
        self.stream: Stream | None = None
        self.reads: Reads = ()
        self.writes: Reads = ()
        self.staged: tuple[Region, ...] = ()

    def knows(self, other: Moment) -> bool:
        """Whether the other happened before this one."""
        return other.lane != self.lane and other.tick <= self.clock.get(other.lane, 0)

    def accesses(self) -> list[tuple[Region, bool | Idempotent]]:
        """Each region read (False) or written (True, or an idempotent version)."""
        read = [*(region for region, _expected in self.reads), *self.staged]
        written = [(region, mode(version)) for region, version in self.writes]
        return [*((region, False) for region in read), *written]

    @property
    def on_host(self) -> bool:
        """Whether the host itself does it."""
        return self.lane < 0


class RecordingClocks(Clocks):
    """Clocks that go on past what is wrong and keep every moment."""

    def __init__(self, gpu: Gpu) -> None:
        super().__init__(gpu)
        self.moments: list[Moment] = []
        self.races = 0
        self.wrongs: list[tuple[Moment, Region, object, object]] = []
        self.now: Moment | None = None
        self.issued_now = 0

    def begin(self, node: Node, phase: int, result: object) -> None:
        """A phase of a host call is carried out next."""
        tick = super().tick()
        self.now = self.add(node, phase, self.lane, tick, self.host)
        self.now.result = result
        self.issued_now = 0

    def add(self, node: Node, phase: int, lane: int, tick: int, clock: Clock) -> Moment:
        """Keep a moment."""
        moment = Moment(len(self.moments), node, phase, lane, tick, clock)
        self.moments.append(moment)
        return moment

    def tick(self) -> int:
        """The phase has ticked already."""
        return self.ticks[self.lane]

    def op(self, stream: Stream, before: Frontier, reads: Reads, writes: Reads) -> Frontier:
        """Issue an operation and keep it."""
        host = self.current
        slot = stream.slot
        lane, _tick, clock = before
        if lane != slot or self.joined.get(slot) is not self.host:
            clock = self.issue(slot, before)
        tick = self.ticks.get(slot, 0) + 1
        self.now = moment = self.add(host.node, host.phase, slot, tick, clock)
        moment.number, moment.stream = self.issued_now, stream
        moment.reads, moment.writes = reads, writes
        self.issued_now += 1
        values = tuple((region, plain(version)) for region, version in writes)
        after = super().op(stream, (slot, tick - 1, clock), reads, values)
        self.now = host
        return after

    def origin(self) -> tuple[Moment | None, int]:
        """Where an operation belongs that is carried out later."""
        here = self.place()
        self.issued_now += 1
        return here

    def place(self) -> tuple[Moment | None, int]:
        """The moment that is carried out, and how many operations it has issued."""
        return self.now, self.issued_now

    def back_to(self, place: Any) -> None:
        """What follows belongs to an earlier moment."""
        self.now, self.issued_now = place

    @property
    def current(self) -> Moment:
        """The moment that is carried out."""
        assert self.now is not None
        return self.now

    def host_read(self, reads: Reads) -> None:
        """The host loads now."""
        self.current.reads = reads
        super().host_read(reads)

    def host_write(self, writes: Reads) -> None:
        """The host stores now."""
        self.current.writes = writes
        super().host_write(tuple((region, plain(version)) for region, version in writes))

    def stage(self, regions: tuple[Region, ...]) -> tuple[Any, ...]:
        """The runtime reads on the host thread now."""
        moment = self.current
        moment.staged = regions
        super().host_read(tuple((region, None) for region in regions))
        held = [self.memory[region.slot][2] for region in regions]
        return tuple(Staged(moment, i, value) for i, value in enumerate(held))

    def race(self, _region: Region, /) -> None:
        """Count, and go on."""
        self.races += 1

    def wrong(self, region: Region, expected: object, /) -> None:
        """Keep, and go on."""
        self.wrongs.append((self.current, region, expected, self.memory[region.slot][2]))


class Recording(Schedule):
    """A schedule that is carried out to be looked at."""

    clocks: RecordingClocks

    def __init__(self, host: Host, contract: Contract, uncertain: tuple[str, ...] = ()) -> None:
        super().__init__(host, contract, uncertain, RecordingClocks(host.gpu))
        self.phases: dict[int, int] = {}
        self.order = HostOrder()
        self.host_moments: list[Moment] = []
        self.before: dict[Moment, dict[int, int]] = {}
        self.recorded: set[Event] = set()

    def take(self, thread: int, result: object) -> None:
        """Carry out one step, and note which calls it depends on."""
        node, rest = self.points[thread]
        assert node.call is not None
        self.cells.take()
        idle = rest is None and self.waits_for_nothing(node)
        self.recorded |= self.records(node.call)
        super().take(thread, result)
        if idle:
            self.host_moments[-1].aside = " (never recorded: no wait)"
        index, footprint = len(self.steps) - 1, self.cells.take()
        if rest is None:
            footprint |= own_footprint(node.call)
        step = HostStep(index, thread, None if rest else node.call, footprint)
        self.before[self.host_moments[index]] = self.order.add(step)

    def records(self, call: Call) -> set[Event]:
        """The events that a call records, by itself or by nodes of a graph (R3.9)."""
        if call[0] == "record":
            return {call[1]}
        nodes = self.front.notes[call[1]] if call[0] == "graph_launch" else ()
        return {node.event for node in nodes if node.event is not None and node.records}

    def waits_for_nothing(self, node: Node) -> bool:
        """Whether a call waits for an event that nothing has recorded (R3.4)."""
        assert node.call is not None
        at = {"wait": 2, "synchronize_event": 1, "poll": 1}.get(node.call[0])
        if at is None:
            return False
        return node.call[at] not in self.recorded and node.call[at] not in self.front.notes

    def closed(self, needed: dict[int, int]) -> dict[int, int]:
        """A down-set with the calls that its calls depend on: an event's last record before it is
        awaited, say, on whichever thread.
        """
        places = {(moment.lane, moment.tick): moment for moment in self.host_moments}
        needed = dict(needed)
        waiting = [places[place] for place in needed.items() if place in places]
        while waiting:
            moment = waiting.pop()
            below = dict(moment.clock)
            for thread, bound in self.before[moment].items():
                last = next(m for m in self.host_moments[bound - 1 :: -1] if m.lane == -1 - thread)
                below[last.lane] = max(last.tick, below.get(last.lane, 0))
            for lane, tick in below.items():
                if tick > needed.get(lane, 0):
                    needed[lane] = tick
                    if (lane, tick) in places:
                        waiting.append(places[lane, tick])
        return needed

    def begin(self, node: Node, rest: object) -> None:
        """Tell the clocks which phase of which call comes next."""
        if node.call is not None and node.call[0] == "query" and self.steps[-1][1]:
            self.answered(self.front.query(node.call)[0])
        phase = self.phases.get(node.thread, 0) + 1 if rest else 0
        self.phases[node.thread] = phase
        self.clocks.begin(node, phase, self.steps[-1][1])
        self.host_moments.append(self.clocks.current)

    def name_nodes(self) -> None:
        """Give operations of graphs the captured calls that they are."""
        for moment in self.moments:
            call = moment.node.call
            if moment.number is not None and call is not None and call[0] == "graph_launch":
                nodes = [node for node in self.front.notes[call[1]] if node.event is None]
                moment.label = nodes[moment.number].label

    def answered(self, frontier: Any) -> None:
        """A query is answered true only once the work is done."""
        self.clocks.await_(frontier)

    @property
    def moments(self) -> list[Moment]:
        """Everything that happened, in issue order."""
        return self.clocks.moments


class PatientRecording(Patient, Recording):
    """The same where operations may have to wait for cells."""

    def answered(self, frontier: Any) -> None:
        """A query is answered true only once the work is done."""
        self.clocks.await_(self.sink.frontier(frontier))

    def first(self, node: Node, thread: int, result: object) -> Any:
        """A wait for a cell happens after the write that it saw."""
        found = super().first(node, thread, result)
        if node.call is not None and node.call[0] == "wait_cell":
            self.clocks.current.clock = self.clocks.host
        return found


def plain(version: object) -> object:
    """The version that a staged copy carries in this run."""
    return version.value if isinstance(version, Staged) else version


def source_of(version: object) -> Region | None:
    """The region whose content a write stores."""
    if isinstance(version, Staged):
        return version.moment.staged[version.index]
    return version if isinstance(version, Region) else None


def simulate(moments: list[Moment]) -> list[tuple[Moment, Region, object, object]]:
    """Carry out moments in another legal order, memory only.

    Returns the reads that find a wrong version: (moment, region, expected, found).
    """
    memory: dict[int, Any] = {}
    carried: dict[tuple[Moment, int], Any] = {}
    wrong: list[tuple[Moment, Region, object, object]] = []
    for moment in moments:
        for region, expected in (*moment.reads, *((r, None) for r in moment.staged)):
            found = memory.get(region.slot, UNWRITTEN)
            if spoiled(found, expected):
                wrong.append((moment, region, expected, found))
        for i, region in enumerate(moment.staged):
            carried[moment, i] = memory.get(region.slot, UNWRITTEN)
        for region, value in written(moment, memory, carried):
            if memory.get(region.slot) is POISON and value not in {UNINITIALISED, POISON}:
                wrong.append((moment, region, None, POISON))
            memory[region.slot] = value
    return wrong


def written(
    moment: Moment, memory: dict[int, Any], carried: dict[Any, Any]
) -> list[tuple[Region, Any]]:
    """What a moment writes, with what its versions stand for."""
    return [(region, resolved(v, memory, carried)) for region, v in moment.writes]


def resolved(version: object, memory: dict[int, Any], carried: dict[Any, Any]) -> object:
    """What a written version stands for."""
    if isinstance(version, Region):
        return memory.get(version.slot, UNWRITTEN)
    if isinstance(version, Staged):
        return carried[version.moment, version.index]
    return version.value if isinstance(version, Idempotent) else version
