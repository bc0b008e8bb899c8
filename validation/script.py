"""Scripts: an interleaving of the model, as turns that a device can be made to take.

A turn is a host thread's next call, the rest of a call once what it waits for is done, or an
operation. On a device a gate holds each operation until its turn. What cannot be held at a gate (a
copy from pageable memory, behind which the host itself would wait) runs as soon as it can: a script
puts it first wherever it is possible, and says what the model expects then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.again import from_the_start
from ..model.check import Limits, Question, decided
from ..model.edges import down_set
from ..model.linear import linear
from ..model.machine import Machine
from ..model.memory import PAGEABLE
from ..model.reasons import certain
from ..model.replay import possible, transition
from ..model.tree import edges_of, record
from ..model.witness import site, worst_order

if TYPE_CHECKING:
    from ..model.contract import Contract
    from ..model.edges import Edge
    from ..model.effects import Operation
    from ..model.host import Host, Node
    from ..model.machine import State, Transition
    from ..model.protocol import Protocol
    from ..model.recorder import Moment, Recording
    from ..model.verdict import Site

CALL, REST, OP = "call", "rest", "op"


class Turn(NamedTuple):
    """One turn: `kind` is `call`, `rest` or `op`; the call is `depth` of `thread`.

    `number` tells operations of one call apart; `result` is what a choice or a query answers;
    `held` says that a gate holds the operation.
    """

    kind: str
    thread: int
    depth: int
    number: int
    result: Any
    verb: str
    held: bool = True

    @property
    def key(self) -> tuple[int, int, int]:
        """The operation's identity in a run."""
        return self.thread, self.depth, self.number


class Expected(NamedTuple):
    """A read that finds a wrong version: whose (`key`), of what, what it expects and finds."""

    key: tuple[int, int, int]
    region: str
    expected: object
    found: object


class Script(NamedTuple):
    """An interleaving to force.

    - `expected` are the wrong reads that the model sees in it;
    - `first`, `second` are the two accesses that lack an order, `kind` as in `MissingEdge`;
    - `late`: without it no read is wrong, since only a copy that no gate can hold would be late.
    """

    turns: tuple[Turn, ...]
    expected: tuple[Expected, ...]
    first: Site | None = None
    second: Site | None = None
    kind: str = ""
    late: bool = False


def held(op: Operation) -> bool:
    """Whether a gate can hold an operation: not what the host itself stages, nor a wait."""
    call = op.node.call
    assert call is not None
    if call[0] in {"memcpy", "memcpy_async"}:
        return call[1].src != PAGEABLE
    return not op.awaits


class Replayer:
    """A walk through the machine that notes turns and wrong reads."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.state: State = machine.initial()
        self.turns: list[Turn] = []
        self.expected: list[Expected] = []

    def hasty(self) -> Transition | None:
        """An operation that no gate can hold and that can be done now."""
        for index in self.machine.ready(self.state):
            if not held(self.machine.ops[index]):
                return "op", index
        return None

    def take(self, step: Transition) -> None:
        """Take a transition."""
        turn = turn_of(self.machine, self.state, step)
        self.state, wrong = self.machine.apply(self.state, step)
        self.turns.append(turn)
        reads = {r.slot for r, _e in self.machine.ops[step[1]].reads} if step[0] == "op" else set()
        self.expected += [
            Expected(turn.key, repr(w.region), w.expected, w.found)
            for w in wrong
            if w.expected is not None or w.region.slot in reads
        ]

    def take_hasty(self) -> None:
        """Take everything that no gate can hold."""
        while (step := self.hasty()) is not None:
            self.take(step)


def turn_of(machine: Machine, state: State, step: Transition) -> Turn:
    """A transition as a turn."""
    if step[0] == "op":
        op = machine.ops[step[1]]
        node, _phase, number = identity(machine, op)
        assert node.call is not None
        return Turn(OP, node.thread, node.depth, number, None, node.call[0], held(op))
    node, rest, _awaited = state[0][step[1]]
    return Turn(REST if rest else CALL, step[1], node.depth, 0, step[2], node.call[0])


def identity(machine: Machine, op: Operation) -> tuple[Node, int, int]:
    """The call, phase and number of an operation."""
    return machine.effects.identity_of(op)


def in_order(host: Host, contract: Contract, moments: list[Moment]) -> Replayer:
    """Moments carried out by the machine, what no gate can hold as soon as possible."""

    def attempt() -> Replayer:
        walk = Replayer(Machine(host, contract))
        for moment in moments:
            walk.take_hasty()
            step = transition(walk.machine, moment)
            if moment.on_host or step[1] in walk.machine.ready(walk.state):
                if not possible(walk.machine, walk.state, step):
                    break
                walk.take(step)
        walk.take_hasty()
        return walk

    return from_the_start(attempt)


def scripts(
    entry: Protocol, contract: Contract, steps: int | None = None, **parameters: Any
) -> list[Script]:
    """A script for every missing edge of a protocol that some read can tell."""
    question = Question(
        entry, entry.bind(parameters), {**entry.parameters, **parameters}, "order", Limits()
    )
    _size, decisions = decided(question, contract, steps)
    found: list[Script] = []
    for reading, decision in decisions:
        if decision.host is None or decision.spins:
            continue
        recordings = [record(decision.host, reading, schedule) for schedule in decision.bad]
        found += [script_of(reading, edge, recording) for edge, recording in edges_of(recordings)]
        found += [script for recording in recordings for script in in_any_order(recording)][:1]
    return found


def in_any_order(recording: Recording) -> list[Script]:
    """Reads that are wrong in every interleaving: there is nothing to force. Nothing tells a write
    to freed memory.
    """
    wrong = [w for w in certain(recording) if any(r.slot == w[1].slot for r, _e in w[0].reads)][:1]
    return [
        Script((), (Expected(key_of(m), repr(r), e, f),), None, site(m), "wrong in order")
        for m, r, e, f in wrong
    ]


def key_of(moment: Moment) -> tuple[int, int, int]:
    """An access's identity in a run."""
    return moment.node.thread, moment.node.depth, moment.number or 0


def script_of(contract: Contract, edge: Edge, recording: Recording) -> Script:
    """The script of a missing edge: its down-set, the two accesses, and all the rest."""
    first, second, _region, _size = edge.pair
    needed = recording.closed(down_set(first, second))
    before = linear(recording, contract, needed)
    bad = worst_order(recording, before, first, second)
    done = {moment.index for moment in [*before, first, second]}
    after = [moment for moment in recording.moments if moment.index not in done]
    order = [*before, *bad.order, *after]
    walk = in_order(recording.host, contract, order)
    kind = "race" if bad.sight is None else "wrong version"
    late = bad.sight is not None and not walk.expected
    return Script(tuple(walk.turns), tuple(walk.expected), site(first), site(second), kind, late)
