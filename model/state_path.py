"""Counterexamples from the machine's own path, where clocks cannot tell what a wait has seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .machine import held, thawed
from .memory import UNWRITTEN
from .trace import Event, Lanes, Touch, described
from .verdict import MissingEdge, Site
from .waits_for import cycle, stuck_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .contract import Contract
    from .explore import Exploration
    from .host import Node
    from .machine import Machine, State, Transition


def hang(walk: Exploration, contract: Contract) -> MissingEdge:
    """How the machine came to a state in which nothing can go on, and who waits there."""
    machine, state = walk.machine, walk.deadlocks[0]
    path = walk.path(state)
    stuck = [point[0] for point in state[0] if point is not None and point[0].call is not None]
    nodes = [*stuck, *(machine.ops[index].node for index in machine.unhindered(state))]
    sites = [site(node) for node in nodes if node.call is not None]
    said = "; ".join(f"{one.call} ({one.where})" for one in sites)
    found = shown(
        "deadlock", sites, None, f"nothing can go on: these wait for ever: {said}", machine, path
    )
    return found._replace(cycle=cycle(stuck_state(walk), contract))


def hazard(walk: Exploration) -> MissingEdge:
    """The first race or wrong version that the machine came to."""
    machine = walk.machine
    if walk.hazards:
        state, *accesses = walk.hazards[0]
        sites = [site(node_of(machine, state, access.transition)) for access in accesses]
        region = repr(accesses[0].region)
        said = f"nothing orders {placed(sites[0])} and {placed(sites[1])}: both access {region}"
        last = [whole(machine, state, access.transition) for access in accesses]
        return shown("race", sites, region, said, machine, walk.path(state), last)
    state, transition, wrong = walk.wrongs[0]
    sites = [site(node_of(machine, state, transition))]
    region = repr(wrong.region)
    said = f"{placed(sites[0])} can find {wrong.found!r} in {region}, expects {wrong.expected!r}"
    path = walk.path(state)
    found = shown("wrong version", sites, region, said, machine, path, [transition])
    return found._replace(schedule=(*path, transition))


def placed(one: Site) -> str:
    """A call with its source line."""
    return f"{one.call} ({one.where})"


def site(node: Node) -> Site:
    """A call and where it stands."""
    assert node.call is not None
    return Site(node.where, described(node.call))


def node_of(machine: Machine, state: State, transition: Transition) -> Node:
    """The call that a transition belongs to."""
    if transition[0] == "host":
        return state[0][transition[1]][0]
    return machine.ops[transition[1]].node


def whole(machine: Machine, state: State, transition: Transition) -> Transition:
    """A transition with a result, which an access does not name."""
    if transition[0] == "op":
        return transition
    return (*transition[:2], machine.results(state, transition[1])[0])


def shown(
    kind: str,
    sites: list[Site],
    region: str | None,
    said: str,
    machine: Machine,
    path: list[Any],
    last: Sequence[Transition] = (),
) -> MissingEdge:
    """A finding with the machine's path to it, and the accesses that it is about, marked."""
    state, events, lanes = machine.initial(), [], Lanes()
    roles = ("first", "second")[-len(last) :] if last else ()
    for number, step in enumerate([*path, *last], 1):
        role = roles[number - len(path) - 1] if number > len(path) else None
        events.append(step_event(machine, lanes, state, step, number)._replace(role=role))
        state = machine.apply(state, step)[0]
    return MissingEdge(
        kind=kind,
        first=sites[0],
        second=sites[-1],
        region=region,
        regions=() if region is None else (region,),
        ordered=False,
        sentence=said,
        consequence=None,
        counterexample=tuple(events),
        schedule=tuple(path),
        marks=(len(path) + 1, len(path) + 2) if len(last) == 2 else None,
    )


def step_event(
    machine: Machine, lanes: Lanes, state: State, step: Transition, number: int
) -> Event:
    """A transition of the machine as an event."""
    gpu = machine.host.gpu
    if step[0] == "host":
        node = state[0][step[1]][0]
        lane, label = lanes.name(gpu.threads[step[1]]), described(node.call)
    else:
        op = machine.ops[step[1]]
        node, lane = op.node, lanes.name(op.stream)
        label = described(node.call) + (" begins" if step[0] == "start" else "")
    on_host = step[0] == "host"
    verb = "call" if on_host else "run"
    touches = () if step[0] == "start" else touched(machine, state, step)
    return Event(number, lane, on_host, verb, label, node.step, touches, node.where)


def touched(machine: Machine, state: State, step: Transition) -> tuple[Touch, ...]:
    """The accesses of a transition, with the versions that they find and leave."""
    holds = dict(machine.memories[state[4]])
    if step[0] == "host":
        node, rest, _awaited = state[0][step[1]]
        what = machine.effects.of(node, rest, state[3], step[2], thawed(state[5]))
        staged = [(value.region, None) for value in what.staged]
    else:
        what, staged = machine.ops[step[1]], []
    reads = [
        Touch(repr(r), False, repr(holds.get(r.slot, UNWRITTEN)), said(expected), r.slot)
        for r, expected in (*what.reads, *staged)
    ]
    return (
        *reads,
        *(Touch(repr(r), True, repr(held(v, holds)), memory=r.slot) for r, v in what.writes),
    )


def said(expected: object) -> str | None:
    """An expected version in words; None for none."""
    return None if expected is None else repr(expected)
