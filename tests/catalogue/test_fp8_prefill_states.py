"""How many states the machine visits: exactly as many as a count by hand.

A change of a rule, or of what belongs to a state, shows here as a changed number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder.model.explore import Exploration

STATES_OF_STAGED = [(2, 1, 112), (4, 1, 252), (4, 2, 435), (4, 3, 548), (6, 3, 968)]
"""How many states `staged` has with so many (steps, slots)."""


def direct_states(steps: int, contract: str) -> int:
    """Count the states of `direct` by hand: a state is where the host is and what is done.

    With two kernels a step, step n has 2n kernels issued until its first launch, any number of
    them done, and one more until its second. Under HIP a copy is pending only while it is awaited:
    12 places (before the planner's write, before and within five copies, before the launch). Under
    CUDA a copy may be pending or not at each of these, but for the three before the first copy.
    """
    pending = 1 if contract == "hip" else 2
    places = [12 * pending - (3 if contract == "cuda" and n == 0 else 0) for n in range(steps)]
    first = sum(place * (2 * n + 1) for n, place in enumerate(places))
    second = sum(pending * (2 * n + 2) for n in range(steps))
    return first + second + pending * (2 * steps + 1)


def staged_states(steps: int, slots: int, copies: int) -> int:
    """Count the states of the staged slots by hand.

    There is one stream: a state is where the host is and how many operations are done, at least
    those that it has awaited. The slot of step n was last copied in step n - slots.
    """
    each = copies + 2
    awaited = total = 0
    for n in range(steps):
        issued = each * n
        total += issued - awaited + 1  # before the wait
        last_copy = each * (n - slots) + copies
        total += max(0, last_copy - awaited)  # within the wait
        awaited = max(awaited, last_copy)
        total += issued - awaited + 1  # before the planner's write
        total += sum(issued + i - awaited + 1 for i in range(copies))  # before each copy
        issued += copies
        total += 2 * (issued - awaited + 1)  # before the record, before the first launch
        total += issued + 1 - awaited + 1  # before the second launch
    return total + each * steps - awaited + 1


@pytest.mark.parametrize(
    ("contract", "steps", "count"),
    [
        ("hip", 1, 17),
        ("hip", 2, 59),
        ("hip", 4, 221),
        ("cuda", 1, 31),
        ("cuda", 2, 115),
        ("cuda", 4, 439),
    ],
)
def test_states_of_direct(
    contract: str, steps: int, count: int, walk: Callable[..., Exploration]
) -> None:
    """Exactly so many states, as counted by hand."""
    found = walk("fp8-prefill/direct", contract, steps)
    assert found.complete
    assert found.states == count == direct_states(steps, contract)


@pytest.mark.parametrize("contract", ["cuda", "hip"])
@pytest.mark.parametrize(("steps", "slots", "count"), STATES_OF_STAGED)
def test_states_of_staged(
    steps: int, slots: int, count: int, contract: str, walk: Callable[..., Exploration]
) -> None:
    """Exactly so many states, as counted by hand, and the same under each contract."""
    found = walk("fp8-prefill/staged", contract, steps, slots=slots)
    assert found.complete
    assert found.states == count == staged_states(steps, slots, copies=5)


@pytest.mark.parametrize(("slots", "count"), [(1, 96), (2, 135), (3, 156)])
def test_states_of_staged_packed(slots: int, count: int, walk: Callable[..., Exploration]) -> None:
    """Exactly so many states, with one copy instead of five."""
    found = walk("fp8-prefill/staged-packed", "hip", 4, slots=slots)
    assert found.complete
    assert found.states == count == staged_states(4, slots, copies=1)
