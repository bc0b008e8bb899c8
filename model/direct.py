"""Deciding a single host schedule while the protocol runs: one pass, constant memory.

A protocol with one host thread and no choices has one host schedule, so nothing needs to be kept:
its calls go straight through the front end into vector clocks. `Branches` says that it has more;
`Echo` runs it a second time without deciding anything, to see that it issues the same calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .clocks import EMPTY, Clocks
from .errors import BadProtocol, StreamorderError
from .frontend import Frontend
from .reuse import Reuse
from .where import failed_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from .clocks import Frontier
    from .contract import Contract
    from .gpu import Call, Gpu

BRANCHING = frozenset({"choose", "query", "thread", "join", "get", "put", "acquire", "release"})


class Branches(BaseException):
    """The host has more than one schedule: trace it as a tree (`host`) and search (`search`)."""


class Direct:
    """The reading that decides as calls arrive. Raises `Found` at the first thing wrong."""

    def __init__(self, gpu: Gpu, contract: Contract, uncertain: tuple[str, ...]) -> None:
        self.thread = 0
        self.made = 0
        self.digest = 0
        self.waits = 0
        self.overlaps = True
        self.clocks = Clocks(gpu)
        self.front: Frontend[Frontier] = Frontend(gpu, contract, self.clocks, uncertain)
        rules = (name for name in dir(Frontend) if not name.startswith("_"))
        self.rules = {name: getattr(self.front, name) for name in rules}

    def call(self, call: Call) -> Any:
        """Carry out one call."""
        verb = call[0]
        if verb in BRANCHING:
            raise Branches
        if verb == "concurrent":
            self.overlaps &= not self.clocks.ordered(call[1], call[2])
            return None
        self.digest = hash((self.digest, call))
        awaits = self.rules[verb](call)
        while awaits is not None:
            frontier, rest = awaits
            if frontier is not EMPTY:
                self.waits += 1
                self.clocks.await_(frontier)
            awaits = rest(call) if rest is not None else None
        return self.front.issued

    def mark(self, what: str, value: object) -> None:
        """Note a new object, a step, or a declared wait."""
        self.digest = hash((self.digest, what, value))
        if what == "made":
            self.front.grow()
            self.clocks.grow()
        elif what == "step" and value is not None:
            self.waits = 0

    @property
    def ops(self) -> int:
        """How many operations were issued to streams."""
        return sum(count for lane, count in self.clocks.ticks.items() if lane >= 0)


class Echo:
    """The reading that only listens: the same digest of the calls, and what was reused."""

    def __init__(self) -> None:
        self.thread = 0
        self.made = 0
        self.digest = 0
        self.reuse = Reuse()

    def call(self, call: Call) -> Any:
        """Listen to one call."""
        verb = call[0]
        if verb in BRANCHING:
            raise Branches
        if verb == "concurrent":
            return None
        self.digest = hash((self.digest, call))
        if verb != "launch" or call[4]:
            self.reuse.note(call)
        return call

    def mark(self, what: str, value: object) -> None:
        """Listen to a mark."""
        self.digest = hash((self.digest, what, value))
        self.reuse.mark(what, value)


def run(gpu: Gpu, body: Callable[[Gpu], None], reading: Direct | Echo) -> None:
    """Run the protocol's own Python against a reading; its own exceptions are bad protocols."""
    gpu.attach(reading)
    try:
        body(gpu)
    except BadProtocol as error:
        if error.where is None:
            error.where = failed_at(error)
        raise
    except StreamorderError:
        raise
    except Exception as error:
        raise BadProtocol(
            f"the protocol raised {type(error).__name__}: {error}", failed_at(error)
        ) from error
