"""The order engine and the machine find the same in every entry of the catalogue.

Findings are compared over all states on one side and all host schedules on the other: the memory
and the lines of every two accesses that meet, every wrong version that is read, every hang.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from streamorder import MissingEdge, Outcome, Verdict, catalogue, check
from streamorder.model.contract import contract_named

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = [
    pytest.param(name, contract, id=f"{name}-{contract}")
    for name, entry in catalogue().items()
    for contract in entry.expects
]
RACES = ("race", "wrong version")
NOT_CONCURRENT = "the machine does not decide concurrent(): use the engine order"

BY_STATES = {"corpus/C20-signal-words/null-memset"}
"""Where who sees which signal depends on more than order: the order engine asks the machine."""

BRANCHING = "every choice and host schedule"


@cache
def decided(name: str, contract: str, engine: str, steps: int | None, layers: int = 1) -> Verdict:
    """A verdict; `layers` for entries that have any."""
    entry = catalogue()[name]
    more: dict[str, Any] = {"layers": layers} if "layers" in entry.parameters else {}
    return check(entry, contract, engine=engine, steps=steps, **more)


def races(verdict: Verdict) -> list[MissingEdge]:
    """Two accesses that nothing orders."""
    return [edge for edge in verdict.missing_edges if edge.kind in RACES and not edge.ordered]


def in_order(verdict: Verdict) -> list[MissingEdge]:
    """Versions that are wrong though everything is in order."""
    return [edge for edge in verdict.missing_edges if edge.kind in RACES and edge.ordered]


def of_kind(verdict: Verdict, kind: str) -> list[MissingEdge]:
    """The findings of one kind."""
    return [edge for edge in verdict.missing_edges if edge.kind == kind]


def lines(edge: MissingEdge) -> frozenset[Any]:
    """The two source lines of a finding."""
    return frozenset((edge.first.where, edge.second.where))


def is_single(verdict: Verdict) -> bool:
    """Whether the bounds name neither choices nor threads."""
    return not any("choice" in bound or "threads" in bound for bound in verdict.bounds)


@pytest.mark.parametrize(("steps", "layers"), [(3, 1), (4, 2)])
@pytest.mark.parametrize(("name", "contract"), ROWS)
def test_same_verdict(name: str, contract: str, steps: int, layers: int) -> None:
    """Verdict, reason, warnings and bounds are the same; only what was counted differs."""
    by_order = decided(name, contract, "order", steps, layers)
    by_machine = decided(name, contract, "machine", steps, layers)
    assert by_order.as_expected is True
    assert by_machine.states
    assert by_machine.executions == 0
    assert (by_order.states > 0) == (name in BY_STATES)
    assert (by_order.executions > 0) == (name not in BY_STATES)
    if by_machine.reason == NOT_CONCURRENT:
        # Everything else is decided: the order engine finds lost overlap or nothing at all.
        assert by_machine.outcome is Outcome.UNDETERMINED
        assert {edge.kind for edge in by_order.missing_edges} <= {"overlap lost"}
        return
    assert by_order.outcome is by_machine.outcome
    assert by_order.reason == by_machine.reason
    if by_order.warnings != by_machine.warnings:
        # How many steps lost overlap takes, the machine cannot say.
        (note,) = set(by_order.warnings) ^ set(by_machine.warnings)
        assert note.startswith("below the size where it shows")
        assert of_kind(decided(name, contract, "order", None), "overlap lost")
    else:
        assert by_machine.as_expected is True
    assert [b for b in by_order.bounds if b != BRANCHING] == [
        b for b in by_machine.bounds if b != BRANCHING
    ]


@pytest.mark.parametrize("steps", [3, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "contract"), ROWS)
def test_same_findings(
    name: str,
    contract: str,
    steps: int,
    walked: Callable[..., Any],
    order_facts: Callable[..., Any],
) -> None:
    """Every race, wrong version and hang that one finds the other finds, on the same lines.

    Where accesses race, the machine also sees the versions that only a race lets through.
    """
    by_machine = walked(name, contract, steps).facts
    weakest = contract_named(contract).readings()[0]
    by_order = order_facts(catalogue()[name].bind({}), steps, weakest)
    assert (by_order is None) == (name in BY_STATES)
    if by_order is None:
        return
    assert by_order.races == by_machine.races
    assert by_order.deadlock == by_machine.deadlock
    if by_machine.races:
        assert by_order.wrongs <= by_machine.wrongs
    else:
        assert by_order.wrongs == by_machine.wrongs


@pytest.mark.parametrize(("name", "contract"), ROWS)
def test_findings_of_the_machine_are_reported(
    name: str, contract: str, walked: Callable[..., Any]
) -> None:
    """The lines at which two accesses meet in some state are those that the report names, a wrong
    version in order is one that some state shows, and a hang is reported where a state has one.
    """
    verdict = decided(name, contract, "order", 3)
    found = walked(name, contract, 3).facts
    if verdict.outcome is not Outcome.REFUTED:
        assert not verdict.missing_edges
        return
    assert {lines(edge) for edge in races(verdict)} == {pair for _slot, pair in found.races}
    assert {edge.second.where for edge in in_order(verdict)} <= {
        line for _slot, _version, line in found.wrongs
    }
    if found.wrongs and not found.races:
        assert in_order(verdict)
    assert bool(of_kind(verdict, "deadlock")) == found.deadlock


@pytest.mark.parametrize(("name", "contract"), ROWS)
def test_the_shortest_counterexample(name: str, contract: str, walked: Callable[..., Any]) -> None:
    """The machine, breadth-first, needs exactly as many events as the smallest down-set has."""
    verdict = decided(name, contract, "order", None)
    every = walked(name, contract, verdict.steps)
    if verdict.outcome is not Outcome.REFUTED:
        assert not verdict.missing_edges
        assert every.walk.holds or verdict.outcome is Outcome.UNDETERMINED
        return
    if races(verdict):
        shortest = min(after for _slot, _lines, after in every.meetings())
        assert min(len(edge.schedule) for edge in races(verdict)) == shortest
        assert len(every.walk.path(every.walk.hazards[0][0])) == shortest
    for edge in in_order(verdict):
        where = edge.second.where
        assert len(edge.schedule) == min(
            after for _slot, _version, line, after in every.misreads() if line == where
        )
    for edge in of_kind(verdict, "deadlock"):
        shortest = min(every.depth[state] for state in every.walk.deadlocks)
        assert len(edge.schedule) == shortest == len(every.walk.path(every.walk.deadlocks[0]))
    if of_kind(verdict, "overlap lost"):
        assert every.walk.holds


@pytest.mark.parametrize(("name", "contract"), ROWS)
def test_the_machines_own_counterexample(name: str, contract: str) -> None:
    """It stops at the first thing that is wrong; that is one of the order engine's findings."""
    by_order = decided(name, contract, "order", 3)
    by_machine = decided(name, contract, "machine", 3)
    if by_machine.outcome is not Outcome.REFUTED:
        assert not by_machine.missing_edges
        return
    assert by_machine.missing_edges
    kinds = [(edge.kind, edge.ordered, lines(edge)) for edge in by_order.missing_edges]
    assert [
        (edge.kind, edge.ordered, lines(edge))
        for edge in by_machine.missing_edges
        if (edge.kind, edge.ordered, lines(edge)) not in kinds
    ] == []


@pytest.mark.parametrize(
    "name", ["corpus/C66-early-launch/each-waits", "corpus/C20-signal-words/awaited-memset"]
)
def test_one_host_schedule_is_not_every_choice(name: str) -> None:
    """The bounds name choices and host schedules only where there are some, as the machine's do."""
    assert is_single(decided(name, "cuda", "machine", 3))
    assert is_single(decided(name, "cuda", "order", 3))


def test_the_machine_counts_no_host_waits() -> None:
    """A figure that was not counted is absent, not 0."""
    by_order, by_machine = (
        decided("fp8-prefill/staged", "cuda", engine, 4) for engine in ("order", "machine")
    )
    assert (by_order.waits, by_machine.waits) == (1, None)
