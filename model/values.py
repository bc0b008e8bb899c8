"""Value waits in the order engine.

With a wait for a cell, issue order is no longer in line with happens-before, and which write
satisfies the wait may be the device's choice. So operations are kept until what they start after
is done and, for a wait, until some write satisfies it. The wait then happens after the *least* of
the satisfying writes, the one that happens before all the others. A schedule is `undecided`, and
the program is handed to the machine, when there is no least one, or when another write that does
not satisfy could come between: that wait might see either, or hang.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .clocks import EMPTY, Clocks, precedes
from .effects import bits
from .schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .calls import Call, Reads
    from .clocks import Clock, Frontier
    from .host import Node
    from .memory import Region
    from .objects import Cell, Stream


class Signal(NamedTuple):
    """A write of a cell that is done: its version and its place."""

    value: int
    at: Frontier


class Wait(NamedTuple):
    """A wait that is over: for what, the signal it happened after (None: the cell began so)."""

    cell: Cell
    value: int
    at: Frontier
    by: Signal | None


class Deferred:
    """An operation that is issued and not yet carried out.

    `sets` and `awaits` are (cell, value) for operations on cells.
    """

    __slots__ = ("at", "awaits", "before", "host", "lane", "origin", "reads", "sets", "writes")

    def __init__(self, lane: Stream, before: int, host: Clock, origin: Any) -> None:
        self.lane = lane
        self.before = before
        self.host = host
        self.origin = origin
        self.reads: Reads = ()
        self.writes: Reads = ()
        self.sets: tuple[Cell, int] | None = None
        self.awaits: tuple[Cell, int] | None = None
        self.at: Frontier = EMPTY


class Deferring:
    """The sink: frontiers are bit masks of operations; clocks are told when one is carried out."""

    empty = 0

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks
        self.ops: list[Deferred] = []
        self.pending = 0
        self.signals: dict[Cell, list[Signal]] = {}
        self.waits: list[Wait] = []

    # --- the sink ---

    def grow(self) -> None:
        """Give regions made since a place."""
        self.clocks.grow()

    def join(self, first: int, second: int) -> int:
        """The union."""
        return first | second

    def passed(self, frontier: int) -> bool:
        """Whether everything in the frontier is done."""
        return not frontier & self.pending

    def issue(self, lane: Stream, before: int) -> Deferred:
        """Keep an operation."""
        op = Deferred(lane, before, self.clocks.host, self.clocks.origin())
        self.pending |= 1 << len(self.ops)
        self.ops.append(op)
        return op

    @property
    def last(self) -> int:
        """The frontier of the operation issued last."""
        return 1 << (len(self.ops) - 1)

    def op(self, stream: Stream, before: int, reads: Reads, writes: Reads) -> int:
        """Issue an operation."""
        op = self.issue(stream, before)
        op.reads, op.writes = reads, writes
        return self.last

    def signal(self, stream: Stream, before: int, cell: Cell, value: int) -> int:
        """Issue an operation that stores into a cell."""
        self.issue(stream, before).sets = (cell, value)
        return self.last

    def await_cell(self, stream: Stream, before: int, cell: Cell, value: int) -> int:
        """Issue an operation that is not done before the cell is large enough."""
        self.issue(stream, before).awaits = (cell, value)
        return self.last

    def host_read(self, reads: Reads) -> None:
        """The host loads now."""
        self.clocks.host_read(reads)

    def host_write(self, writes: Reads) -> None:
        """The host stores now."""
        self.clocks.host_write(writes)

    def stage(self, regions: tuple[Region, ...]) -> tuple[Any, ...]:
        """The runtime reads on the host thread now."""
        return self.clocks.stage(regions)

    def host_signal(self, cell: Cell, value: int) -> None:
        """The host stores into a cell now."""
        clocks = self.clocks
        tick = clocks.tick()
        self.signals.setdefault(cell, []).append(Signal(value, (clocks.lane, tick, clocks.host)))

    # --- carrying out ---

    def settle(self) -> None:
        """Carry out every operation that can be."""
        moved = True
        while moved:
            moved = False
            for index in bits(self.pending):
                op = self.ops[index]
                if not op.before & self.pending and self.satisfied(op.awaits):
                    self.carry_out(op)
                    self.pending &= ~(1 << index)
                    moved = True

    def satisfied(self, awaits: tuple[Cell, int] | None) -> bool:
        """Whether the cell is large enough now."""
        if awaits is None:
            return True
        done = self.signals.get(awaits[0])
        return (done[-1].value if done else 0) >= awaits[1]

    def carry_out(self, op: Deferred) -> None:
        """Tell the clocks of an operation, as of the call that issued it."""
        clocks = self.clocks
        host = clocks.host
        before = self.frontier(op.before)
        clocks.back_to(op.origin)
        clocks.host = op.host
        by = self.least(*op.awaits) if op.awaits else None
        if by is not None:
            before = clocks.join(before, by.at)
        op.at = clocks.op(op.lane, before, op.reads, op.writes)
        if op.sets is not None:
            self.signals.setdefault(op.sets[0], []).append(Signal(op.sets[1], op.at))
        if op.awaits is not None:
            self.waits.append(Wait(*op.awaits, op.at, by))
        # Where it belongs needs no way back: each step of a thread says that anew.
        clocks.host = host

    def frontier(self, mask: int) -> Frontier:
        """The clocks' frontier of operations that are done."""
        joined = EMPTY
        for index in bits(mask):
            joined = self.clocks.join(joined, self.ops[index].at)
        return joined

    def least(self, cell: Cell, value: int) -> Signal | None:
        """The satisfying write that happens before the others that are done; None: none needed."""
        if value <= 0:
            return None
        enough = [signal for signal in self.signals[cell] if signal.value >= value]
        ahead = [s for s in enough if all(precedes(s.at, other.at) for other in enough)]
        return ahead[0] if ahead else enough[0]

    def wait_on_host(self, cell: Cell, value: int) -> None:
        """The host has seen a cell large enough."""
        by = self.least(cell, value)
        if by is not None:
            self.clocks.await_(by.at)
        clocks = self.clocks
        self.waits.append(Wait(cell, value, (clocks.lane, clocks.tick(), clocks.host), by))

    @property
    def undecided(self) -> bool:
        """Whether some wait could have seen another write, or none."""
        return any(not self.settled(wait) for wait in self.waits)

    def settled(self, wait: Wait) -> bool:
        """Whether every other write of the cell comes after the wait, or is out of its way."""
        return all(
            signal is wait.by or precedes(wait.at, signal.at) or self.harmless(wait, signal)
            for signal in self.signals.get(wait.cell, ())
        )

    def harmless(self, wait: Wait, signal: Signal) -> bool:
        """A write that satisfies after the least one, or does not satisfy and comes before it."""
        if signal.value >= wait.value:
            return wait.by is None or precedes(wait.by.at, signal.at)
        return wait.by is not None and precedes(signal.at, wait.by.at)


