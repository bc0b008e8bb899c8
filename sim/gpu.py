"""`SimGpu`: a protocol as SimPy processes.

Host threads are processes that run the protocol's own Python, call by call; streams are processes
over stores, from which each takes its operations in the order in which they were issued; locks and
queues of host threads are SimPy resources and stores. What a call *means* is the front end's, as
for every engine: `SimGpu` is one more of its sinks, and shares no search and no order with others.

A *clock* says when things happen (`timed.Timed`: after so many seconds; `untimed.Untimed`: when an
explorer lets them). Each thing that happens is a *happening*, as plain data:

    ("host", thread, result)     a host thread carries out its next call, or the rest of one
    ("op", key of the operation) an operation is done: it reads, then it writes
    ("start", key)               an unsatisfied wait occupies the device (streams not independent)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import simpy

from ..model.errors import BadProtocol
from ..model.frontend import Frontend, front_end
from .contents import Contents
from .control import CONTROL, results
from .ops import EMPTY, Op, Probe, Sink, remaining

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ..model.calls import Reads
    from ..model.contract import Contract
    from ..model.objects import Cell, Lock, Queue, Stream
    from .clock import Clock
    from .cursors import Cursor, Live, Traced
    from .ops import Frontier


class SimGpu:
    """One run of a protocol.

    - `source` is the protocol: `cursors.Live(body, steps)` to run it once, `cursors.Traced(host)`
      to run it again and again; `contract` a reading of one (no promise left open);
    - `threads` are the host threads by number, `pending` the operations that are not finished,
      `contents` what memory holds;
    - `front.consulted` are the uncertain promises on which some call depended.

    `start()` starts the main thread, `run()` lets the environment run. An error of the protocol is
    kept in `failure`: SimPy would raise a copy of it.
    """

    def __init__(
        self,
        source: Live | Traced,
        contract: Contract,
        clock: Clock,
        uncertain: tuple[str, ...] = (),
        front: Callable[..., Frontend[Any]] = front_end,
    ) -> None:
        self.source = source
        self.gpu = source.gpu
        self.clock = clock
        self.env = clock.env
        self.sink = Sink(self)
        self.front: Frontend[Frontier] = front(self.gpu, contract, self.sink, uncertain)
        self.serial = not contract.streams_progress
        self.contents = Contents()
        self.threads: dict[int, Cursor] = {}
        self.processes: dict[int, simpy.Process] = {}
        self.pending: dict[Op, None] = {}
        self.lanes: dict[Stream, simpy.Store] = {}
        self.locks: dict[Lock, simpy.Resource] = {}
        self.holders: dict[Lock, tuple[int, Any]] = {}
        self.queues: dict[Queue, simpy.Store] = {}
        self.occupant: Op | None = None
        self.signals: dict[Cell, simpy.Event] = {}
        self.failure: BaseException | None = None
        self.at: Cursor | None = None
        self.issued_now = 0

    # --- host threads ---

    def start(self) -> None:
        """Start the main thread."""
        self.begin_thread(self.source.first())

    def begin_thread(self, cursor: Cursor) -> None:
        """A host thread becomes a process."""
        self.threads[cursor.thread] = cursor
        self.processes[cursor.thread] = self.env.process(self.guarded(self.host(cursor)))

    def guarded(self, process: Generator[simpy.Event, Any, Any]) -> Any:
        """A process whose error is kept, and ends the run."""
        try:
            yield from process
        except BaseException as error:
            self.failure = self.failure or error
            raise

    def run(self, until: float | None = None) -> None:
        """Run the environment until nothing more can happen by itself, or until then.

        Raises what the protocol raised.
        """
        try:
            self.env.run(until)
        except BaseException:
            if self.failure is not None:
                raise self.failure  # noqa: B904 - SimPy raises a copy without its source line
            raise

    def host(self, cursor: Cursor) -> Any:
        """A host thread: its calls, one after the other."""
        while cursor.call is not None:
            chosen = yield from self.clock.turn(self, cursor)
            result = yield from self.carry_out(cursor, chosen)
            cursor.phase, cursor.rest = 0, None
            cursor.advance(result)

    def carry_out(self, cursor: Cursor, chosen: object) -> Any:
        """A call: its first phase, then what it waits for and the rest of it; its result."""
        assert cursor.call is not None
        control = CONTROL.get(cursor.call[0])
        if control is not None:
            return (yield from control(self, cursor, chosen))
        self.clock.happened(self, ("host", cursor.thread, None), cursor)
        awaits = self.phase(cursor, self.front.call)
        while awaits is not None:
            frontier, rest = awaits
            yield from self.wait(cursor, frontier)
            if rest is None:
                yield from self.clock.returned(self, cursor)
                break
            # Where the host may wait before it issues anything, the rest has a number of its own.
            cursor.phase, cursor.rest = getattr(rest, "phase", cursor.phase + 1), rest
            yield from self.clock.rest(self, cursor)
            self.clock.happened(self, ("host", cursor.thread, None), cursor)
            awaits = self.phase(cursor, rest)
        return None

    def phase(self, cursor: Cursor, rule: Any) -> Any:
        """One phase of a call, by the front end; what it awaits."""
        self.at, self.issued_now = cursor, 0
        front = self.front
        front.grow()
        if front.may_hold:
            # A masking asks whether a frontier is empty: what is done must leave no trace in it.
            front.cells = [remaining(frontier) for frontier in front.cells]
        try:
            return rule(cursor.call)
        except BadProtocol as error:
            error.where = error.where or str(cursor.where)
            raise

    def wait(self, cursor: Cursor, frontier: Frontier) -> Any:
        """The thread waits until every operation of a frontier is done."""
        cursor.awaited = remaining(frontier)
        if cursor.awaited:
            self.clock.waits(self, cursor)
            for op in cursor.awaited:
                if not op.finished:
                    yield op.when_done(self.env)
            cursor.awaited = EMPTY
            self.clock.returns(self, cursor)

    def results(self, cursor: Cursor) -> tuple[Any, ...]:
        """The results that a thread's next call can have now; none while it has to wait."""
        return results(self, cursor)

    def asked(self, cursor: Cursor) -> Frontier:
        """What a query asks about, less what is done."""
        frontier = self.phase(cursor, self.front.query)[0]
        return remaining(frontier)

    # --- effects of the host ---

    def host_access(self, reads: Reads, writes: Reads) -> None:
        """The host's own accesses, now."""
        assert self.at is not None
        wrong = self.contents.access(reads, writes)
        self.clock.accessed(self, self.at, reads, writes)
        if wrong:
            self.clock.wrong(self, self.at, wrong)

    def store_cell(self, cell: Cell, value: int) -> None:
        """A store into a cell; who waits for it looks again."""
        self.contents.words[cell] = value
        signal = self.signals.pop(cell, None)
        if signal is not None:
            signal.succeed()

    def changed(self, cell: Cell) -> simpy.Event:
        """An event for the next store into a cell."""
        return self.signals.setdefault(cell, self.env.event())

    def probed(self, cursor: Cursor) -> tuple[Reads, Reads]:
        """What the host itself reads and writes in the phase that comes next."""
        front, probe = self.front, Probe(self.contents)
        kept, sink = (front.cells, front.notes, front.issued, front.captured), front.sink
        front.cells, front.notes = list(front.cells), dict(front.notes)
        front.sink = probe  # type: ignore[assignment] - it issues nothing
        try:
            self.phase(cursor, cursor.rest or front.call)
        finally:
            front.cells, front.notes, front.issued, front.captured = kept
            front.sink = sink
        return tuple(probe.reads), tuple(probe.writes)

    # --- operations ---

    def new_op(self, stream: Stream) -> Op:
        """An operation of the call that is carried out."""
        cursor = self.at
        assert cursor is not None
        assert cursor.call is not None
        number, captured = self.issued_now, None
        if cursor.call[0] == "graph_launch":
            nodes = [node for node in self.front.notes[cursor.call[1]] if node.event is None]
            captured = nodes[number].label
        self.issued_now += 1
        return Op(cursor, (cursor.phase, number), stream, captured)

    def issue(self, op: Op) -> Frontier:
        """Put an operation into its lane."""
        self.pending[op] = None
        self.clock.issued(self, op)
        lane = self.lanes.get(op.stream)
        if lane is None:
            lane = self.lanes[op.stream] = simpy.Store(self.env)
            self.env.process(self.guarded(self.lane(lane)))
        lane.put(op)
        return frozenset((op,))

    def lane(self, store: simpy.Store) -> Any:
        """A stream: takes its operations in order, each waits for its predecessors and runs."""
        while True:
            op: Any = yield store.get()
            yield from self.clock.admit(self, op)
            for earlier in op.before:
                if not earlier.finished:
                    yield earlier.when_done(self.env)
            op.before = ()
            yield from self.clock.work(self, op)
            self.complete(op)

    def satisfied(self, op: Op) -> bool:
        """Whether the cell that an operation waits for is large enough."""
        return op.cell is None or not op.awaits or self.contents.word(op.cell) >= op.value

    def complete(self, op: Op) -> None:
        """An operation is done: all its reads, then all its writes."""
        self.clock.happened(self, ("op", op.key), op)
        wrong = self.contents.access(op.reads, op.writes)
        if op.cell is not None and not op.awaits:
            self.store_cell(op.cell, op.value)
        op.finished = True
        del self.pending[op]
        self.occupant = None
        self.clock.ran(self, op)
        if wrong:
            self.clock.wrong(self, op, wrong)
        if op.done is not None:
            op.done.succeed()

    @property
    def blocked(self) -> list[Cursor]:
        """The host threads that have not returned."""
        return [cursor for cursor in self.threads.values() if cursor.call is not None]
