"""Scripts for the outcomes of a litmus program: one interleaving that ends in each.

Operations are atomic here, so torn outcomes have no script: they are met, not forced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.again import from_the_start
from ..model.errors import BudgetSpent
from ..model.host import Host
from ..model.machine import Machine
from ..model.memory import PAGEABLE
from ..model.objects import Stream
from ..model.refined import is_named
from .litmus_model import in_words
from .script import Replayer, Script, held, turn_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..model.calls import Call
    from ..model.contract import Contract
    from ..model.gpu import Gpu
    from ..model.machine import State, Transition

MOST_STATES = 100_000


def outcome_scripts(
    body: Callable[[Gpu], None], contract: Contract, observe: Iterable[str]
) -> dict[str, Script]:
    """A script for each outcome that gates can force, the shortest found.

    Where the contract leaves a promise open, both readings are looked at. Raises what the model
    raises for a program that it refuses, and `BudgetSpent` past `MOST_STATES` states.
    """
    names = tuple(observe)
    found: dict[str, Script] = {}
    for reading in contract.readings(contract.uncertain):
        for way in reading.ways():
            host = Host(body, 1)
            for outcome, script in from_the_start(
                lambda h=host, c=way: walk(Machine(h, c), names)
            ).items():
                found.setdefault(outcome, script)
            if not host.gpu.cells_used:
                break
    return found


def walk(machine: Machine, names: tuple[str, ...]) -> dict[str, Script]:
    """Breadth-first through all states that gates can bring about."""
    start = machine.initial()
    parents: dict[State, tuple[State, Transition] | None] = {start: None}
    waiting = [start]
    found: dict[str, Script] = {}
    for state in waiting:
        able = possible(machine, state)
        if not able:
            outcome = ending(machine, state, names)
            if outcome not in found:
                found[outcome] = replayed(machine, path(parents, state))
        for step in able:
            after, _wrong = machine.apply(state, step)
            if after not in parents:
                parents[after] = state, step
                waiting.append(after)
        if len(parents) > MOST_STATES:
            raise BudgetSpent(f"more than {MOST_STATES} states")
    return found


def possible(machine: Machine, state: State) -> list[Transition]:
    """What can come next; what no gate can hold comes first."""
    for index in machine.ready(state):
        if not held(machine.ops[index]):
            return [("op", index)]
    return machine.enabled(state)


def ending(machine: Machine, state: State, names: tuple[str, ...]) -> str:
    """The outcome of a last state."""
    if not machine.finished(state):
        return "hang"
    holds = machine.memories[state[4]]
    regions = [(repr(region), region.slot) for region in machine.host.gpu.regions]
    return in_words(
        tuple((name, holds.get(slot, 0)) for name, slot in regions if is_named(name, names))
    )


def path(parents: dict[State, Any], state: State) -> list[Transition]:
    """The transitions that lead to a state."""
    steps = []
    while (parent := parents[state]) is not None:
        state, step = parent
        steps.append(step)
    return steps[::-1]


def replayed(machine: Machine, steps: list[Transition]) -> Script:
    """Transitions as a script."""
    again = Replayer(machine)
    for step in steps:
        again.take(step)
    return Script(tuple(again.turns), tuple(again.expected))


class Facts(NamedTuple):
    """What is known of a program before it runs.

    - `verbs` that it uses on one way through; `early` if a kernel starts early, `event nodes` if
      nodes of a graph record or await events;
    - `ahead` maps the depth of a blocking copy from pageable memory on the main thread to the
      launches right after it that are the first work of their streams.
    """

    verbs: frozenset[str]
    ahead: dict[int, list[tuple[int, Call]]]


def facts(body: Callable[[Gpu], None], contract: Contract, steps: int) -> Facts:
    """Look at one way through a program."""
    host = Host(body, steps)

    def attempt() -> Facts:
        machine = Machine(host, contract.readings()[0])
        state, used, calls = machine.initial(), set(), {}
        while able := machine.enabled(state):
            step = able[-1]
            turn = turn_of(machine, state, step)
            used.add(turn.verb)
            if step[0] == "host":
                call = state[0][step[1]][0].call
                used |= {"event nodes"} if call[0] in {"record", "wait"} and call[3] else set()
                if not turn.thread:
                    calls[turn.depth] = call
            state, _wrong = machine.apply(state, step)
        if machine.host.gpu.early_used:
            used.add("early")
        return Facts(frozenset(used), launched_next(calls))

    return from_the_start(attempt)


def launched_next(calls: dict[int, Call]) -> dict[int, list[tuple[int, Call]]]:
    """After each blocking copy from pageable memory, the launches on streams not used before."""
    found: dict[int, list[tuple[int, Call]]] = {}
    used: set[Any] = set()
    for depth, call in sorted(calls.items()):
        if call[0] == "memcpy" and call[1].src == PAGEABLE:
            found[depth] = first_launches(calls, depth, used)
        used |= {part for part in call[1:] if isinstance(part, Stream)}
    return found


def first_launches(calls: dict[int, Call], depth: int, used: set[Any]) -> list[tuple[int, Call]]:
    """The launch right after a call, if it is the first work of a non-blocking stream."""
    call = calls.get(depth + 1)
    if call is None or call[0] != "launch" or call[1].blocking or call[1] in used:
        return []
    return [(depth + 1, call)]
