"""How answers follow from what is found on each map: with engines that say what a test wants."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from streamorder import check
from streamorder.model import runtime
from streamorder.model.catalogue import catalogue
from streamorder.model.contract import HIP
from streamorder.model.decision import Decision
from streamorder.model.errors import NotModelled
from streamorder.model.masking import UNMASKED, Masking
from streamorder.model.profiles import Setting
from streamorder.model.runtime import (
    EXPOSED,
    HANGS,
    HIDDEN,
    MAY_HANG,
    MAY_HIDE,
    NO_HANG,
    UNDECIDED,
    Asked,
    Decided,
    findings,
    guarded,
    told_apart,
)
from streamorder.model.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Gpu
    from streamorder.model.contract import Contract
    from streamorder.model.runtime import Findings

FIVE = ("a", "b", "c", "d", "e")
Shares = frozenset[frozenset[str]]


def blocks(masking: Masking) -> Shares:
    """The streams, or packets, that share a queue."""
    names: dict[int, set[str]] = {}
    for (lane, number), queue in masking.queues:
        names.setdefault(queue, set()).add(lane if number is None else f"{lane}{number}")
    return frozenset(frozenset(block) for block in names.values())


def together(masking: Masking, *names: str) -> bool:
    """Whether these share a queue."""
    return any(block.issuperset(names) for block in blocks(masking))


def asked(
    says: Callable[[Masking], bool | None],
    lanes: tuple[str, ...] = FIVE,
    *,
    hangs: bool = False,
    seconds: float = 60.0,
    packets: int = 1,
    sizes_missing: bool = False,
) -> tuple[Asked, list[Masking]]:
    """A question about a program that is refuted (or hangs) on the maps that `says` names, None
    for a search that ends early; and the maskings that were asked about.
    """
    seen: list[Masking] = []

    def decide(contract: Contract) -> list[Decided]:
        found = Decision()
        if contract.masking != UNMASKED:
            seen.append(contract.masking)
        answer = says(contract.masking)
        found.holds = not answer
        found.spent = "it is over" if answer is None else None
        found.hangs, found.hazards = bool(answer) and hangs, bool(answer) and not hangs
        found.lanes = {lane: [0, packets] for lane in lanes}
        found.sizes_missing = sizes_missing
        return [(contract, found)]

    outcome = Outcome.HOLDS if hangs else Outcome.REFUTED
    return Asked(decide, decide, HIP, outcome, hangs, time.monotonic() + seconds), seen


@pytest.fixture(autouse=True)
def no_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no program whose cycle could be told."""
    monkeypatch.setattr(runtime, "cycle_of", lambda *_: ())


def found(says: Callable[[Masking], bool | None], setting: Setting, **about: Any) -> Findings:
    """What a setting makes of such a program."""
    return findings(asked(says, **about)[0], setting)


# --- hazards ------------------------------------------------------------------------------------


def test_one_map_while_there_are_queues_enough() -> None:
    """Five streams on eight queues: the map that shares nothing decides."""
    question, seen = asked(lambda masking: not blocks(masking))
    answer = findings(question, Setting(8))
    assert (answer.hazard, answer.choices[0][1:]) == (EXPOSED, (1, 1))
    assert len(answer.hidden_by) == 10
    assert len(seen) == 1 + 10  # What there is, and every pair: nothing else is any masking.


def test_the_maximal_maps_decide() -> None:
    """Five streams on four queues: ten maps, each shares one pair."""
    for pair, outcome, shown in ((("a", "b"), MAY_HIDE, 9), (("x", "y"), EXPOSED, 10)):
        answer = found(lambda masking, pair=pair: not together(masking, *pair), Setting(4))
        assert (answer.hazard, answer.choices[0][1:]) == (outcome, (shown, 10))
        assert [tuple(p)[:2] for p in answer.hidden_by] == [pair for _ in range(shown == 9)]
    assert found(lambda masking: masking == UNMASKED, Setting(4)).hazard == HIDDEN


def test_what_is_open_counts_like_maps() -> None:
    """A masking that may be on hides sometimes; one that is on, always."""

    def says(masking: Masking) -> bool:
        return not masking.copies_after_all

    maybe = found(says, Setting(8, may=("copies_after_all",)))
    assert maybe.hazard == MAY_HIDE
    assert {choice.words: choice.shown for choice in maybe.choices} == {
        "copies not held back": 1,
        "copies after all issued work": 0,
    }
    assert found(says, Setting(8, masking=Masking(copies_after_all=True))).hazard == HIDDEN


def test_sizes_that_are_not_said_count_both_ways() -> None:
    """Shown by engine, hidden by kernel; a pair that hides it says for which."""

    def says(masking: Masking) -> bool:
        return masking.unsized == "large" or not together(masking, "a", "b")

    answer = found(says, Setting(8), lanes=("a", "b"), sizes_missing=True)
    assert answer.hazard == EXPOSED
    assert [str(pair) for pair in answer.hidden_by] == ["a and b (copies by kernel on the queue)"]
    assert found(says, Setting(1), lanes=("a", "b"), sizes_missing=True).hazard == MAY_HIDE


