"""What a host thread's function can reach, frozen, so that a later change of it shows.

Host threads may share API objects only: a checker traces each thread on its own, so a Python
variable that one thread writes and another reads would be decided wrongly.
"""

from __future__ import annotations

import sys
from collections import deque
from io import IOBase
from operator import is_
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from .errors import BadProtocol
from .state_names import MISSING, Globals, Named, globals_of, names_in
from .state_parts import CONSTANTS, CONTENT, REMEMBERED, STILL, WHOLE, reader
from .whose import is_installed, is_library, of_library

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .state_parts import Read
    from .where import Where

    Found = tuple[Read, Any, list[Any]]
    """How to read a thing, the thing, and the parts that it had."""

END = object()

UNCHANGED = {tuple, frozenset, Globals}
"""What is always made of the same parts, or is read elsewhere."""


def joined(found: list[Found]) -> Iterator[tuple[Read, Any]]:
    """The globals of each module that any function names, read at once."""
    names: dict[int, set[str]] = {}
    owners: dict[int, Any] = {}
    for _, one, _ in found:
        if type(one) is Globals:
            owners[id(one.owner)] = one.owner
            names.setdefault(id(one.owner), set()).update(one.names)
    for key, owner in owners.items():
        merged = Globals(owner, tuple(names[key]))
        yield merged.read, merged


class Holding:
    """What was reached, how to read it, and what was read: the parts of all, set apart by `END`.

    While the parts are kept, none of them can be taken for a later object at the same address.
    """

    __slots__ = ("found", "parts", "reads")

    def __init__(self, walks: Iterable[Walk]) -> None:
        self.found = [one for walk in walks for one in walk.found]
        own = {id(one): (read, one) for read, one, _ in self.found if type(one) not in UNCHANGED}
        self.reads = [*own.values(), *joined(self.found)]
        self.parts = self.read()

    def read(self) -> list[Any]:
        """The parts of everything, now."""
        parts: list[Any] = []
        for read, thing in self.reads:
            parts += read(thing)
            parts.append(END)
        return parts


def untouched(holding: Holding) -> bool:
    """Whether each part is the very object that it was: then nothing has changed, and nothing
    needs to be compared. If not, something may have.
    """
    now, before = holding.read(), holding.parts
    return len(now) == len(before) and all(map(is_, now, before))


class Walk:
    """Everything that can be reached from `thing`, each object once, in one order.

    Reaches closure cells, globals that the code names, defaults, attributes, contents and classes
    of the user. Raises `BadProtocol` for what hides its state, as an iterator does its position;
    what is reached only through names in somebody else's module comes last, and is not refused.

    `found` is what was read, `shape` a value that changes when any of it does.
    """

    def __init__(self, thing: object, where: Where | None = None) -> None:
        self.where = where
        self.found: list[Found] = []
        self.numbers: dict[int, int] = {}
        self.waiting: deque[Any] = deque()
        self.later: deque[Named] = deque()
        self.named: set[tuple[int, tuple[str, ...]]] = set()
        self.lenient = False
        self.start(thing)
        self.shape = [(self.kind(one), *map(self.token, parts)) for _, one, parts in self.found]

    def start(self, thing: object) -> None:
        """Go through everything."""
        self.reach([thing])
        while self.waiting or self.later:
            while self.waiting:
                self.visit(self.waiting.popleft())
            self.lenient = True
            if self.later:
                self.visit_named(self.later.popleft())

    def visit(self, thing: Any) -> None:
        """Read one thing."""
        read = reader(type(thing))
        parts = self.parts(read, thing)
        self.found.append((read, thing, parts))
        self.reach(parts)
        if type(thing) is FunctionType:
            found = globals_of(thing)
            values = found.read(found)
            self.found.append((found.read, found, values))
            self.name([*parts, *values], names_in(thing.__code__))
            self.reach(values)

    def visit_named(self, named: Named) -> None:
        """Read what is named in somebody else's module."""
        parts = named.read(named)
        self.found.append((named.read, named, parts))
        self.name(parts, named.names)
        self.reach(part for part in parts if is_followed(part))

    def parts(self, read: Read, thing: Any) -> list[Any]:
        """What a thing is made of; refuses what hides it."""
        if hasattr(type(thing), "__next__") and not (
            isinstance(thing, IOBase) and not thing.readable()
        ):
            return self.hidden(thing, "an iterator", "its position is Python state")
        try:
            return read(thing)
        except Exception:  # noqa: BLE001 - what an object raises that cannot be copied
            return self.hidden(thing, "an object", "its state cannot be seen")

    def hidden(self, thing: Any, what: str, why: str) -> list[Any]:
        """Refuse what hides its state, unless it is somebody else's."""
        if self.lenient:
            return []
        raise BadProtocol(
            f"host threads share {what} ({type(thing).__name__}): {why}; threads may share API "
            "objects only",
            str(self.where) if self.where else None,
        )

    def name(self, parts: list[Any], names: tuple[str, ...]) -> None:
        """What the names stand for in modules and classes of somebody else's."""
        for part in parts:
            if isinstance(part, (type, ModuleType)) and of_library(part):
                key = id(part), names
                if key not in self.named:
                    self.named.add(key)
                    self.later.append(Named(part, names))

    def reach(self, parts: Iterable[Any]) -> None:
        """Go on to what has parts of its own."""
        for part in parts:
            if id(part) not in self.numbers and not is_still(part):
                self.numbers[id(part)] = len(self.numbers)
                self.waiting.append(part)

    def kind(self, thing: Any) -> int:
        """What a thing is known by besides its parts: most by being that very object."""
        cls = type(thing)
        nameless = cls in WHOLE or cls in {Globals, Named}
        return id(cls) if nameless else id(thing)

    def token(self, part: Any) -> object:
        """A part: a constant by its value, another by its place in the order or its identity."""
        cls = type(part)
        if cls in CONSTANTS:
            return cls, repr(part) if cls is float or cls is complex else part
        return self.numbers.get(id(part), (None, id(part)))


def is_still(part: Any) -> bool:
    """Whether a thing has no parts that could change."""
    cls = type(part)
    if cls in CONSTANTS or cls in STILL or part is MISSING or cls.__module__ in REMEMBERED:
        return True
    return isinstance(part, (type, ModuleType)) and of_library(part)


def is_followed(part: Any) -> bool:
    """Whether what a module of somebody else's holds may be the user's, or state."""
    cls = type(part)
    if cls is FunctionType:
        return not is_installed(part.__code__.co_filename)
    if isinstance(part, IOBase) or part is sys.modules:
        return False
    return cls in CONTENT or not is_library(cls.__module__) or bool(cls.__dictoffset__)
