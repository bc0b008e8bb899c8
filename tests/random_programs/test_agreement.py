"""Two engines that share only the front end find the same in random programs.

The verdict and deadlock must be equal, and so must the regions with a hazard: the machine's are
those with two conflicting accesses possible in one state, the order engine's those that some
schedule leaves unordered. Without a hazard, so must wrong versions and final memories.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamorder.model.errors import BudgetSpent

# One worker draws the population for all that look at it.
LOOKS = pytest.mark.xdist_group("agreement")

PROGRAMS = 65
AT_LEAST = 0.2

# Every verb and kind that programs are drawn from; `features` names them.
FEATURES = {
    "null", "blocking", "plain", "device", "pinned", "pageable", "managed", "parts",
    "launch", "kernel reads", "kernel expects", "kernel copies", "memcpy", "memcpy_async",
    "memset", "memset_async", "write", "read", "record", "wait", "synchronize_event",
    "synchronize_stream", "synchronize_device", "poll", "query_event", "query_stream", "destroy",
    "concurrent", "lock", "nested locks", "bounded queue", "unbounded queue", "put", "get",
    "choose", "spawn", "join", "steps",
}  # fmt: skip


class Population(NamedTuple):
    """Programs with what both engines found under each contract, and the machine's states."""

    programs: list[Any]
    facts: dict[tuple[int, str], tuple[Any, Any]]
    spent: int
    states: int


@pytest.fixture(scope="module")
def population(kit: Any) -> Population:
    """The programs of a fixed range of seeds."""
    programs, facts, spent, states = [], {}, 0, 0
    for seed in range(PROGRAMS):
        program = kit.draw(seed)
        programs.append(program)
        for contract in kit.engines.CONTRACTS[:2]:
            try:
                found = kit.engines.walk(kit.host(program, contract), contract)
                decided = kit.engines.order(kit.host(program, contract), contract)
            except BudgetSpent:
                spent += 1
                continue
            states += found.states
            facts[seed, contract.name] = kit.engines.facts_of(found), decided.facts
    return Population(programs, facts, spent, states)


@LOOKS
def test_engines_agree(population: Population) -> None:
    """Over a fixed range of seeds, under both contracts."""
    for (seed, contract), (machine, order) in population.facts.items():
        assert order.plain() == machine.plain(), f"seed {seed} under {contract}"
    assert population.spent < 0.05 * PROGRAMS


@LOOKS
def test_every_feature_is_frequent(kit: Any, population: Population) -> None:
    """Each occurs in one program of five at least."""
    counts = Counter(f for program in population.programs for f in kit.programs.features(program))
    rare = {name: counts[name] for name in FEATURES if counts[name] < AT_LEAST * PROGRAMS}
    assert not rare


@LOOKS
def test_both_verdicts_are_frequent(population: Population) -> None:
    """One program of five at least is refuted, one holds; some deadlock."""
    verdicts = [machine for machine, _order in population.facts.values()]
    assert sum(facts.holds for facts in verdicts) >= AT_LEAST * len(verdicts)
    assert sum(not facts.holds for facts in verdicts) >= AT_LEAST * len(verdicts)
    assert sum(facts.deadlock for facts in verdicts) >= 0.05 * len(verdicts)
    assert sum(bool(facts.wrongs and not facts.races) for facts in verdicts) >= 2


@LOOKS
def test_programs_are_small(population: Population) -> None:
    """The machine visits some hundreds of states, on average, and hardly ever too many."""
    assert 100 < population.states / len(population.facts) < 1_000


@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(source=st.randoms(use_true_random=False), number=st.integers(0, 3))
def test_engines_agree_on_drawn_programs(kit: Any, source: Any, number: int) -> None:
    """The same with hypothesis, which shrinks what it finds; under weaker readings too."""
    program = kit.draw(source)
    try:
        machine, order, _found = kit.compared(program, kit.engines.CONTRACTS[number])
    except BudgetSpent:
        return
    assert order.plain() == machine.plain(), program


@pytest.mark.parametrize("profile", ["questions", "trio"])
def test_engines_agree_where_threads_watch(kit: Any, profile: str) -> None:
    """Threads that learn from queries what others did."""
    for seed in range(55):
        contract = kit.engines.CONTRACTS[seed % 2]
        machine, order, _found = kit.compared(kit.draw(seed, profile), contract)
        assert order.plain() == machine.plain(), f"seed {seed} under {contract.name}"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 15_000, 250))
def test_engines_agree_on_many(kit: Any, first: int) -> None:
    """5,000 programs in all."""
    spent = 0
    for seed in range(first, first + 250):
        for contract in kit.engines.CONTRACTS[:2]:
            try:
                machine, order, _found = kit.compared(kit.draw(seed), contract)
            except BudgetSpent:
                spent += 1
                continue
            assert order.plain() == machine.plain(), f"seed {seed} under {contract.name}"
    assert spent < 40


def test_states_do_not_depend_on_form(kit: Any) -> None:
    """With one thread, predecessors in the state or left out: equal counts and equal facts."""
    compared = 0
    for seed in range(PROGRAMS):
        program = kit.draw(seed)
        if "spawn" in kit.programs.features(program):
            continue
        for contract in kit.engines.CONTRACTS[:2]:
            short = kit.engines.walk(kit.host(program, contract), contract)
            full = kit.engines.walk(kit.host(program, contract), contract, alone=False)
            assert (short.states, short.transitions) == (full.states, full.transitions), seed
            assert kit.engines.facts_of(short) == kit.engines.facts_of(full), seed
            compared += 1
    assert compared > 50


def test_concurrent_means_both_can_run(kit: Any) -> None:
    """With one thread, `concurrent` fails where no state has both operations ready."""
    kept = broken = 0
    for seed in range(800):
        program = kit.draw(seed)
        found = kit.programs.features(program)
        if "spawn" in found or "concurrent" not in found:
            continue
        contract = kit.engines.CONTRACTS[seed % 2]
        host = kit.host(program, contract)
        walk = kit.engines.walk(host, contract, alone=False)
        claimed, failed = kit.engines.claims(host, contract)
        together = kit.engines.together(walk)
        for node in claimed:
            pair = frozenset(node.call[1:])
            assert (node in failed) == (pair not in together), seed
            kept, broken = kept + (node not in failed), broken + (node in failed)
    assert kept > 10
    assert broken > 10
