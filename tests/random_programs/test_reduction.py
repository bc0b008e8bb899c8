"""The reduced search of host schedules finds what the search without reduction finds.

It runs one schedule of each equivalence class: as many complete schedules as there are *traces*
in Mazurkiewicz's sense, schedules up to the order of neighbouring independent calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder.model.again import from_the_start
from streamorder.model.errors import BadProtocol, BudgetSpent

if TYPE_CHECKING:
    from collections.abc import Iterator


PROFILES = ("trio", "mixed", "questions", "tiny")
NEW_PROFILES = ("threads", "threads", "signals", "wide")


def schedules(kit: Any, host: Any, contract: Any, forms: set[Any]) -> Iterator[Any]:
    """Every schedule; its canonical form goes into `forms`."""
    forms.clear()
    for schedule, form in kit.engines.every_schedule(host, contract, 300):
        forms.add(form)
        yield schedule


def reduced(kit: Any, seeds: range, profiles: tuple[str, ...] = PROFILES) -> tuple[int, int, int]:
    """Compare the searches; how many programs had several traces, all traces, all schedules."""
    several = traces = total = 0
    for seed in seeds:
        program = kit.draw(seed, profiles[seed % 4])
        if len(program.threads) == 1:
            continue
        for contract in kit.engines.CONTRACTS[:2]:
            host, forms = kit.host(program, contract), set()
            # First, so that every object exists: what a call touches must not change meanwhile.
            try:
                found = kit.engines.order(host, contract, most=300)
                full = from_the_start(
                    lambda h=host, c=contract, f=forms: kit.engines.decided(
                        schedules(kit, h, c, f), 300
                    )
                )
            except (BadProtocol, BudgetSpent):
                continue
            assert found.undecided == full.undecided, f"seed {seed}: {contract.name}"
            if found.undecided:
                continue
            assert found.facts.plain() == full.facts.plain(), f"seed {seed}: {contract.name}"
            assert found.executions == len(forms), f"seed {seed}: {contract.name}"
            several += found.executions > 1
            traces, total = traces + found.executions, total + full.executions
    return several, traces, total


def test_one_schedule_a_trace(kit: Any) -> None:
    """The same facts, and no complete schedule too many or too few."""
    several, traces, total = reduced(kit, range(65))
    assert several > 22
    assert total > 3 * traces


def test_one_schedule_a_trace_of_cells(kit: Any) -> None:
    """The same where threads wait for cells, unless the machine must decide."""
    several, traces, total = reduced(kit, range(32), NEW_PROFILES)
    assert several > 8
    assert total > 3 * traces


@pytest.mark.slow
@pytest.mark.parametrize("first", range(20_000, 22_000, 200))
def test_one_schedule_a_trace_in_many(kit: Any, first: int) -> None:
    """The same for 2,000 programs."""
    assert reduced(kit, range(first, first + 200))[0] > 30
    assert reduced(kit, range(first, first + 100), NEW_PROFILES)[0] > 20
