"""Replay in the machine: no counterexample is shown that the specification refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .again import from_the_start
from .machine import Machine

if TYPE_CHECKING:
    from .contract import Contract
    from .host import Host
    from .machine import State
    from .recorder import Moment

PLAIN = (int, str, type(None))


class EnginesDisagree(AssertionError):
    """The machine refuses what the order engine found: a defect of Streamorder, to be reported."""


def transition(machine: Machine, moment: Moment) -> tuple[Any, ...]:
    """The machine's transition that carries out a moment."""
    if moment.on_host:
        return "host", -1 - moment.lane, moment.result
    return "op", machine.effects.index_of(moment.node, moment.phase, moment.number)


def replay(
    host: Host, contract: Contract, moments: list[Moment], pair: tuple[Moment, Moment] | None = None
) -> tuple[tuple[Any, ...], ...]:
    """Carry out moments one by one in the machine.

    With a pair, both of them must then be possible and in conflict. Returns the transitions, as
    plain data that can be replayed. Raises `EnginesDisagree` where the machine refuses.
    """
    return from_the_start(lambda: _replay(Machine(host, contract), moments, pair))


def _replay(
    machine: Machine, moments: list[Moment], pair: tuple[Moment, Moment] | None
) -> tuple[tuple[Any, ...], ...]:
    state = machine.initial()
    taken = []
    for moment in moments:
        step = transition(machine, moment)
        if not possible(machine, state, step):
            raise EnginesDisagree(f"{moment.node.call} of {moment.node.where} is not possible")
        state = machine.apply(state, step)[0]
        taken.append(tuple(part if isinstance(part, PLAIN) else repr(part) for part in step))
    if pair is not None:
        wanted = {transition(machine, moment)[:2] for moment in pair}
        met = [
            {first.transition[:2], second.transition[:2]}
            for first, second in machine.hazards(state)
        ]
        if wanted not in met:
            raise EnginesDisagree(f"{pair[0].node.where} and {pair[1].node.where} do not meet")
    return tuple(taken)


def possible(machine: Machine, state: State, step: tuple[Any, ...]) -> bool:
    """Whether a transition can be taken in a state."""
    if step[0] == "op":
        return step[1] in machine.ready(state)
    thread = step[1]
    started = thread < len(state[0]) and state[0][thread] is not None
    return started and step[2] in machine.results(state, thread)