@pytest.mark.parametrize(
    ("says", "outcome"),
    [
        (lambda _: True, EXPOSED),
        (lambda masking: not together(masking, *FIVE), MAY_HIDE),
        (lambda masking: not blocks(masking), MAY_HIDE),
        (lambda masking: not masking.records_queue, HIDDEN),
    ],
)
def test_a_map_by_packet_proves_little(
    says: Callable[[Masking], bool | None], outcome: str
) -> None:
    """Exposed where one queue for all shows it; hidden only where no sharing is needed for that."""
    records = Masking(records_queue=True)
    answer = found(says, Setting(4, dynamic=True, masking=records))
    assert (answer.hazard, answer.dynamic) == (outcome, True)
    enough = found(says, Setting(5, dynamic=True, masking=records))
    assert not enough.dynamic


def test_a_map_by_packet_with_two_ways_of_copies() -> None:
    """One queue for all shows it for copies by engine only: it may be hidden by the others."""

    def says(masking: Masking) -> bool:
        return masking.unsized == "large" or not together(masking, "a", "b")

    answer = found(says, Setting(4, dynamic=True), sizes_missing=True)
    assert (answer.hazard, answer.dynamic) == (MAY_HIDE, True)


@pytest.mark.parametrize(
    ("shared", "alone", "outcome"),
    [
        (None, True, UNDECIDED),
        (None, False, HIDDEN),
        (None, None, UNDECIDED),
        (False, None, UNDECIDED),
        (True, None, EXPOSED),
        (False, True, MAY_HIDE),
    ],
)
def test_a_map_by_packet_that_was_not_decided(
    shared: bool | None, alone: bool | None, outcome: str
) -> None:
    """A search that ended early is neither hidden nor shown: undetermined, unless others tell."""

    def says(masking: Masking) -> bool | None:
        if together(masking, *FIVE):
            return shared
        return True if blocks(masking) or masking == UNMASKED else alone

    records = Masking(records_queue=True)
    answer = found(says, Setting(4, dynamic=True, masking=records))
    assert answer.hazard == outcome
    assert answer.bounded == (runtime.UNSURE if outcome == UNDECIDED else None)


def test_a_search_that_ends_early_is_no_answer() -> None:
    """On one map of ten: undetermined."""
    answer = found(lambda masking: None if together(masking, "a", "b") else True, Setting(4))
    assert answer.hazard == UNDECIDED
    assert answer.bounded


def test_no_time_is_no_answer() -> None:
    """Not one map was decided."""
    answer = found(lambda _: True, Setting(4), seconds=-1.0)
    assert (answer.hazard, answer.bounded) == (UNDECIDED, runtime.NOT_ALL)


