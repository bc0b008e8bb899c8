"""An environment without time: what is possible is a choice, in any order.

Whatever may happen next stands at a *gate*: a host thread before its next call or the rest of one,
an operation that could be done. One atomic step is: release one gate, then run SimPy until it is
quiet, which opens the gates of what has become possible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import simpy

from ..model.trace import described
from ..model.verdict import Site
from .clock import Clock
from .ops import Op

if TYPE_CHECKING:
    from collections.abc import Callable

    from .contents import Wrong
    from .cursors import Cursor
    from .gpu import SimGpu

# ("host", thread, result), ("op", number of the operation, None) or ("op", number, "start")
Choice = tuple[str, int, Any]
START = "start"


class Gate(simpy.Event):
    """Something that waits for its turn. `results` says how it may go on now: with none while it
    may not.
    """

    def __init__(
        self,
        env: Untimed,
        key: tuple[str, int],
        who: Cursor | Op,
        results: Callable[[], tuple[Any, ...]],
    ) -> None:
        super().__init__(env)
        self.key = key
        self.who = who
        self.results = results
        env.gates[key] = self


class Untimed(simpy.Environment):
    """An environment in which pending completions happen in any order: its clock stands still."""

    def __init__(self) -> None:
        super().__init__()
        self.gates: dict[tuple[str, int], Gate] = {}

    def enabled(self) -> list[Choice]:
        """Everything that can happen next."""
        return [(*key, result) for key, gate in self.gates.items() for result in gate.results()]

    def release(self, choice: Choice) -> None:
        """Let one thing happen; run the environment afterwards."""
        self.gates.pop(choice[:2]).succeed(choice[2])


class Gates(Clock):
    """The clock of an untimed run: everything waits at its gate.

    `numbers` gives an operation the same small number in every execution; `wrongs` are the accesses
    that found a wrong version, in this run.
    """

    env: Untimed

    def __init__(self, numbers: dict[Any, int]) -> None:
        super().__init__(Untimed())
        self.numbers = numbers
        self.wrongs: list[tuple[Site, Wrong]] = []
        self.rests: dict[int, Any] = {}

    def turn(self, sim: SimGpu, cursor: Cursor) -> Any:
        """A gate with a result for each way on."""
        key = ("host", cursor.thread)
        return (yield Gate(self.env, key, cursor, lambda: sim.results(cursor)))

    def rest(self, sim: SimGpu, cursor: Cursor) -> Any:
        """A gate: what a call does after its wait is a step of its own."""
        del sim
        yield Gate(self.env, ("host", cursor.thread), cursor, lambda: (None,))

    def work(self, sim: SimGpu, op: Op) -> Any:
        """A gate; where streams are serialised, an unsatisfied wait may also begin."""
        way = START
        while way == START:
            way = yield Gate(self.env, ("op", op.number), op, lambda: self.ways(sim, op))
            if way == START:
                sim.occupant = op

    def ways(self, sim: SimGpu, op: Op) -> tuple[str | None, ...]:
        """How an operation that has all its predecessors can go on."""
        if sim.occupant is not None and sim.occupant is not op:
            return ()
        if sim.satisfied(op):
            return (None,)
        return (START,) if sim.serial and sim.occupant is None else ()

    def issued(self, sim: SimGpu, op: Op) -> None:
        """Number it."""
        del sim
        op.number = self.numbers.setdefault(op.key, len(self.numbers))

    def wrong(self, sim: SimGpu, who: Cursor | Op, wrong: list[Wrong]) -> None:
        """Keep them."""
        del sim
        self.wrongs += [(site_of(who), one) for one in wrong]


def site_of(who: Cursor | Op) -> Site:
    """The call of a host thread or an operation, with its source line."""
    if isinstance(who, Op):
        return Site(who.where, who.in_full)
    assert who.call is not None
    return Site(who.where, described(who.call))
