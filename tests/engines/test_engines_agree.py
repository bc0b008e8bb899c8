"""The order engine and the machine: one verdict, and counterexamples of one length."""

from __future__ import annotations

import pytest

from streamorder import Outcome, Verdict, catalogue, check
from streamorder.model.contract import contract_named
from streamorder.model.explore import explore
from streamorder.model.host import Host

ROWS = [
    pytest.param(name, contract, id=f"{name}-{contract}")
    for name, entry in catalogue().items()
    for contract in entry.expects
]
SIZES = [{"steps": 3}, {"steps": 4, "layers": 2}]


def both(name: str, contract: str, **size: int) -> tuple[Verdict, Verdict]:
    """The verdicts of both engines; skips, visibly, what is too large for the machine."""
    by_order, by_machine = (
        check(catalogue()[name], contract, engine=engine, **size)  # type: ignore[arg-type]
        for engine in ("order", "machine")
    )
    if by_machine.reason and "more to come" in by_machine.reason:
        pytest.skip(f"too large for the machine: {by_machine.reason}")
    return by_order, by_machine


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(("name", "contract"), ROWS)
def test_same_verdict(name: str, contract: str, size: dict[str, int]) -> None:
    """Verdict, reason, warnings and bounds are the same; only what was counted differs."""
    by_order, by_machine = both(name, contract, **size)
    assert by_order.outcome is by_machine.outcome
    assert by_order.as_expected is by_machine.as_expected is True
    assert by_order.reason == by_machine.reason
    assert by_order.warnings == by_machine.warnings
    assert by_order.bounds == by_machine.bounds
    assert (by_order.states, by_machine.executions) == (0, 0)
    assert by_order.executions
    assert by_machine.states


@pytest.mark.parametrize(("name", "contract"), ROWS)
def test_the_shortest_counterexample(name: str, contract: str) -> None:
    """The machine, breadth-first, needs exactly as many events as the smallest down-set has."""
    by_order = check(catalogue()[name], contract)
    host = Host(catalogue()[name].bind({}), by_order.steps)
    walk = explore(host, contract_named(contract).readings()[0])
    if by_order.outcome is not Outcome.REFUTED:
        assert not by_order.missing_edges
        assert walk.holds or by_order.outcome is Outcome.UNDETERMINED
        return
    assert walk.hazards
    shortest = min(len(walk.path(state)) for state, _first, _second in walk.hazards)
    assert min(len(edge.schedule) for edge in by_order.missing_edges) == shortest
    assert len(walk.path(walk.hazards[0][0])) == shortest


@pytest.mark.parametrize(("name", "contract"), ROWS)
def test_hazards_of_the_machine_are_the_missing_edges(name: str, contract: str) -> None:
    """The pairs of lines at which two accesses meet are those that the order engine reports."""
    by_order = check(catalogue()[name], contract, steps=3)
    if by_order.outcome is not Outcome.REFUTED:
        assert not by_order.missing_edges
        return
    reported = {frozenset((edge.first.where, edge.second.where)) for edge in by_order.missing_edges}
    walk = explore(Host(catalogue()[name].bind({}), 3), contract_named(contract).readings()[0])
    met = set()
    for state, *pair in walk.hazards:
        nodes = [
            walk.machine.ops[access.transition[1]].node
            if access.transition[0] == "op"
            else state[0][access.transition[1]][0]
            for access in pair
        ]
        met.add(frozenset(node.where for node in nodes))
    assert met == reported
