"""The refined machine, in which operations take time, ends where the machine ends.

Its outcomes contain the machine's final memories; without a hazard they are the same, and none is
torn. It hangs where the machine hangs.
"""

from __future__ import annotations

from typing import Any

import pytest

from streamorder.model import refined
from streamorder.model.errors import BadProtocol, BudgetSpent

HANG = (("hang", True),)


@pytest.fixture(autouse=True)
def few_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs with many states are left out."""
    monkeypatch.setattr(refined, "MOST_STATES", 6_000)


def compare(kit: Any, profile: str, seeds: range) -> tuple[int, int, int]:
    """Compare over these seeds; how many programs were compared, hold, and may hang."""
    compared = holding = hanging = 0
    for seed in seeds:
        program, contract = kit.draw(seed, profile), kit.engines.CONTRACTS[seed % 2]
        try:
            walk = kit.engines.walk(kit.host(program, contract), contract, most=150)
            facts = kit.engines.facts_of(walk)
            names = {name for final in facts.finals for name, _version in final}
            body = kit.body(program, contract)
            found = set(refined.outcomes(body, contract, names, program.steps))
        except (BadProtocol, BudgetSpent):
            continue
        # What nothing has written counts as 0, which no program writes.
        ends = {frozenset(pair for pair in outcome if pair[1] != 0) for outcome in found - {HANG}}
        assert facts.finals <= ends, seed
        assert facts.deadlock == (HANG in found), seed
        if not facts.races:
            assert ends == facts.finals, seed
            assert not any(version is refined.TORN for end in ends for _name, version in end), seed
        compared += 1
        holding, hanging = holding + facts.holds, hanging + facts.deadlock
    return compared, holding, hanging


@pytest.mark.parametrize("profile", ["narrow", "tiny"])
def test_outcomes(kit: Any, profile: str) -> None:
    """Small programs of all calls."""
    compared, holding, hanging = compare(kit, profile, range(120))
    assert compared > 90
    assert 60 < holding < compared - 12
    assert hanging > 3


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 12_000, 250))
def test_outcomes_of_many(kit: Any, first: int) -> None:
    """2,000 more."""
    compare(kit, "narrow", range(first, first + 250))
