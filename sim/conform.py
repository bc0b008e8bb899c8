"""A trace of a run against the specification: whether `machine` can go the same way.

The one place where the simulator meets another engine, and only to be judged by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model.again import from_the_start
from ..model.host import Host
from ..model.machine import Machine
from ..model.replay import possible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..model.contract import Contract
    from ..model.gpu import Gpu
    from ..model.machine import State
    from .clock import Happening


class NoPath(AssertionError):
    """The machine cannot go the way that a simulation went: a defect of Streamorder."""


class Walk:
    """The machine on the way of a trace.

    - `machine` and `state` are where it is now;
    - `wrongs` are the accesses that found a wrong version on the way, as in `Contents.access`.
    """

    def __init__(self, host: Host, contract: Contract) -> None:
        self.machine = Machine(host, contract)
        self.state: State = self.machine.initial()
        self.calls: dict[tuple[int, int], Any] = {}
        self.wrongs: list[Any] = []
        self.note_calls()

    def note_calls(self) -> None:
        """Remember which node is which call of its thread: traces count calls."""
        for point in self.state[0]:
            if point is not None:
                self.calls[point[0].thread, point[0].depth] = point[0]

    def transition(self, happening: Happening) -> tuple[Any, ...]:
        """The machine's transition for something that happened."""
        if happening[0] == "host":
            thread, result = happening[1:]
            point = self.state[0][thread] if thread < len(self.state[0]) else None
            return ("host", thread, result if point is None else self.meant(thread, result))
        (thread, number), phase, which = happening[1]
        node = self.calls.get((thread, number))
        at = -1 if node is None else self.machine.effects.index_of(node, phase, which)
        return happening[0], at

    def meant(self, thread: int, result: object) -> object:
        """A result in the machine's words: an item of a queue may be an object of another `Gpu`."""
        for able in self.machine.results(self.state, thread):
            if type(able) is type(result) and repr(able) == repr(result):
                return able
        return result

    def take(self, happening: Happening) -> None:
        """Go one step; raises `NoPath` where the machine cannot."""
        step = self.transition(happening)
        if not possible(self.machine, self.state, step):
            raise NoPath(f"the machine cannot go on with {happening!r}")
        self.state, wrong = self.machine.apply(self.state, step)
        self.wrongs += wrong
        self.note_calls()


def accepted(
    body: Callable[[Gpu], None], steps: int, contract: Contract, trace: Iterable[Happening]
) -> Walk:
    """Follow the trace of a run (`Timed(trace=True).trace`) in the machine.

    `body`, `steps` and `contract` are those of the run. Returns the walk at its end: its `state`,
    which `machine.finished` or further steps can be asked of. Raises `NoPath` with the first thing
    that the machine cannot do.
    """
    host, kept = Host(body, steps), list(trace)

    def follow() -> Walk:
        walk = Walk(host, contract)
        for happening in kept:
            walk.take(happening)
        return walk

    return from_the_start(follow)
