"""Operations as the simulator knows them, and the front end's sink that issues them.

A *frontier* is a set of operations: `Sink` is the front end's fourth reading of one, beside clocks,
masks and recordings. Operations that are finished drop out of frontiers, and an idle stream's is
empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model.trace import described
from .contents import Held

if TYPE_CHECKING:
    import simpy

    from ..model.calls import Call, Reads
    from ..model.memory import Region
    from ..model.objects import Cell, Stream
    from ..model.where import Where
    from .contents import Contents
    from .cursors import Cursor
    from .gpu import SimGpu

Frontier = frozenset["Op"]
EMPTY: Frontier = frozenset()

KINDS = {
    "launch": "kernel", "host_func": "host function", "memcpy": "copy", "memcpy_async": "copy",
    "memset": "fill", "memset_async": "fill", "malloc_async": "allocation",
    "free_async": "allocation", "write_value": "signal", "wait_value": "wait", "post": "post",
}  # fmt: skip
"""What kind of operation a call issues; for a graph's node it is that of the captured call."""


class Op:
    """An issued operation.

    - `call` is the call that issued it (for a graph's node: the `graph_launch`), `thread`, `where`
      and `step` the host thread, the source line and the step of that call;
    - `kind` is a value of `KINDS`, `label` the call in words (for a graph's node: the captured
      one), `kernel` the name of a kernel or host function, else None;
    - `stream` is its lane, `reads` and `writes` are as in a call, with versions that a staged copy
      carries as `Held`; `cell`, `value` and `awaits` are for signals and waits;
    - `before` are the operations that it still waits for; `finished` says that it is done;
    - `issued`, `started`, `ended` are seconds of simulated time (untimed: 0.0). It starts when
      everything before it is done and its hardware queue has come to it;
    - `key` is (key of the call, phase of the call, number within the phase), the same in every
      execution; `number` a small number for it.
    """

    __slots__ = (
        "awaits", "before", "call", "captured", "cell", "done", "ended", "finished", "issued",
        "key", "kind", "number", "reads", "started", "step", "stream", "thread", "ticket", "value",
        "where", "writes",
    )  # fmt: skip

    def __init__(
        self, cursor: Cursor, place: tuple[int, int], stream: Stream, captured: str | None
    ) -> None:
        call: Any = cursor.call
        self.call: Call = call
        self.thread = cursor.thread
        self.where: Where | None = cursor.where
        self.step = cursor.step
        self.key = (cursor.key, *place)
        self.number = 0
        self.stream = stream
        self.captured = captured
        self.kind = KINDS[captured.partition("(")[0] if captured else call[0]]
        self.reads: Reads = ()
        self.writes: Reads = ()
        self.before: tuple[Op, ...] = ()
        self.cell: Cell | None = None
        self.value = 0
        self.awaits = False
        self.finished = False
        self.done: simpy.Event | None = None
        self.ticket: Any = None
        self.issued = self.started = self.ended = 0.0

    @property
    def label(self) -> str:
        """The call in words."""
        return self.captured or described(self.call)

    @property
    def in_full(self) -> str:
        """The call in words, and for a graph's node where it was launched."""
        return f"{self.captured} in {described(self.call)}" if self.captured else self.label

    @property
    def in_short(self) -> str:
        """The same for a picture whose lanes say on which stream."""
        if self.captured:
            return f"{self.captured} in {self.call[1]}"
        return self.call[2] if self.call[0] == "launch" else self.label

    @property
    def kernel(self) -> str | None:
        """The name of the kernel or host function, also of a graph's node."""
        if self.kind not in {"kernel", "host function"}:
            return None
        if self.call[0] != "graph_launch":
            return self.call[2]
        return self.label.partition("(")[2].rpartition(", ")[0]

    def when_done(self, env: simpy.Environment) -> simpy.Event:
        """An event of the simulation for its end; only while it is not finished."""
        if self.done is None:
            self.done = env.event()
        return self.done

    def __repr__(self) -> str:
        return f"<{self.label} on {self.stream}>"


class Sink:
    """Where the front end's effects go: host accesses at once, operations to their lanes."""

    empty = EMPTY

    def __init__(self, sim: SimGpu) -> None:
        self.sim = sim

    def grow(self) -> None:
        """Contents are kept by region: nothing to do."""

    def join(self, first: Frontier, second: Frontier) -> Frontier:
        """What is not finished of either."""
        if not second or first is second:
            return first
        if not first:
            return second
        return remaining(first | second)

    def passed(self, frontier: Frontier) -> bool:
        """Whether everything in the frontier is done."""
        return all(op.finished for op in frontier)

    def op(self, stream: Stream, before: Frontier, reads: Reads, writes: Reads) -> Frontier:
        """Issue an operation; it stands for everything before it."""
        return self.sim.issue(self.made(stream, before, reads, writes))

    def made(self, stream: Stream, before: Frontier, reads: Reads, writes: Reads) -> Op:
        """An operation that is not issued yet."""
        op = self.sim.new_op(stream)
        op.reads, op.writes = reads, writes
        op.before = tuple(earlier for earlier in before if not earlier.finished)
        return op

    def signal(self, stream: Stream, before: Frontier, cell: Cell, value: int) -> Frontier:
        """Issue an operation that stores into a cell."""
        op = self.made(stream, before, (), ())
        op.cell, op.value = cell, value
        return self.sim.issue(op)

    def await_cell(self, stream: Stream, before: Frontier, cell: Cell, value: int) -> Frontier:
        """Issue an operation that is not done before the cell is large enough."""
        op = self.made(stream, before, (), ())
        op.cell, op.value, op.awaits = cell, value, True
        return self.sim.issue(op)

    def host_read(self, reads: Reads) -> None:
        """The host loads now."""
        self.sim.host_access(reads, ())

    def host_write(self, writes: Reads) -> None:
        """The host stores now."""
        self.sim.host_access((), writes)

    def host_signal(self, cell: Cell, value: int) -> None:
        """The host stores into a cell now."""
        self.sim.store_cell(cell, value)

    def stage(self, regions: tuple[Region, ...]) -> tuple[Held, ...]:
        """The runtime reads on the host thread now; the versions travel in the operation."""
        self.sim.host_access(tuple((region, None) for region in regions), ())
        return tuple(Held(self.sim.contents.version(region)) for region in regions)


class Probe:
    """A sink that only notes what the host itself would read and write."""

    empty = EMPTY

    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self.reads: list[tuple[Region, Any]] = []
        self.writes: list[tuple[Region, Any]] = []

    def grow(self) -> None:
        """Nothing is kept."""

    def join(self, first: Frontier, second: Frontier) -> Frontier:
        """The union."""
        return first | second

    def passed(self, frontier: Frontier) -> bool:
        """Whether everything in the frontier is done."""
        return all(op.finished for op in frontier)

    def op(self, *_effect: object) -> Frontier:
        """Nothing is issued."""
        return EMPTY

    signal = await_cell = op

    def host_read(self, reads: Reads) -> None:
        """Loads."""
        self.reads += reads

    def host_write(self, writes: Reads) -> None:
        """Stores."""
        self.writes += writes

    def host_signal(self, _cell: Cell, _value: int) -> None:
        """Cells are never in a hazard."""

    def stage(self, regions: tuple[Region, ...]) -> tuple[Held, ...]:
        """Loads."""
        self.reads += [(region, None) for region in regions]
        return tuple(Held(self.contents.version(region)) for region in regions)


def remaining(frontier: Frontier) -> Frontier:
    """What is not finished of a frontier."""
    return frozenset(op for op in frontier if not op.finished)