def test_some_maps_are_an_answer_where_they_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two maps of ten: that it may be hidden is known, that it is exposed is not."""
    monkeypatch.setattr(runtime, "MOST_MAPS", 2)
    first = [("d", "e"), ("c", "e"), ("c", "d"), ("b", "e"), ("a", "b")]

    def hides_first(masking: Masking) -> bool:
        return not any(together(masking, *pair) for pair in first[:1])

    assert found(hides_first, Setting(4)).hazard in {MAY_HIDE, UNDECIDED}
    answer = found(lambda _: True, Setting(4))
    assert (answer.hazard, answer.bounded) == (UNDECIDED, runtime.NOT_ALL)


# --- hangs --------------------------------------------------------------------------------------


def hang(
    says: Callable[[Masking], bool | None], setting: Setting, **about: Any
) -> tuple[str, int, int]:
    """The answer, on how many maps, of how many."""
    answer = found(says, setting, hangs=True, **about).hang
    assert answer is not None
    return answer.outcome, answer.shown, answer.maps


def test_every_legal_map_is_tried() -> None:
    """Three streams on two queues: four maps; on three, five."""
    for queues, maps in ((2, 4), (3, 5)):
        hanging = hang(lambda masking: together(masking, "a", "b"), Setting(queues), lanes=FIVE[:3])
        assert hanging == (MAY_HANG, 2, maps)
    assert hang(lambda _: True, Setting(2), lanes=FIVE[:3]) == (HANGS, 4, 4)
    assert hang(lambda _: False, Setting(2), lanes=FIVE[:3]) == (NO_HANG, 0, 4)


def test_the_map_that_shares_least_is_shown() -> None:
    """Of the maps that hang."""
    answer = found(
        lambda masking: together(masking, "a", "b"), Setting(3), lanes=FIVE[:3], hangs=True
    ).hang
    assert answer is not None
    assert answer.where == "a and b share a queue"


def test_of_two_kinds_of_masking_the_map_that_shares_least() -> None:
    """One kind hangs where all share a queue, the other where two do."""

    def hangs(masking: Masking) -> bool:
        all_three = together(masking, *FIVE[:3])
        return together(masking, "a", "b") if masking.copies_after_all else all_three

    for may in (("copies_after_all",), ("first_use_drains", "copies_after_all")):
        answer = found(hangs, Setting(3, may=may), lanes=FIVE[:3], hangs=True).hang
        assert answer is not None
        assert answer.where == "a and b share a queue, copies after all issued work"
        assert (answer.outcome, answer.shown, answer.maps) == (MAY_HANG, 2, 5)


def test_maps_by_packet_are_tried_where_no_other_hangs() -> None:
    """Two streams, three packets in all: the map of two packets of different streams hangs."""
    dynamic = Setting(2, dynamic=True)
    about: dict[str, Any] = {"lanes": ("a", "b"), "packets": 2}
    outcome, shown, maps = hang(lambda m: blocks(m) == {frozenset({"a0", "b1"}),
                                frozenset({"a1", "b0"})}, dynamic, **about)  # fmt: skip
    assert (outcome, shown) == (MAY_HANG, 1)
    assert hang(lambda _: False, dynamic, **about) == (NO_HANG, 0, 2 + 8)
    assert maps <= 2 + 8


def test_too_many_maps_are_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """No hang on those tried is not known to be none; a hang is one."""
    monkeypatch.setattr(runtime, "MOST_MAPS", 3)
    assert hang(lambda _: False, Setting(4))[0] == UNDECIDED
    assert hang(lambda _: True, Setting(4))[0] == MAY_HANG
    monkeypatch.setattr(runtime, "MOST_MAPS", 10)
    dynamic = hang(lambda _: False, Setting(4, dynamic=True), lanes=("a", "b"), packets=9)
    assert dynamic[0] == UNDECIDED


def test_a_search_that_ends_early_finds_no_hang_to_be_none() -> None:
    """On some map, by stream or by packet; and where there was no time."""
    assert hang(lambda masking: None if blocks(masking) else False, Setting(4))[0] == UNDECIDED
    assert hang(lambda _: False, Setting(4), seconds=-1.0)[0] == UNDECIDED
    dynamic = Setting(2, dynamic=True)
    answer = hang(lambda m: None if m.counts else False, dynamic, lanes=("a", "b"), packets=2)
    assert answer == (UNDECIDED, 0, 3)


# --- parts --------------------------------------------------------------------------------------


def test_what_changes_nothing_is_not_said() -> None:
    """Of two fields that differ, the one that matters."""
    results = {
        Masking(engines=engines, copies_after_all=on): on
        for engines in ("own", "shared")
        for on in (False, True)
    }
    assert list(told_apart(results).values()) == [
        ("copies not held back", False),
        ("copies after all issued work", True),
    ]


def test_what_is_not_modelled_is_no_answer() -> None:
    """It is a search that was not complete."""

    def refuse(_contract: Contract) -> list[Decided]:
        raise NotModelled("this is not modelled")

    ((contract, decision),) = guarded(refuse)(HIP)
    assert contract is HIP
    assert decision.spent == "this is not modelled"


def test_exit_codes() -> None:
    """A hang where the contract is safe is 1; what is undetermined here alone is 3."""
    name = "corpus/C67-hardware-queues/unshared-first"
    verdict = check(catalogue()[name], runtime="rocm-10")
    there = verdict.runtime
    assert there is not None
    assert there.found.hang is not None
    unknown = there.found.hang._replace(outcome=UNDECIDED)
    unsure = there._replace(found=there.found._replace(hang=unknown))
    safe = there._replace(found=there.found._replace(hang=None))
    codes = [[one.exit_code(outcome) for outcome in Outcome] for one in (there, unsure, safe)]
    assert codes == [[1, 1, 0, 0], [3, 3, 3, 0], [0, 0, 0, 0]]
    assert verdict.exit_code == 1
    hidden = safe._replace(found=safe.found._replace(hazard=UNDECIDED))
    assert hidden.exit_code(Outcome.REFUTED) == 3


def wrong_late(gpu: Gpu) -> None:
    """The wait is forgotten in one late step."""
    one, two, done, table = gpu.stream("s"), gpu.stream("t"), gpu.event("e"), gpu.device("table")
    for n in gpu.steps():
        one.wait(done)
        gpu.launch("fill", one, writes={table: n})
        done.record(one)
        if n != 20:
            two.wait(done)
        gpu.launch("use", two, reads={table: n})
        done.record(two)


def test_a_late_hazard_is_looked_for_where_it_shows() -> None:
    """What a runtime makes of the first steps says nothing of a hazard that comes after them."""
    found = check(wrong_late, runtime="rocm-10", prove=True)
    told = check(wrong_late, runtime="rocm-10", steps=21)
    assert (found.outcome, found.steps) == (Outcome.REFUTED, 21)
    assert found.runtime is not None
    assert told.runtime is not None
    assert found.runtime.found.hazard == told.runtime.found.hazard == "exposed"
