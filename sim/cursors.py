"""Where a host thread is in its protocol: the protocol's own Python, one call at a time.

`Live` runs the function itself, once, as greenlets: for timed runs, however long. `Traced` follows
the tree of calls in which `model.host` keeps what those greenlets did, so that an execution that is
repeated thousands of times runs each line of Python once; it also refuses what a checker refuses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model.calls import OPERATIONS
from ..model.gpu import Gpu
from ..model.host import Run, falses_after
from ..model.unrun import ran

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..model.calls import Call
    from ..model.host import Host, Node
    from ..model.where import Where


class Cursor:
    """A host thread before its next call.

    - `call` is that call, None once the thread has returned; `where`, `step`, `allowed` say where
      it stands (see `model.host.Node`), `number` how many calls came before it in its thread;
    - `phase` counts the waits of the call that are over, `awaited` is what it waits for now, `rest`
      what is left of it once that is done;
    - `falses` counts false answers in a row, by event or stream and step; `key` identifies the
      call in every execution.
    """

    thread: int
    call: Call | None
    where: Where | None
    step: int | None
    allowed: str | None
    falses: dict[Any, int]
    number: int
    key: Any

    def __init__(self) -> None:
        self.phase = 0
        self.awaited: frozenset[Any] = frozenset()
        self.rest: Any = None

    def advance(self, result: object) -> None:
        """Let the thread run on to its next call, the last one having returned `result`."""
        raise NotImplementedError

    def spawn(self) -> Cursor:
        """The first call of the thread that this `thread` call starts."""
        raise NotImplementedError


class TracedCursor(Cursor):
    """A node of the tree of calls."""

    def __init__(self, host: Host, node: Node) -> None:
        super().__init__()
        self.host = host
        self.stand_at(node)

    def stand_at(self, node: Node) -> None:
        """Take over what the node knows."""
        self.key = node
        self.thread, self.call, self.where = node.thread, node.call, node.where
        self.step, self.allowed = node.step, node.allowed
        self.falses, self.number = node.falses, node.depth

    def advance(self, result: object) -> None:
        """Go to the child of that result."""
        self.stand_at(self.host.child(self.key, result))

    def spawn(self) -> TracedCursor:
        """The root of the thread's own tree."""
        return TracedCursor(self.host, self.host.spawn(self.key))


class Traced:
    """The protocol as a tree of calls."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.gpu = host.gpu

    def first(self) -> Cursor:
        """The main thread's first call."""
        return TracedCursor(self.host, self.host.root)


class LiveCursor(Cursor):
    """A greenlet that stops at each call."""

    def __init__(self, live: Live, thread: int, body: Callable[[], None]) -> None:
        super().__init__()
        self.live = live
        self.thread = thread
        self.falses = {}
        self.number = 0
        self.call = None
        self.run = Run(live, thread, body)  # type: ignore[arg-type] - what it needs of a host
        self.stop_at(None)

    def stop_at(self, value: object) -> None:
        """Run on with the last call's result to the next call."""
        self.call = self.run.resume(value)
        self.where, self.step, self.allowed = self.run.where, self.run.step, self.run.allowed
        self.key = (self.thread, self.number)

    def advance(self, result: object) -> None:
        """Run on; an operation's handle is the key of its call."""
        assert self.call is not None
        if self.call[0] == "query" or self.falses:
            self.falses = falses_after(self, result)  # type: ignore[arg-type] - what it asks of one
        if self.call[0] in OPERATIONS:
            result = ("op", *self.key)
        self.number += 1
        self.stop_at(result)

    def spawn(self) -> LiveCursor:
        """A greenlet for the thread."""
        assert self.call is not None
        _verb, thread, fn, args = self.call
        whose, where = f"host thread {thread.name!r}", self.where
        return LiveCursor(self.live, thread.slot, lambda: ran(fn(*args), whose, where))


class Live:
    """The protocol's function itself; it runs once.

    `steps` is how often the step loop runs, or an iterable of step numbers of one's own: a
    generator that looks at a workload may go on for as long as that does.
    """

    def __init__(self, body: Callable[[Gpu], None], steps: int | Iterable[int]) -> None:
        self.body = body
        self.steps = steps
        self.gpu = Gpu(steps if isinstance(steps, int) else 0)
        self.born: dict[object, int | None] = {}
        if not isinstance(steps, int):
            self.gpu.loop = self.counted(steps)

    def again(self) -> Live:
        """The same from the start, for a protocol that launches kernels early."""
        live = Live(self.body, self.steps)
        live.gpu.early_used = True
        return live

    def counted(self, steps: Iterable[int]) -> Iterable[int]:
        """The steps, each noted when it begins."""
        for step in steps:
            self.gpu.reading.mark("step", step)
            yield step
        self.gpu.reading.mark("step", None)

    def first(self) -> Cursor:
        """The main thread's first call."""
        return LiveCursor(self, 0, lambda: ran(self.body(self.gpu), "the protocol", None))