class Patient(Schedule):
    """A schedule whose operations may have to wait for cells.

    `awaiting[thread]` is what a host thread that has made its call still waits for.
    """

    sink: Deferring

    def make_sink(self) -> Any:
        """Operations are kept until they can be carried out."""
        self.awaiting: dict[int, int] = {}
        self.claims: list[Node] = []
        return Deferring(self.clocks)

    def results_of(self, thread: int) -> tuple[Any, ...]:
        """None while the thread waits for an operation or a cell."""
        self.sink.settle()
        if self.awaiting.get(thread, 0) & self.sink.pending:
            return ()
        node, rest = self.points[thread]
        if rest is None and node.call is not None and node.call[0] == "wait_cell":
            return (None,) if self.sink.satisfied(node.call[1:3]) else ()
        # What the thread has waited for, its next call may ask about.
        self.clocks.enter(thread)
        self.clocks.await_(self.sink.frontier(self.awaiting.get(thread, 0)))
        results = super().results_of(thread)
        if rest is None and node.call is not None and node.call[0] == "query" and results:
            return self.answers(node.call, results)
        return results

    def answers(self, call: Call, results: tuple[Any, ...]) -> tuple[Any, ...]:
        """A query answers true only about work that can be done by now."""
        awaits = self.front.query(call)
        assert awaits is not None
        stuck = awaits[0] & self.sink.pending
        return tuple(result for result in results if not (result and stuck))

    def clock_frontier(self, frontier: Any) -> Frontier | None:
        """A frontier as the clocks know it; None for one that is not done."""
        return None if frontier & self.sink.pending else self.sink.frontier(frontier)

    def take(self, thread: int, result: object) -> None:
        """Carry out one step, and what the device can do after it."""
        self.clocks.enter(thread)
        self.clocks.await_(self.sink.frontier(self.awaiting.pop(thread, 0)))
        super().take(thread, result)
        self.sink.settle()
        self.judge()

    def judge(self) -> None:
        """Whether operations that are stated to be concurrent are ordered, once both are done."""
        for node in [node for node in self.claims if not self.unfinished(node)]:
            assert node.call is not None
            self.claims.remove(node)
            if self.clocks.ordered(*map(self.frontier_of, node.call[1:3])):
                self.broken.append(node)

    def unfinished(self, claim: Node) -> int:
        """Of the operations that a claim is about, those that are not carried out yet."""
        assert claim.call is not None
        masks = [super(Patient, self).frontier_of(node) for node in claim.call[1:3]]
        return (masks[0] | masks[1]) & self.sink.pending

    def first(self, node: Node, thread: int, result: object) -> Any:
        """A wait for a cell is the host's own; everything else as ever."""
        assert node.call is not None
        if node.call[0] == "join":
            self.clocks.enter(node.call[1].slot)
            self.clocks.await_(self.sink.frontier(self.awaiting.pop(node.call[1].slot, 0)))
            self.clocks.enter(thread)
        if node.call[0] == "wait_cell":
            self.sink.wait_on_host(node.call[1], node.call[2])
            return None
        if node.call[0] == "concurrent" and self.unfinished(node):
            self.claims.append(node)
            return None
        return super().first(node, thread, result)

    def await_frontier(self, thread: int, frontier: Any) -> None:
        """The thread waits from here on; it learns what it waited for when it goes on."""
        self.news.awaits(thread, frontier)
        self.awaiting[thread] = frontier

    def ended(self, thread: int) -> bool:
        """Whether a thread has returned, and waits for nothing."""
        return super().ended(thread) and not self.awaiting.get(thread, 0) & self.sink.pending

    def blocked(self) -> list[Node]:
        """The threads that have not returned, each at the call in which it waits."""
        stuck: list[Node | None] = []
        for thread, (node, rest) in self.points.items():
            if self.awaiting.get(thread, 0) & self.sink.pending:
                stuck.append(node if rest is not None else node.parent)
            elif node.call is not None:
                stuck.append(node)
        return [node for node in stuck if node is not None]

    def hung(self) -> list[Any]:
        """Operations that are never done, those that only wait for others left out."""
        sink = self.sink
        waiting = [sink.ops[index] for index in bits(sink.pending)]
        return [op for op in waiting if not op.before & sink.pending]

    @property
    def undecided(self) -> bool:
        """Whether the machine must decide: also where a wait hangs that an earlier write, over
        which another one has gone, could have satisfied.
        """
        return self.sink.undecided or any(self.was_satisfied(*wait) for wait in self.stuck_waits())

    def stuck_waits(self) -> Iterator[tuple[Cell, int]]:
        """What is waited for in the end, by streams and host threads."""
        yield from (op.awaits for op in self.hung() if op.awaits is not None)
        for thread, (node, rest) in self.points.items():
            free = not self.awaiting.get(thread, 0) & self.sink.pending and rest is None
            if free and node.call is not None and node.call[0] == "wait_cell":
                yield node.call[1], node.call[2]

    def was_satisfied(self, cell: Cell, value: int) -> bool:
        """Whether the cell was once large enough."""
        return any(signal.value >= value for signal in self.sink.signals.get(cell, ()))

    def frontier_of(self, node: Node) -> Any:
        """The clocks' frontier of a call's operation."""
        return self.sink.frontier(super().frontier_of(node))
