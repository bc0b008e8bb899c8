"""Counterexamples from the machine's own path, where clocks cannot tell what a wait has seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .trace import Event, described
from .verdict import MissingEdge, Site

if TYPE_CHECKING:
    from .explore import Exploration
    from .host import Node
    from .machine import Machine, State, Transition


def hang(walk: Exploration) -> MissingEdge:
    """How the machine came to a state in which nothing can go on, and who waits there."""
    machine, state = walk.machine, walk.deadlocks[0]
    path = walk.path(state)
    stuck = [point[0] for point in state[0] if point is not None and point[0].call is not None]
    nodes = [*stuck, *(machine.ops[index].node for index in machine.unhindered(state))]
    sites = [site(node) for node in nodes if node.call is not None]
    said = "; ".join(f"{one.call} ({one.where})" for one in sites)
    return shown(
        "deadlock", sites, None, f"nothing can go on: these wait for ever: {said}", machine, path
    )


def hazard(walk: Exploration) -> MissingEdge:
    """The first race or wrong version that the machine came to."""
    machine = walk.machine
    if walk.hazards:
        state, *accesses = walk.hazards[0]
        sites = [site(node_of(machine, state, access.transition)) for access in accesses]
        region = repr(accesses[0].region)
        said = f"nothing orders {placed(sites[0])} and {placed(sites[1])}: both access {region}"
        return shown("race", sites, region, said, machine, walk.path(state))
    state, transition, wrong = walk.wrongs[0]
    sites = [site(node_of(machine, state, transition))]
    region = repr(wrong.region)
    said = f"{placed(sites[0])} can find {wrong.found!r} in {region}, expects {wrong.expected!r}"
    path = [*walk.path(state), transition]
    return shown("wrong version", sites, region, said, machine, path)


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


def shown(
    kind: str, sites: list[Site], region: str | None, said: str, machine: Machine, path: list[Any]
) -> MissingEdge:
    """A finding with the machine's path to it."""
    state, events = machine.initial(), []
    for number, step in enumerate(path, 1):
        events.append(step_event(machine, state, step, number))
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
    )


def step_event(machine: Machine, state: State, step: Transition, number: int) -> Event:
    """A transition of the machine as an event."""
    gpu = machine.host.gpu
    if step[0] == "host":
        node = state[0][step[1]][0]
        lane, label = gpu.threads[step[1]].name, described(node.call)
    else:
        op = machine.ops[step[1]]
        node, lane = op.node, op.stream.name
        label = described(node.call) + (" begins" if step[0] == "start" else "")
    on_host = step[0] == "host"
    verb = "call" if on_host else "run"
    return Event(number, lane, on_host, verb, label, node.step, (), node.where)
