"""Engines agree on random programs under random maskings, and maskings only ever add order.

The regions with a hazard, hangs, and (without a hazard) wrong versions and final memories must be
equal. Without cells hazards are monotone: merging queues hides some and shows none.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, NamedTuple

import pytest

from streamorder.model.errors import BadProtocol, BudgetSpent, NotModelled
from streamorder.model.masking import CLASSES, LARGE, OWN, SHARED, SMALL, UNMASKED, Masking

# One worker draws the population for all that look at it.
LOOKS = pytest.mark.xdist_group("maskings")

PROGRAMS = 10
PROFILES = ("mixed", "questions", "graphs", "memory", "signals", "threads")
STATES = 2_500
REFUSED = (BadProtocol, NotModelled, BudgetSpent)


class Compared(NamedTuple):
    """One program under one masking: what both engines found, and the machine without it."""

    profile: str
    seed: int
    masking: Masking
    plain: Any
    machine: Any
    order: Any


def lanes_of(kit: Any, seed: int, profile: str, contract: Any) -> list[tuple[str, int]]:
    """What takes places in queues, with how many packets each."""
    host = kit.host(kit.draw(seed, profile), counted(contract))
    kit.engines.order(host, counted(contract), most=100)
    return [(lane, count) for lane, (_device, count) in host.gpu.queue_lanes.items()]


def counted(contract: Any) -> Any:
    """The contract with queues of their own, packets counted."""
    return contract._replace(masking=Masking(counts=True))


def drawn(rng: random.Random, lanes: list[tuple[str, int]]) -> Masking:
    """A masking: a map of lanes or of single packets, and some of everything else."""
    counts = rng.random() < 0.25
    items: list[Any] = [(lane, None) for lane, _count in lanes]
    if counts:
        items = [(lane, number) for lane, count in lanes for number in range(count)]
    queues = rng.choice((1, 2, 2, 3))
    return Masking(
        queues=tuple((item, rng.randrange(queues)) for item in items if rng.random() < 0.9),
        counts=counts,
        records_queue=rng.random() < 0.5,
        copy_limit=rng.choice((None, None, 0, 4096)),
        unsized=rng.choice((SMALL, LARGE)),
        engines=rng.choice((OWN, SHARED)),
        copies_after_all=rng.random() < 0.15,
        awaits=tuple(name for name in CLASSES if rng.random() < 0.1),
        ring=rng.choice((None, None, None, 1, 2, 3)),
        first_use_drains=rng.random() < 0.15,
    )


def compare(kit: Any, profile: str, seed: int) -> Compared | None:
    """Ask both engines; None where the program is refused or too large for one of them."""
    contract = kit.engines.CONTRACTS[seed % 2]
    program = kit.draw(seed, profile)
    rng = random.Random(f"{profile} {seed}")  # noqa: S311
    try:
        masking = drawn(rng, lanes_of(kit, seed, profile, contract))
        masked = contract._replace(masking=masking)
        plain = kit.engines.walk(kit.host(program, contract), contract, most=STATES)
        machine = kit.engines.walk(kit.host(program, masked), masked, most=STATES)
        decided = kit.engines.order(kit.host(program, masked), masked, most=1_000)
    except REFUSED:
        return None
    facts = kit.engines.facts_of
    return Compared(profile, seed, masking, facts(plain), facts(machine), decided)


@pytest.fixture(scope="module")
def population(kit: Any) -> list[Compared]:
    """Programs of a fixed range of seeds, each under a masking of its own."""
    tried = [compare(kit, profile, seed) for profile in PROFILES for seed in range(PROGRAMS)]
    return [each for each in tried if each is not None]


def differs(each: Compared) -> bool:
    """Whether the engines disagree."""
    return not each.order.undecided and each.order.facts.plain() != each.machine.plain()


@LOOKS
def test_engines_agree(population: list[Compared]) -> None:
    """Under both contracts."""
    wrong = [(each.profile, each.seed, each.masking) for each in population if differs(each)]
    assert wrong == []
    assert len(population) > 0.6 * PROGRAMS * len(PROFILES)
    assert sum(not each.order.undecided for each in population) > 0.85 * len(population)


@LOOKS
def test_maskings_matter(population: list[Compared]) -> None:
    """They hide many hazards, all of some programs, and make some safe programs hang."""
    hidden = [each for each in population if each.machine.races < each.plain.races]
    mended = [each for each in hidden if each.machine.holds]
    hung = [each for each in population if each.machine.deadlock and not each.plain.deadlock]
    assert len(hidden) >= 5
    assert len(mended) >= 3
    assert len(hung) >= 2


@LOOKS
def test_no_hazard_is_new(population: list[Compared]) -> None:
    """A masking adds order: what is raced for with it is raced for without."""
    assert all(each.machine.races <= each.plain.races for each in population)


def test_each_of_these_hides_something(kit: Any) -> None:
    """Each by itself, over some programs: a masking that is not carried out is seen."""
    alone = {
        "copies_after_all": Masking(copies_after_all=True),
        "first_use_drains": Masking(first_use_drains=True),
        **{name: Masking(awaits=(name,)) for name in ("kernels", "copies", "fills")},
    }
    hides: Counter[str] = Counter()
    for seed in range(20):
        contract = kit.engines.CONTRACTS[seed % 2]
        for name, masking in alone.items():
            races = races_under(kit, seed, "mixed", contract, UNMASKED, masking)
            if races is not None:
                assert races[1] <= races[0], (seed, name)
                hides[name] += races[1] < races[0]
    assert {name for name in alone if not hides[name]} == set()


def races_under(
    kit: Any, seed: int, profile: str, contract: Any, *maskings: Masking
) -> list[frozenset[str]] | None:
    """The regions raced for under each masking; None for a program that is refused or too large."""
    program = kit.draw(seed, profile)
    found = []
    for masking in maskings:
        masked = contract._replace(masking=masking)
        try:
            decided = kit.engines.order(kit.host(program, masked), masked, most=100)
        except REFUSED:
            return None
        found.append(decided.facts.races)
    return found


@pytest.mark.parametrize("profile", ["mixed", "graphs"])
def test_hazards_are_monotone(kit: Any, profile: str) -> None:
    """Without cells, merging two queues hides hazards and shows none."""
    hid = compared = 0
    for seed in range(200, 225):
        contract = kit.engines.CONTRACTS[seed % 2]
        rng = random.Random(seed)  # noqa: S311
        try:
            lanes = lanes_of(kit, seed, profile, contract)
        except REFUSED:
            continue
        base = Masking() if rng.random() < 0.7 else drawn(rng, lanes)._replace(counts=False)
        own = tuple(((lane, None), number) for number, (lane, _count) in enumerate(lanes))
        some = tuple((item, min(number, 1)) for item, number in own)
        one = tuple((item, 0) for item, number in own)
        maps = [base._replace(queues=queues, ring=None) for queues in (own, some, one)]
        races = races_under(kit, seed, profile, contract, *maps)
        if races is not None and len(lanes) > 1:
            assert races[2] <= races[1] <= races[0], (seed, base, own)
            compared += 1
            hid += races[2] < races[0]
    assert compared >= 10
    assert hid >= 1


@pytest.mark.slow
@pytest.mark.parametrize("profile", [*PROFILES, "wide", "trio", "tiny"])
def test_engines_agree_on_many(kit: Any, profile: str) -> None:
    """1,800 more programs."""
    tried = [compare(kit, profile, seed) for seed in range(5_000, 5_200)]
    found = [each for each in tried if each is not None]
    assert [(each.seed, each.masking) for each in found if differs(each)] == []
    assert len(found) > 100
