"""Hand-written bad protocols: each is refuted through exactly the lines that it marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamorder import Outcome, check

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import MissingEdge

KINDS = {
    "unread_writes": "race",
    "two_threads": "race",
    "lock_order": "deadlock",
    "full_queue": "deadlock",
    "lock_never_released": "deadlock",
    "overlap_lost": "overlap lost",
}
"""All other programs let something read a wrong version."""

IN_ORDER = {"other_buffer", "never_written", "overlap_lost"}
"""Programs whose two accesses are ordered."""


def lines(edge: MissingEdge) -> tuple[int, int]:
    """The lines of both sites; 0 for one that stands for nothing."""
    first, second = edge.first.where, edge.second.where
    return first.line if first else 0, second.line if second else 0


def test_exactly_the_marked_lines(
    program: Any, marked_lines: Callable[[Any], set[tuple[int, int]]]
) -> None:
    """Every missing edge that a program marks is reported, and no other, each once."""
    verdict = program.verdict
    assert verdict.outcome is Outcome.REFUTED
    found = [lines(edge) for edge in verdict.missing_edges]
    assert len(found) == len(set(found))
    assert set(found) == marked_lines(program.target)


def test_kinds(program: Any) -> None:
    """The kind says what can go wrong, and `ordered` whether an order is what is missing."""
    name = program.target.body.__name__
    for edge in program.verdict.missing_edges:
        assert edge.kind == KINDS.get(name, "wrong version")
        assert edge.ordered == (name in IN_ORDER)
        assert (edge.consequence is not None) == (edge.kind == "wrong version")


def test_both_engines_refute(refuted: Any) -> None:
    """The machine finds a marked line as well (it stops at the first thing that is wrong).

    Where nothing is wrong but overlap that is lost, it says that it does not decide that.
    """
    by_machine = check(refuted.target, refuted.contract, engine="machine")
    if refuted.only_overlap:
        assert by_machine.outcome is Outcome.UNDETERMINED
        assert "does not decide concurrent" in (by_machine.reason or "")
        return
    found = {lines(edge) for edge in refuted.verdict.missing_edges}
    assert by_machine.outcome is Outcome.REFUTED
    assert by_machine.missing_edges
    assert {lines(edge) for edge in by_machine.missing_edges} <= found


def test_the_other_contract_does_not_share_the_mistake(one_sided: Any) -> None:
    """What is named after a contract holds under the other one."""
    other = {"cuda": "hip", "hip": "cuda"}[one_sided.contract]
    assert check(one_sided.target, other).outcome is Outcome.HOLDS
