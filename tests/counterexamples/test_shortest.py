"""No counterexample is longer than it must be: each is compared with a walk of every state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamorder.model.explore import explore

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import MissingEdge
    from streamorder.model.host import Node
    from streamorder.model.machine import Access, State, Transition


class Walk:
    """Every state of a refuted protocol with the number of events that it takes to get there."""

    def __init__(self, traced: Any) -> None:
        self.traced = traced
        self.found = explore(traced.host, traced.contract)
        self.machine = self.found.machine
        self.ordered = not traced.host.gpu.threads_used
        self.depth: dict[State, int] = {}
        for state, edge in self.found.parents.items():
            self.depth[state] = 0 if edge is None else self.depth[edge[0]] + 1

    def node(self, state: State, transition: Transition) -> Node:
        """The call that a transition belongs to."""
        if transition[0] == "op":
            return self.machine.ops[transition[1]].node
        return state[0][transition[1]][0]

    def lines(self, state: State, *pair: Access) -> Any:
        """The lines of two accesses: with one host thread in the order in which it comes to them,
        operations as they were issued and then what the host itself does next.
        """
        known = [
            (access.transition[0] == "host", access.transition[1], access.transition)
            for access in pair
        ]
        nodes = [self.node(state, transition) for _host, _number, transition in sorted(known)]
        where = tuple(node.where for node in nodes)
        return where if self.ordered else frozenset(where)

    def until_they_meet(self, edge: MissingEdge) -> int:
        """The fewest events after which accesses on an edge's two lines are both possible."""
        role = {event.role: event.where for event in edge.counterexample[-2:]}
        where = role["first"], role["second"]
        wanted = where if self.ordered else frozenset(where)
        return min(
            self.depth[state]
            for state, *pair in self.found.hazards
            if self.lines(state, *pair) == wanted
        )

    def until_it_is_wrong(self, edge: MissingEdge) -> int:
        """The fewest events with which a read on an edge's second line finds a wrong version."""
        return min(
            self.depth[state] + 1
            for state, transition, _wrong in self.found.wrongs
            if self.node(state, transition).where == edge.second.where
        )

    def until_nothing_can_happen(self) -> int:
        """The fewest events that lead to where nothing can go on."""
        return min(self.depth[state] for state in self.found.deadlocks)

    def until_the_last_is_done(self) -> int:
        """The fewest events with which the last operation of the counterexample is done."""
        wanted = self.traced.keys[-1][1]
        return min(
            self.depth[state] + 1
            for state in self.found.parents
            for index in self.machine.ready(state)
            if self.traced.origin(self.machine, index) == wanted
        )


def test_no_counterexample_could_be_shorter(refuted: Any, retrace: Callable[..., Any]) -> None:
    """For each finding: exactly as many events as the shortest way to the same in the machine."""
    verdict = refuted.verdict
    for edge in verdict.missing_edges:
        walk = Walk(retrace(refuted, verdict, edge))
        if edge.kind == "deadlock":
            shortest = walk.until_nothing_can_happen()
        elif edge.kind == "overlap lost":
            shortest = walk.until_the_last_is_done()
        elif edge.ordered:
            shortest = walk.until_it_is_wrong(edge)
        else:
            shortest = walk.until_they_meet(edge)
        assert len(edge.schedule) == shortest, edge.sentence
