"""Random programs: SPIN decides their models as we decide them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from streamorder import CUDA, HIP, BadInput, check, promela

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamorder import Contract, Gpu


def compared(kit: Any, spin: Any, seeds: Iterable[int], profile: str) -> Counter[str]:
    """How often each verdict was reached by both; a program is refused with a reason, or agrees."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        program = kit.draw(seed, profile)
        for contract in (CUDA, HIP):
            weakest = contract._replace(**dict.fromkeys(contract.uncertain, False))
            reading = weakest.ways()[seed // 2 % 4]
            body = kit.body(program, reading)
            given = {"steps": program.steps or 1, "batched": bool(seed % 2)}
            seen[agreed(body, reading, given, spin)] += 1
    return seen


def agreed(body: Any, contract: Contract, given: dict[str, Any], spin: Any) -> str:
    """The verdict that both reach on a program, or `refused`; what is refused says so."""

    def entry(gpu: Gpu) -> None:
        """A random program."""
        body(gpu)

    try:
        model = promela(entry, contract, **given)
    except BadInput as error:
        reason = str(error)
        if "export" not in reason:
            raise
        return "refused"
    ours = str(check(entry, contract, steps=given["steps"]).outcome)
    theirs = spin(model)
    assert ours in {theirs.outcome, "UNDETERMINED"}, (ours, theirs, model)
    return ours


def test_random_programs_agree(random_kit: Any, spin: Any) -> None:
    """A few of every kind; both verdicts occur."""
    seen = compared(random_kit, spin, range(6), "mixed")
    seen += compared(random_kit, spin, range(4), "signals")
    assert min(seen["HOLDS"], seen["REFUTED"]) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["mixed", "graphs", "memory", "signals", "threads", "wide"])
def test_more_random_programs_agree(random_kit: Any, spin: Any, profile: str) -> None:
    """Many of each profile."""
    seen = compared(random_kit, spin, range(100, 200), profile)
    assert min(seen["HOLDS"], seen["REFUTED"]) >= 10
