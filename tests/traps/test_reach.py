"""Mistakes that show late, or only when something is used again: a short look must not pass them.

Where a bounded check cannot see a mistake, its verdict says what was not covered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from streamorder import Outcome, Verdict, check

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Gpu

ONCE = "used in one step only"


def skipped_once(gpu: Gpu, at: int = 40) -> None:
    """Await the slot's copies in every step but one."""
    s, d = gpu.stream("s"), gpu.device("d")
    slot, copied = gpu.pinned("slot"), gpu.event("copied")
    for n in gpu.steps():
        if n != at:
            copied.synchronize()
        gpu.write(slot, n)
        gpu.memcpy_async(d, slot, s)
        copied.record(s)


def ring(gpu: Gpu, slots: int = 8) -> None:
    """Use each slot of a ring again without any wait."""
    s, d = gpu.stream("s"), gpu.device("d")
    pinned = [gpu.pinned(f"slot{i}") for i in range(slots)]
    for n in gpu.steps():
        gpu.write(pinned[n % slots], n)
        gpu.memcpy_async(d, pinned[n % slots], s)


def ring_of_parts(gpu: Gpu, slots: int = 8) -> None:
    """The same with the slots as parts of one arena."""
    s, d = gpu.stream("s"), gpu.device("d")
    arena = gpu.pinned("arena", parts=[f"slot{i}" for i in range(slots)])
    for n in gpu.steps():
        gpu.write(arena[f"slot{n % slots}"], n)
        gpu.memcpy_async(d, arena[f"slot{n % slots}"], s)


def ring_made_on_the_way(gpu: Gpu, slots: int = 8) -> None:
    """The same with slots that are made when they are first needed."""
    s, d = gpu.stream("s"), gpu.device("d")
    pinned = {}
    for n in gpu.steps():
        if n < slots:
            pinned[n] = gpu.pinned(f"slot{n}")
        gpu.write(pinned[n % slots], n)
        gpu.memcpy_async(d, pinned[n % slots], s)


def ring_over_a_list(gpu: Gpu, slots: int = 8) -> None:
    """The same with the step loop unrolled into a list first."""
    s, d = gpu.stream("s"), gpu.device("d")
    pinned = [gpu.pinned(f"slot{i}") for i in range(slots)]
    for n in list(gpu.steps()):
        gpu.write(pinned[n % slots], n)
        gpu.memcpy_async(d, pinned[n % slots], s)


RINGS = [ring, ring_of_parts, ring_made_on_the_way, ring_over_a_list]


def covers(verdict: Verdict) -> bool:
    """Whether a reader of this verdict is told of a mistake: refuted, or warned."""
    return verdict.outcome is Outcome.REFUTED or any(ONCE in said for said in verdict.warnings)


@pytest.mark.parametrize("engine", ["order", "machine"])
def test_a_wait_skipped_late(engine: str) -> None:
    """Enough steps refute it, at that step."""
    verdict = check(skipped_once, steps=48, engine=engine)
    assert verdict.outcome is Outcome.REFUTED
    (edge,) = verdict.missing_edges
    assert [e.step for e in edge.counterexample if e.role] == [40, 39]


@pytest.mark.parametrize("steps", [None, 40])
def test_a_wait_skipped_later_than_the_check_looks(steps: int | None) -> None:
    """Fewer steps cannot: the verdict is bounded, and says by how many."""
    verdict = check(skipped_once, steps=steps)
    assert verdict.outcome is Outcome.HOLDS
    assert verdict.outcome is not Outcome.PROVED
    assert verdict.bounds[0] == f"{verdict.steps} steps"


@pytest.mark.parametrize("at", range(1, 48, 9))
def test_wherever_the_wait_is_skipped(at: int) -> None:
    """No step is special."""
    assert check(skipped_once, steps=48, at=at).outcome is Outcome.REFUTED


@pytest.mark.parametrize("slots", [1, 3, 8, 63])
@pytest.mark.parametrize("body", RINGS)
def test_a_ring_is_followed_round(body: Callable[..., None], slots: int) -> None:
    """Without a number of steps the check goes on until the first slot is used again."""
    verdict = check(body, slots=slots)
    assert verdict.outcome is Outcome.REFUTED, verdict.warnings


@pytest.mark.parametrize("slots", [2, 5, 8])
@pytest.mark.parametrize("body", RINGS)
def test_as_many_steps_as_slots(body: Callable[..., None], slots: int) -> None:
    """The mistake cannot show, and the verdict says that it could not; one more step refutes."""
    verdict = check(body, steps=slots, slots=slots)
    assert verdict.outcome is Outcome.HOLDS
    assert covers(verdict)
    assert check(body, steps=slots + 1, slots=slots).outcome is Outcome.REFUTED


def test_a_ring_that_is_too_long() -> None:
    """Past the largest size the check stops, and says what was used once."""
    verdict = check(ring, slots=200)
    assert (verdict.outcome, verdict.steps) == (Outcome.HOLDS, 64)
    assert covers(verdict)
    assert check(ring, slots=200, steps=201).outcome is Outcome.REFUTED


def test_no_warning_once_everything_was_used_again() -> None:
    """A warning that is always there is read by nobody."""

    def safe(gpu: Gpu) -> None:
        s, d = gpu.stream("s"), gpu.device("d")
        slots = [gpu.pinned(f"slot{i}") for i in range(3)]
        for n in gpu.steps():
            s.synchronize()
            gpu.write(slots[n % 3], n)
            gpu.memcpy_async(d, slots[n % 3], s)

    assert check(safe, steps=6).warnings == ()
    assert check(safe).warnings == ()
    assert ONCE in check(safe, steps=5).warnings[0]
