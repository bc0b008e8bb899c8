"""Breadth-first walk of the machine: exact state counts, shortest counterexamples, deadlocks."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, Any

from .again import from_the_start
from .errors import BudgetSpent
from .machine import Machine

if TYPE_CHECKING:
    import networkx as nx

    from .contract import Contract
    from .host import Host
    from .machine import Access, State, Transition, Wrong

Edge = tuple["State", "Transition"]


class Exploration:
    """What a walk found.

    - `states` and `transitions` count what was visited; `complete` says whether that was all;
    - `hazards` holds a (state, access, access) for each hazard met, `wrongs` a (state, transition,
      wrong read), `deadlocks` the states in which nothing can happen though not all is finished,
      in the order met, so that the first of each is a shortest one;
    - `outcomes` are the memories of finished states, as dicts from regions to versions.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.parents: dict[State, Edge | None] = {}
        self.transitions = 0
        self.complete = False
        self.hazards: list[tuple[State, Access, Access]] = []
        self.wrongs: list[tuple[State, Transition, Wrong]] = []
        self.deadlocks: list[State] = []
        self.finals: set[int] = set()
        self.together: set[tuple[Any, int, int]] = set()

    @property
    def states(self) -> int:
        """How many states were visited."""
        return len(self.parents)

    @property
    def holds(self) -> bool:
        """Whether the whole walk met no hazard, no wrong version and no deadlock."""
        return self.complete and not (self.hazards or self.wrongs or self.deadlocks)

    @property
    def outcomes(self) -> list[dict[str, Any]]:
        """The memories in which the program can end, by region name, host memory and all."""
        regions = self.machine.host.gpu.regions
        return [
            {
                repr(regions[slot]): version
                for slot, version in sorted(memory.items())
                if 0 <= slot < len(regions)
            }
            for memory in (self.machine.memories[number] for number in sorted(self.finals))
        ]

    def path(self, state: State) -> list[Transition]:
        """The transitions that lead to a state, one of the shortest ways."""
        steps: list[Transition] = []
        edge = self.parents[state]
        while edge is not None:
            steps.append(edge[1])
            edge = self.parents[edge[0]]
        return steps[::-1]

    def graph(self) -> nx.DiGraph[Any]:
        """The states reached, as a graph whose edges carry the transition that was first taken."""
        import networkx as nx

        graph: nx.DiGraph[Any] = nx.DiGraph()
        graph.add_nodes_from(self.parents)
        for state, edge in self.parents.items():
            if edge is not None:
                graph.add_edge(edge[0], state, transition=edge[1])
        return graph


def explore(
    host: Host,
    contract: Contract,
    uncertain: tuple[str, ...] = (),
    *,
    first_only: bool = False,
    max_states: int = 2_000_000,
    deadline: float | None = None,
) -> Exploration:
    """Visit every state of a program breadth-first.

    `first_only` stops at the first thing that is wrong. Raises `BudgetSpent` past `max_states`
    or after `deadline` (on `time.monotonic`).
    """
    return from_the_start(
        lambda: _walk(Machine(host, contract, uncertain), first_only, max_states, deadline)
    )


def _walk(
    machine: Machine, first_only: bool, max_states: int, deadline: float | None
) -> Exploration:
    # States are in no cycles: looking for some among ever more of them takes a fifth of the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _breadth_first(machine, first_only, max_states, deadline)
    finally:
        if collecting:
            gc.enable()


def _breadth_first(
    machine: Machine, first_only: bool, max_states: int, deadline: float | None
) -> Exploration:
    found = Exploration(machine)
    start = machine.initial()
    found.parents[start] = None
    frontier = [start]
    while frontier:
        following: list[State] = []
        for state in frontier:
            _visit(machine, found, state, following)
            if first_only and (found.hazards or found.wrongs or found.deadlocks):
                return found
        if len(found.parents) > max_states or (deadline and time.monotonic() > deadline):
            raise BudgetSpent(f"{len(found.parents)} states visited and more to come")
        frontier = following
    found.complete = True
    return found


def _visit(machine: Machine, found: Exploration, state: State, following: list[State]) -> None:
    parents = found.parents
    able = machine.enabled(state)
    if machine.conflicting(state, able):
        found.hazards += [(state, *pair) for pair in machine.hazards(state)]
    found.transitions += len(able)
    for transition in able:
        after, wrong = machine.apply(state, transition)
        if wrong:
            found.wrongs += [(state, transition, each) for each in wrong]
        if after not in parents:
            parents[after] = (state, transition)
            following.append(after)
    if not able:
        if machine.finished(state):
            found.finals.add(state[4])
        else:
            found.deadlocks.append(state)
