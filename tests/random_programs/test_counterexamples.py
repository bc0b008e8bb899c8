"""Every counterexample of a refuted random program can be carried out by the machine.

`check` replays what it shows and raises `EnginesDisagree` where the machine refuses; it must give
each refutation a reason. Statements stand on source lines of their own, so that findings differ.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from streamorder.model import where
from streamorder.model.check import Limits, check
from streamorder.model.errors import BadProtocol, BudgetSpent

if TYPE_CHECKING:
    from collections.abc import Iterator

PROFILES = (
    "mixed", "questions", "trio", "tiny", "graphs", "memory", "signals", "wide", "threads",
)  # fmt: skip
LIMITS = Limits(executions=3_000, states=20_000, seconds=20.0)


@pytest.fixture(autouse=True)
def line_by_line(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What carries out statements counts as Streamorder's own: a call's line is its statement's."""
    known = where.is_internal
    helpers = ("random_programs/programs.py", "random_programs/verbs.py")

    def is_internal(filename: str) -> bool:
        return filename.replace("\\", "/").endswith(helpers) or known(filename)

    monkeypatch.setattr(where, "is_internal", is_internal)
    yield
    known.cache_clear()


def look(kit: Any, profile: str, seeds: range) -> Counter[str]:
    """Check these programs; how often which verdict came out."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        program, contract = kit.draw(seed, profile), kit.engines.CONTRACTS[seed % 2]
        body = kit.body(program, contract)
        try:
            verdict = check(body, contract, steps=program.steps, limits=LIMITS)
        except BadProtocol:
            counts["refused"] += 1
            continue
        counts[verdict.verdict] += 1
        shown = f"{profile} {seed} under {contract.name}"
        assert bool(verdict.missing_edges) == (verdict.verdict == "REFUTED"), shown
        assert all(edge.sentence for edge in verdict.missing_edges), shown
        counts["wrong"] += differs(kit, program, contract, verdict)
        assert not counts["wrong"], shown
    return counts


def differs(kit: Any, program: Any, contract: Any, verdict: Any) -> bool:
    """Whether the machine finds otherwise, which knows nothing of `concurrent`."""
    kinds = {edge.kind for edge in verdict.missing_edges}
    if "overlap lost" in kinds or verdict.verdict == "UNDETERMINED":
        return False
    try:
        found = kit.engines.walk(kit.host(program, contract), contract, most=3_000)
    except BudgetSpent:
        return False
    return found.holds != (verdict.verdict == "HOLDS")


@pytest.mark.parametrize("profile", PROFILES)
def test_counterexamples_replay(kit: Any, profile: str) -> None:
    """Of each population some."""
    counts = look(kit, profile, range(30 if profile == "tiny" else 16))
    assert counts["REFUTED"] > 3
    assert counts["HOLDS"] > 3
    assert counts["refused"] < 3


@pytest.mark.parametrize(("seed", "which"), [(1591, 1), (1830, 0)])
def test_threads_take_turns_in_another_order(kit: Any, seed: int, which: int) -> None:
    """What a query answered false asks about must wait, though another thread waited for it."""
    program, contract = kit.draw(seed, "questions"), kit.engines.CONTRACTS[which]
    verdict = check(kit.body(program, contract), contract, steps=program.steps, limits=LIMITS)
    assert verdict.verdict == "REFUTED"
    assert all(edge.schedule for edge in verdict.missing_edges)


@pytest.mark.parametrize(("seed", "which"), [(1667, 1), (1817, 0)])
def test_a_staged_source_is_read_by_the_host(kit: Any, seed: int, which: int) -> None:
    """Where a wrong version was copied from pageable memory, its story leads over the call."""
    program, contract = kit.draw(seed, "threads"), kit.engines.CONTRACTS[which]
    verdict = check(kit.body(program, contract), contract, steps=program.steps, limits=LIMITS)
    assert verdict.verdict == "REFUTED"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1_000, 2_000, 100))
@pytest.mark.parametrize("profile", PROFILES)
def test_counterexamples_of_many_replay(kit: Any, profile: str, first: int) -> None:
    """1,000 of each."""
    counts = look(kit, profile, range(first, first + 100))
    assert counts["REFUTED"] > 5
    assert counts["HOLDS"] > 5
