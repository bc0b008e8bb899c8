"""Which operations anybody waits for: only those need to be counted.

A record after the copies stands for the last copy, so that nothing ever asks whether the kernels
before it are done. What tails and snapshots stand for is followed through a thread's code, loops
until nothing is new; whatever enters a place that several threads use counts as waited for, and so
does everything where a thread branches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .action import Action, Branch, Loop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .action import Atoms

Origin = tuple[int, int]
"""An operation by its action's identity and its number there."""


def with_watched(code: dict[int, list[Any]]) -> dict[int, list[Any]]:
    """The code of all threads, with `watched` false where nobody waits for an operation."""
    users: dict[Any, set[int]] = {}
    for thread, parts in code.items():
        for action in flat(parts):
            for place in places_of(action):
                users.setdefault(place, set()).add(thread)
    common = {place for place, threads in users.items() if len(threads) > 1}
    return {thread: Watch(parts, common).code() for thread, parts in code.items()}


class Watch:
    """Follows one thread's code; `found` are the operations that something waits for."""

    def __init__(self, parts: list[Any], common: set[Any]) -> None:
        self.parts = parts
        self.common = common
        self.held: dict[Any, frozenset[Origin]] = {}
        self.found: set[Origin] = set()

    def code(self) -> list[Any]:
        """The code, marked."""
        if any(isinstance(part, Branch) for part in self.parts):
            return self.parts
        self.follow(self.parts)
        return self.marked(self.parts)

    def follow(self, parts: list[Any]) -> None:
        """What each place holds after a piece of code."""
        for part in parts:
            if isinstance(part, Loop):
                before = None
                while before != self.held:
                    before = dict(self.held)
                    self.follow(part.body)
                    for place, origins in before.items():
                        self.held[place] = origins | self.held.get(place, frozenset())
            elif isinstance(part, Action):
                self.carry_out(part)

    def carry_out(self, action: Action) -> None:
        """One action: what it asks for, then what it puts where."""
        if action.guard and action.guard[0] in {"done", "pending"}:
            self.found |= self.origins(action, action.guard[1])
        for op in action.issues:
            for origin in self.origins(action, op.before):
                if self.lanes[origin] != op.lane:
                    self.found.add(origin)
        after = {place: self.origins(action, atoms) for place, atoms in action.updates}
        for place, origins in after.items():
            if place in self.common:
                self.found |= origins
        self.held.update(after)

    @property
    def lanes(self) -> dict[Origin, int]:
        """The lane of each operation."""
        if not hasattr(self, "_lanes"):
            self._lanes = {
                (id(action), at): op.lane
                for action in flat(self.parts)
                for at, op in enumerate(action.issues)
            }
        return self._lanes

    def origins(self, action: Action, atoms: Atoms) -> frozenset[Origin]:
        """The operations that atoms can stand for."""
        found: frozenset[Origin] = frozenset()
        for kind, at in atoms:
            found |= {(id(action), at)} if kind == "op" else self.held.get(at, frozenset())
        return found

    def marked(self, parts: list[Any]) -> list[Any]:
        """A piece of code with what was found."""
        return [
            part._replace(body=self.marked(part.body))
            if isinstance(part, Loop)
            else part._replace(
                issues=tuple(
                    op._replace(watched=(id(part), at) in self.found)
                    for at, op in enumerate(part.issues)
                )
            )
            for part in parts
        ]


def flat(parts: list[Any]) -> Iterator[Action]:
    """Every action in a piece of code."""
    for part in parts:
        if isinstance(part, Action):
            yield part
        elif isinstance(part, Loop):
            yield from flat(part.body)
        elif isinstance(part, Branch):
            for way in part.ways:
                yield from flat(way)


def places_of(action: Action) -> Iterator[Any]:
    """The tails and snapshots that an action reads or changes."""
    sets = [atoms for _place, atoms in action.updates] + [op.before for op in action.issues]
    if action.guard and action.guard[0] in {"done", "pending"}:
        sets.append(action.guard[1])
    yield from (place for place, _atoms in action.updates)
    yield from (at for atoms in sets for kind, at in atoms if kind == "cell")
