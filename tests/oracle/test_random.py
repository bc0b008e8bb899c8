"""On random tiny programs, engines and oracle find the same.

With ops that start and finish in one step the interleavings are exactly the machine's, so even
their number, and what racing programs read and leave in memory, must be equal. With starts and
finishes apart, the oracle's outcomes in a race are a machine's that no engine claims to have.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest


def compared(
    kit: Any, oracle: Any, seeds: range, *, split: bool, profile: str = "tiny"
) -> Counter[str]:
    """Compare over these seeds; how often which verdict came out."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        program = kit.draw(seed, profile)
        for contract in kit.engines.CONTRACTS[:2]:
            try:
                found = oracle.Interleaver(program, contract.name, split=split, most=1_000)
            except oracle.TooLarge:
                counts["too large"] += 1
                continue
            machine, order, walk = kit.compared(program, contract)
            facts = kit.engines.Facts(
                frozenset(found.races),
                frozenset(found.wrongs),
                found.deadlock,
                frozenset(found.finals),
            )
            where = f"seed {seed} under {contract.name}"
            assert order.plain() == facts.plain(), where
            if split:
                assert machine.plain() == facts.plain(), where
            else:
                assert machine == facts, where
                assert kit.engines.paths(walk) == found.paths, where
            counts["holds" if facts.holds else "refuted"] += 1
            counts["deadlock"] += facts.deadlock
    return counts


@pytest.mark.parametrize("split", [False, True])
def test_agreement(kit: Any, oracle: Any, split: bool) -> None:
    """All three find the same."""
    counts = compared(kit, oracle, range(110), split=split)
    assert counts["refuted"] > 22
    assert counts["holds"] > 70
    assert counts["deadlock"] > 3
    assert counts["too large"] < 30


@pytest.mark.parametrize("split", [False, True])
def test_agreement_on_cells_early_kernels_and_agents(kit: Any, oracle: Any, split: bool) -> None:
    """The same for what order streams do not make."""
    counts = compared(kit, oracle, range(140), split=split, profile="few")
    assert counts["refuted"] > 42
    assert counts["holds"] > 70
    assert counts["deadlock"] > 14
    assert counts["too large"] < 70


@pytest.mark.slow
@pytest.mark.parametrize("first", range(30_000, 32_000, 200))
def test_agreement_of_many(kit: Any, oracle: Any, first: int) -> None:
    """The same on 2,000 more programs."""
    compared(kit, oracle, range(first, first + 200), split=False)
    compared(kit, oracle, range(first, first + 200), split=False, profile="few")
