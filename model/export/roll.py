"""Rolling the actions of a thread into loops: over steps, and over layers within a step.

Steps repeat with a period (the slots are used in turn); in a repetition each version is the same
again, or has grown by the period: then it is the step counter plus an offset.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from .action import Action, Loop, Operation, Plus, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_PERIOD = 32
LONGEST_BLOCK = 16


def rolled(actions: list[Action]) -> list[Any]:
    """Code for a straight line of actions."""
    groups = [(step, list(group)) for step, group in groupby(actions, lambda a: a.step)]
    numbered = [step for step, _group in groups if step is not None]
    if numbered != sorted(set(numbered)) or len(numbered) < 3:
        return runs(actions)
    first = next(at for at, (step, _group) in enumerate(groups) if step is not None)
    body = groups[first : first + len(numbered)]
    if [step for step, _group in body] != list(
        range(body[0][0] or 0, (body[0][0] or 0) + len(body))
    ):
        return runs(actions)
    before = [action for _step, group in groups[:first] for action in group]
    after = [action for _step, group in groups[first + len(body) :] for action in group]
    return [
        *runs(before),
        *over_steps([group for _s, group in body], body[0][0] or 0),
        *runs(after),
    ]


def over_steps(groups: list[list[Action]], number: int) -> list[Any]:
    """The step loop: some first steps as they are, a loop, and what is left over."""
    skipped, period = best_period(groups)
    times = (len(groups) - skipped) // period if period else 0
    if times < 2:
        return [part for group in groups for part in runs(group)]
    until = skipped + times * period
    body: list[Any] = []
    for at in range(skipped, skipped + period):
        body += runs(counted(groups[at], groups[at + period], number + skipped))
    found = [part for group in groups[:skipped] for part in runs(group)]
    found.append(Loop(times, body, number + skipped, period))
    return found + [part for group in groups[until:] for part in runs(group)]


def best_period(groups: list[list[Action]]) -> tuple[int, int]:
    """How many steps come before the repetition, and its period; the shortest code wins."""
    best = (len(groups), 0, 0)
    for period in range(1, min(LONGEST_PERIOD, len(groups) // 2) + 1):
        skipped = first_repeated(groups, period)
        if len(groups) - skipped >= 2 * period:
            left = (len(groups) - skipped) % period
            best = min(best, (skipped + period + left, skipped, period))
    return best[1:]


def first_repeated(groups: list[list[Action]], period: int) -> int:
    """From which step on every step is like the one a period later."""
    last: dict[int, Any] = {}
    for at in range(len(groups) - period - 1, -1, -1):
        growth = compared(groups[at], groups[at + period], period)
        if growth is None or last.setdefault(at % period, growth) != growth:
            return at + 1
    return 0


def compared(first: list[Action], second: list[Action], period: int) -> tuple[bool, ...] | None:
    """Whether each value has grown by the period; None where anything else differs."""
    if len(first) != len(second):
        return None
    grown: list[bool] = []
    for one, other in zip(first, second, strict=True):
        if not alike(one, other, period, grown):
            return None
    return tuple(grown)


def alike(one: Any, other: Any, period: int, grown: list[bool]) -> bool:
    """Whether two things are the same but for values that grow; notes which do."""
    if type(one) is not type(other):
        return False
    if isinstance(one, Value):
        grown.append(one != other)
        return other.number in {one.number, one.number + period} and one.number >= 0
    if isinstance(one, Action):
        pairs = zip(one[2:], other[2:], strict=True)
        return all(alike(a, b, period, grown) for a, b in pairs)
    if isinstance(one, Operation):
        pairs = zip(one._replace(label=""), other._replace(label=""), strict=True)
        return all(alike(a, b, period, grown) for a, b in pairs)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(
            alike(a, b, period, grown) for a, b in zip(one, other, strict=True)
        )
    return bool(one == other)


def counted(group: list[Action], later: list[Action], start: int) -> list[Action]:
    """A step's actions with what has grown a period later as the step counter plus an offset."""
    return [replaced(one, other, start) for one, other in zip(group, later, strict=True)]


def replaced(one: Any, other: Any, start: int) -> Any:
    """The same, of anything."""
    if isinstance(one, Value):
        return one if one == other else Plus(one.number - start)
    if isinstance(one, tuple) and not isinstance(one, str):
        parts = (replaced(a, b, start) for a, b in zip(one, other, strict=True))
        return type(one)(*parts) if hasattr(one, "_fields") else tuple(parts)
    return one


def runs(actions: list[Action]) -> list[Any]:
    """A line of actions with blocks that are repeated on the spot as loops."""
    found: list[Any] = []
    marks = [bare(action) for action in actions]
    at = 0
    while at < len(actions):
        size, times = longest_run(marks, at)
        block = actions[at : at + size]
        found += block if times == 1 else [Loop(times, block)]
        at += size * times
    return found


def longest_run(marks: list[Any], at: int) -> tuple[int, int]:
    """The block here whose repetition covers most: its size, and how often it comes."""
    best, covered = (1, 1), 2
    for size in range(1, LONGEST_BLOCK + 1):
        times = 1 + sum(1 for _ in repeats(marks, at, size))
        if times > 2 and size * times > covered:
            best, covered = (size, times), size * times
    return best


def repeats(marks: list[Any], at: int, size: int) -> Iterator[int]:
    """The places at which the block comes again at once."""
    block = marks[at : at + size]
    following = at + size
    while len(block) == size and marks[following : following + size] == block:
        yield following
        following += size


def bare(action: Action) -> Any:
    """An action without its comment, for comparison."""
    return action[2:-2], tuple(op._replace(label="") for op in action.issues), action.updates
