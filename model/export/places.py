"""Code as numbered places with jumps, for a language without control flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .action import Action, Branch, Goto, Label, Loop

if TYPE_CHECKING:
    from collections.abc import Iterable


class Counting(NamedTuple):
    """A loop's bookkeeping: set its counter, add to it, or leave when it has reached `value`.

    `what` is `set`, `add` or `test`; `counter` is `n` (the step) or `i0`, `i1`, ...
    """

    what: str
    counter: str
    value: int
    otherwise: int = 0


class Entry(NamedTuple):
    """What can happen at a place, and where it leads. `what` is None for a way that is free."""

    place: int
    what: Action | Counting | None
    following: int


class Places:
    """A thread's code: `entries` by their places, from `first`; it rests at `end`."""

    def __init__(self, code: list[Any]) -> None:
        self.entries: list[Entry] = []
        self.count = 1
        self.labels: dict[int, int] = {}
        first = self.compiled(code, 0, 0)
        # It is compiled from the end; places are numbered from the beginning.
        self.end = self.count
        self.first = self.turned(first)
        self.entries = sorted(
            (self.renumbered(entry) for entry in self.entries), key=lambda entry: entry.place
        )

    def turned(self, place: int) -> int:
        """A place's number from the beginning; 0 is the end."""
        return self.end - place

    def renumbered(self, entry: Entry) -> Entry:
        """An entry with its numbers from the beginning."""
        what = entry.what
        if isinstance(what, Counting) and what.what == "test":
            what = what._replace(otherwise=self.turned(what.otherwise))
        return Entry(self.turned(entry.place), what, self.turned(entry.following))

    def place(self) -> int:
        """A new place."""
        self.count += 1
        return self.count - 1

    def add(self, what: Action | Counting | None, following: int, place: int | None = None) -> int:
        """An entry; its place."""
        place = self.place() if place is None else place
        self.entries.append(Entry(place, what, following))
        return place

    def compiled(self, code: Iterable[Any], following: int, depth: int) -> int:
        """The place where a piece of code begins, when `following` comes after it."""
        for part in reversed(list(code)):
            if isinstance(part, Action):
                following = self.add(part, following)
            elif isinstance(part, Loop):
                following = self.loop(part, following, depth)
            elif isinstance(part, Branch):
                following = self.branch(part, following, depth)
            elif isinstance(part, Label):
                self.labels[part.number] = following
            elif isinstance(part, Goto):
                following = self.labels[part.number]
        return following

    def loop(self, loop: Loop, following: int, depth: int) -> int:
        """A loop: set, test, body, add, back to the test."""
        counted = loop.first is not None
        counter, stride = ("n", loop.stride) if counted else (f"i{depth}", 1)
        first = loop.first or 0
        test = self.place()
        again = self.add(Counting("add", counter, stride), test)
        body = self.compiled(loop.body, again, depth if counted else depth + 1)
        last = first + loop.times * stride
        self.add(Counting("test", counter, last, following), body, test)
        return self.add(Counting("set", counter, first), test)

    def branch(self, branch: Branch, following: int, depth: int) -> int:
        """Several entries at one place."""
        place = self.place()
        for way in branch.ways:
            if way and isinstance(way[0], Action):
                self.add(way[0], self.compiled(way[1:], following, depth), place)
            else:
                self.add(None, self.compiled(way, following, depth), place)
        return place
