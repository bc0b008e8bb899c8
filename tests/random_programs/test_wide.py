"""Engines agree on random programs of graphs, allocation, cells, agents, early launches, devices.

As for the first set of calls: verdict, hang and the regions with a hazard must be equal; without a
hazard, so must wrong versions and final memories. Where a cell makes the order depend on the
device, the order engine hands over to the machine; it must decide half of such programs itself.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, NamedTuple

import pytest

from streamorder.model.contract import EITHER
from streamorder.model.errors import BadProtocol, BudgetSpent, NotModelled

# One worker draws the population for all that look at it.
LOOKS = pytest.mark.xdist_group("wide")

PROGRAMS = 38
STATES = 3_000
AT_LEAST = 0.2
PROFILES = ("graphs", "memory", "signals", "wide")

# What programs of each profile are made of; `features` names it.
FEATURES = {
    "graphs": (
        "capture", "fork in graph", "several graphs", "replay from two streams", "host_func",
        "bound expectation", "pinned copy node", "pageable copy node", "event node",
    ),
    "memory": (
        "malloc", "free", "malloc_async", "free_async", "used by", "address reused", "null 1",
        "source call", "source stream", "source any", "device 1", "peer copy", "host_func",
    ),
    "signals": (
        "write_value", "wait_value", "set_cell", "wait_cell", "post_read", "post_write",
        "early True", "early waits", "idempotent", "per-thread", "concurrent",
    ),
}  # fmt: skip


class Compared(NamedTuple):
    """What both engines found in a program, or why they did not."""

    profile: str
    seed: int
    machine: Any = None
    order: Any = None
    cells: bool = False
    why_not: str | None = None


def reading(kit: Any, seed: int) -> Any:
    """CUDA or HIP by turns, with its uncertain promises kept or broken at random."""
    rng = random.Random(seed)  # noqa: S311
    base, known = kit.engines.CONTRACTS[seed % 2], kit.engines.UNCERTAIN[seed % 2]
    fields = (*known, *EITHER)
    return base._replace(**{field: rng.random() < 0.5 for field in fields})


def compare(kit: Any, profile: str, seed: int, contract: Any, most: int) -> Compared:
    """Ask both engines."""
    program = kit.draw(seed, profile)
    try:
        found = kit.engines.walk(kit.host(program, contract), contract, most=most)
        decided = kit.engines.order(kit.host(program, contract), contract)
    except (BadProtocol, NotModelled, BudgetSpent) as error:
        return Compared(profile, seed, why_not=type(error).__name__)
    facts = kit.engines.facts_of(found)
    return Compared(profile, seed, facts, decided, program.cells > 0)


def differs(compared: Compared) -> bool:
    """Whether the engines disagree."""
    if compared.why_not or compared.order.undecided:
        return False
    return compared.order.facts.plain() != compared.machine.plain()


@pytest.fixture(scope="module")
def population(kit: Any) -> list[Compared]:
    """Programs of a fixed range of seeds."""
    return [
        compare(kit, profile, seed, reading(kit, seed), STATES)
        for profile in PROFILES
        for seed in range(PROGRAMS)
    ]


@LOOKS
def test_engines_agree(population: list[Compared]) -> None:
    """Under both contracts, and several readings of each."""
    assert [(each.profile, each.seed) for each in population if differs(each)] == []


@LOOKS
def test_few_programs_are_left_out(population: list[Compared]) -> None:
    """Hardly one is refused, few are too large."""
    why_not = Counter(each.why_not for each in population)
    assert why_not["BadProtocol"] + why_not["NotModelled"] < 0.02 * len(population)
    assert why_not["BudgetSpent"] < 0.15 * len(population)


@LOOKS
def test_verdicts_are_frequent(population: list[Compared]) -> None:
    """One program of five at least is refuted, one holds, and one of twenty hangs."""
    facts = [each.machine for each in population if each.machine is not None]
    assert sum(found.holds for found in facts) >= AT_LEAST * len(facts)
    assert sum(not found.holds for found in facts) >= AT_LEAST * len(facts)
    assert sum(found.deadlock for found in facts) >= 0.05 * len(facts)
    assert sum(bool(found.wrongs and not found.races) for found in facts) >= 5


@LOOKS
def test_the_order_engine_decides_most(population: list[Compared]) -> None:
    """Of the programs with cells, at least half."""
    mine = [each.order.undecided for each in population if each.cells and each.order]
    assert len(mine) > 40
    assert sum(mine) <= len(mine) / 2


@pytest.mark.parametrize("profile", FEATURES)
def test_every_feature_is_frequent(kit: Any, profile: str) -> None:
    """Each occurs in one program of five of its profile at least."""
    count = 300
    programs = [kit.draw(seed, profile) for seed in range(count)]
    counts = Counter(name for program in programs for name in kit.programs.features(program))
    rare = {name: counts[name] for name in FEATURES[profile] if counts[name] < AT_LEAST * count}
    assert not rare


def test_everything_is_mixed(kit: Any) -> None:
    """The profile of all themes has every feature too, less often."""
    programs = [kit.draw(seed, "wide") for seed in range(300)]
    counts = Counter(name for program in programs for name in kit.programs.features(program))
    wanted = {name for names in FEATURES.values() for name in names}
    assert {name for name in wanted if counts[name] < 5} == set()


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 15_000, 125))
def test_engines_agree_on_many(kit: Any, first: int) -> None:
    """5,000 programs in all, each under both contracts, and again under other readings."""
    counts: Counter[str | None] = Counter()
    for seed in range(first, first + 125):
        profile = PROFILES[seed % len(PROFILES)]
        turned = 2 * seed + (seed // len(PROFILES)) % 2
        for contract in (*kit.engines.CONTRACTS[:2], reading(kit, turned)):
            compared = compare(kit, profile, seed, contract, 8_000)
            assert not differs(compared), f"{profile} {seed} under {contract}"
            counts[compared.why_not] += 1
    assert counts["BadProtocol"] + counts["NotModelled"] < 10
    assert counts["BudgetSpent"] < 60


def test_states_do_not_depend_on_form(kit: Any) -> None:
    """With one thread, predecessors in the state or left out: equal counts and equal facts."""
    compared = 0
    for seed in range(100):
        program = kit.draw(seed, PROFILES[seed % len(PROFILES)])
        contract = reading(kit, seed)
        if len(program.threads) > 1:
            continue
        try:
            short = kit.engines.walk(kit.host(program, contract), contract, most=1_000)
        except (BadProtocol, BudgetSpent):
            continue
        full = kit.engines.walk(kit.host(program, contract), contract, alone=False)
        assert (short.states, short.transitions) == (full.states, full.transitions), seed
        assert kit.engines.facts_of(short) == kit.engines.facts_of(full), seed
        compared += 1
    assert compared > 30


def test_concurrent_means_both_can_run(kit: Any) -> None:
    """With one thread, `concurrent` fails where no state has both operations ready."""
    kept = broken = 0
    for seed in range(500):
        program = kit.draw(seed, PROFILES[seed % len(PROFILES)])
        found, contract = kit.programs.features(program), reading(kit, seed)
        if "spawn" in found or "concurrent" not in found:
            continue
        host = kit.host(program, contract)
        try:
            walk = kit.engines.walk(host, contract, alone=False, most=1_000)
            decided = kit.engines.order(kit.host(program, contract), contract)
        except (BadProtocol, BudgetSpent):
            continue
        if decided.undecided or decided.facts.deadlock:
            continue
        claimed, failed = kit.engines.claims(host, contract)
        together = kit.engines.together(walk)
        for node in claimed:
            pair = frozenset(node.call[1:])
            assert (node in failed) == (pair not in together), seed
            kept, broken = kept + (node not in failed), broken + (node in failed)
    assert kept > 10
    assert broken > 10
