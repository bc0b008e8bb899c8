"""Deciding a single host schedule while the protocol runs: one pass, constant memory.

A protocol with one host thread and no choices has one host schedule, so nothing needs to be kept:
its calls go straight through the front end into vector clocks. `Branches` says that it has more;
`Echo` runs it a second time without deciding anything, to see that it issues the same calls.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from .clocks import EMPTY, Clocks, Found
from .errors import BadProtocol, NotModelled, StreamorderError, in_one_line
from .frontend import Frontend, front_end
from .reuse import Reuse
from .where import failed_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .calls import Call
    from .clocks import Frontier
    from .contract import Contract
    from .gpu import Gpu

BRANCHING = frozenset(
    {"choose", "query", "thread", "join", "get", "put", "acquire", "release"}
    | {"write_value", "wait_value", "set_cell", "wait_cell"}
)
"""Verbs with which a program is traced as a tree."""

CALLS_A_LOOK = 20_000
"""After how many calls the deadline is looked at."""


class Branches(BaseException):
    """The host has more than one schedule: trace it as a tree (`host`) and search (`search`)."""


class Spent(BaseException):
    """The time is over."""


class Ended:
    """The reading after the end: a protocol that swallows why it was stopped is stopped again."""

    def __init__(self, thread: int, why: BaseException) -> None:
        self.thread = thread
        self.made = 0
        self.allowed: str | None = None
        self.why = why

    def call(self, call: Call) -> NoReturn:
        """Stop."""
        del call
        raise self.why

    def mark(self, what: str, value: object) -> None:
        """Nothing is noted any more."""


class Listener:
    """What both readings of a single schedule share.

    `digest` stands for all calls so far; `over` is why the run was stopped, None while it goes on.
    """

    def __init__(self, gpu: Gpu, deadline: float) -> None:
        self.gpu = gpu
        self.deadline = deadline
        self.thread = 0
        self.made = 0
        self.allowed: str | None = None
        self.digest = 0
        self.left = CALLS_A_LOOK
        self.over: BaseException | None = None

    def stop(self, why: BaseException) -> NoReturn:
        """End the run, whatever the protocol catches."""
        self.over = why
        self.gpu.attach(Ended(self.thread, why))
        raise why

    def look(self) -> None:
        """Stop when the time is over."""
        self.left = CALLS_A_LOOK
        if time.monotonic() > self.deadline:
            self.stop(Spent())


class Direct(Listener):
    """The reading that decides as calls arrive; it stops at the first thing wrong."""

    def __init__(
        self, gpu: Gpu, contract: Contract, uncertain: tuple[str, ...], deadline: float
    ) -> None:
        super().__init__(gpu, deadline)
        self.waits = 0
        self.overlaps = True
        self.clocks = Clocks(gpu)
        self.front: Frontend[Frontier] = front_end(gpu, contract, self.clocks, uncertain)
        rules = (name for name in dir(Frontend) if not name.startswith("_"))
        self.rules = {name: getattr(self.front, name) for name in rules if name not in BRANCHING}

    def call(self, call: Call) -> Any:
        """Carry out one call; an operation's frontier is its handle."""
        verb = call[0]
        rule = self.rules.get(verb)
        if rule is None or (verb == "launch" and call[5]):
            return self.no_rule(call)
        self.digest = hash((self.digest, call))
        self.left -= 1
        if not self.left:
            self.look()
        try:
            awaits = rule(call)
            while awaits is not None:
                frontier, rest = awaits
                if frontier is not EMPTY:
                    self.waits += 1
                    self.clocks.await_(frontier)
                awaits = rest(call) if rest is not None else None
        except (Found, NotModelled) as why:
            self.stop(why)
        return self.front.issued

    def no_rule(self, call: Call) -> None:
        """A property, or a call with which a program is traced as a tree."""
        if call[0] != "concurrent":
            self.stop(Branches())
        self.overlaps &= not self.clocks.ordered(call[1], call[2])

    def mark(self, what: str, value: object) -> None:
        """Note a new object, a step, or a declared wait."""
        if what == "grown":
            self.front.grow()
            return
        self.digest = hash((self.digest, what, value))
        if what == "made":
            self.front.grow()
        elif what == "step" and value is not None:
            self.waits = 0

    @property
    def ops(self) -> int:
        """How many operations were issued to streams."""
        return sum(count for lane, count in self.clocks.ticks.items() if lane >= 0)


class Echo(Listener):
    """The reading that only listens: the same digest of the calls, and what was reused."""

    def __init__(self, gpu: Gpu, deadline: float) -> None:
        super().__init__(gpu, deadline)
        self.reuse = Reuse()

    def call(self, call: Call) -> Any:
        """Listen to one call."""
        verb = call[0]
        if verb in BRANCHING:
            self.stop(Branches())
        if verb == "concurrent":
            return None
        self.digest = hash((self.digest, call))
        self.left -= 1
        if not self.left:
            self.look()
        self.reuse.calls += 1
        if verb != "launch" or call[4]:
            self.reuse.note(call)
        return call

    def mark(self, what: str, value: object) -> None:
        """Listen to a mark."""
        if what == "grown":
            return
        self.digest = hash((self.digest, what, value))
        self.reuse.mark(what, value)


HINTS = {
    "'method' object is not iterable": ": call it, as in gpu.steps()",
    "'_GeneratorContextManager' object": ": write with gpu.capture(stream) as graph",
}
"""What Python says of a mistake that is easily made, and how to mend it."""


def explained(error: BaseException) -> str:
    """Somebody else's exception in one line, in the words of the API."""
    text = in_one_line(error)
    for private in ("HostCalls.", "MemoryCalls.", "StreamCalls."):
        text = text.replace(private, "gpu.")
    return text + "".join(hint for said, hint in HINTS.items() if said in text)


@contextmanager
def refusals() -> Iterator[None]:
    """What a protocol's own Python raises, as bad protocols with their source line; a refusal that
    it has swallowed is raised again.
    """
    BadProtocol.last = None
    try:
        yield
    except BadProtocol as error:
        error.where = error.where or failed_at(error)
        raise
    except StreamorderError:
        raise
    except (Exception, SystemExit) as error:
        raise BadProtocol(f"the protocol raised {explained(error)}", failed_at(error)) from error
    if BadProtocol.last is not None:
        raise BadProtocol.last


def run(gpu: Gpu, body: Callable[[Gpu], None], reading: Direct | Echo) -> None:
    """Run the protocol's own Python against a reading; raises why it was stopped, if it was."""
    gpu.attach(reading)
    with refusals():
        body(gpu)
    if reading.over is not None:
        raise reading.over
