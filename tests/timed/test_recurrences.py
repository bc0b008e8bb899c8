"""A second, independent clock: for one host thread, start and end follow from a recurrence.

The front end is written over an abstract frontier. Let a frontier be the *time* at which everything
in it is done: join is the maximum, an operation's own frontier is its end. Without an event queue,
without processes: every operation starts when what it waits for is done and its queue is free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder.model.catalogue import catalogue
from streamorder.model.contract import contract_named
from streamorder.model.direct import BRANCHING
from streamorder.model.frontend import Frontend
from streamorder.model.gpu import Gpu
from streamorder.sim import timed
from streamorder.sim.timed import Costs, Hardware, Timed, Watch

if TYPE_CHECKING:
    from streamorder.model.contract import Contract
    from streamorder.model.protocol import Protocol

STEPS = 5


def as_sink(recurrence: Any) -> Any:
    """Enough of a sink for programs without cells."""
    return recurrence


def call_cost(verb: str, number: int) -> float:
    """Something for the host to be busy with."""
    return 0.5 + (hash_of(verb) + number) % 7


def op_cost(call: Any, number: int) -> float:
    """Something for the device to be busy with."""
    return 1.0 + (hash_of(call[0]) * 3 + number) % 23


def hash_of(word: str) -> int:
    """The same in every process."""
    return sum(map(ord, word))


class Recurrence:
    """A reading of the protocol, and the front end's sink."""

    empty = 0.0
    allowed: str | None = None
    thread = made = number = ops = 0

    def __init__(self, gpu: Gpu, contract: Contract) -> None:
        self.now = 0.0
        self.free: dict[Any, float] = {}
        self.ends: list[tuple[str, float]] = []
        self.doing: Any = None
        self.front: Frontend[float] = Frontend(gpu, contract.readings()[0], as_sink(self))

    # --- the reading ---

    def call(self, call: Any) -> Any:
        """The host is busy, then waits."""
        if call[0] in BRANCHING or (call[0] == "launch" and call[5]):
            raise CannotFollow
        self.doing = call
        self.now += call_cost(call[0], self.number)
        self.number += 1
        self.front.grow()
        awaits = self.front.call(call)
        while awaits is not None:
            frontier, rest = awaits
            self.now = max(self.now, frontier)
            awaits = rest(call) if rest is not None else None
        return self.front.issued

    def mark(self, what: str, value: object) -> None:
        """Nothing to note."""

    # --- the sink ---

    def grow(self) -> None:
        """Nothing is kept by region."""

    def join(self, first: float, second: float) -> float:
        """Done when the later one is."""
        return max(first, second)

    def op(self, stream: Any, before: float, _reads: Any, _writes: Any) -> float:
        """The max-plus recurrence."""
        start = max(before, self.now, self.free.get(stream, 0.0))
        end = self.free[stream] = start + op_cost(self.doing, self.ops)
        self.ops += 1
        self.ends.append((stream.name, end))
        return end

    def host_read(self, _reads: Any) -> None:
        """It takes no time of its own."""

    host_write = host_read

    def stage(self, regions: Any) -> tuple[None, ...]:
        """It takes no time of its own."""
        return (None,) * len(regions)


class SameCosts(Costs):
    """The costs above, for the simulator."""

    def __init__(self) -> None:
        self.ops: dict[Any, int] = {}

    def call(self, cursor: Any) -> float:
        """By the verb and the number of the call."""
        return call_cost(cursor.call[0], cursor.number)

    def op(self, op: Any) -> float:
        """By the call and the number of the operation in issue order."""
        return op_cost(op.call, self.ops[op])


class Ends(Watch):
    """Notes when operations end."""

    def __init__(self, costs: SameCosts) -> None:
        self.costs = costs
        self.issue: list[Any] = []

    def issued(self, op: Any) -> None:
        """Number it."""
        self.costs.ops[op] = len(self.issue)
        self.issue.append(op)


def simple(entry: Protocol, contract: Contract) -> Recurrence | None:
    """The recurrence's run; None for a protocol that it cannot follow."""
    gpu = Gpu(STEPS)
    run = Recurrence(gpu, contract)
    gpu.attach(run)
    gpu.concurrent = refused  # type: ignore[method-assign] - it needs operations as handles
    try:
        entry.bind({})(gpu)
    except CannotFollow:
        return None
    return run


class CannotFollow(Exception):
    """The recurrence is for one host thread that never chooses, and for kernels in order."""


def refused(*_operations: object) -> None:
    """What needs more than times."""
    raise CannotFollow


@pytest.mark.parametrize("contract", ["cuda", "hip"])
def test_the_simulator_and_the_recurrence_agree(contract: str) -> None:
    """On every entry with one host thread and no choices: each end, and the host's own time."""
    followed, promised = 0, contract_named(contract)
    for entry in catalogue().values():
        run = simple(entry, promised)
        if run is None:
            continue
        followed += 1
        costs = SameCosts()
        watch = Ends(costs)
        clock = Timed(costs, Hardware(), watch)
        sim = timed.simulate(entry.bind({}), STEPS, promised, lambda clock=clock: clock)
        ends = [(op.stream.name, op.ended) for op in watch.issue]
        assert ends == run.ends, entry.name
        assert sim.env.now == max([run.now, *(end for _name, end in ends)]), entry.name
    assert followed >= FOLLOWED


FOLLOWED = 95
"""How many entries the recurrence can follow, at least."""
