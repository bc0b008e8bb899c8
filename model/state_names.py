"""What a function's code can reach: by its closure, and by the names of globals and attributes."""

from __future__ import annotations

from functools import lru_cache
from itertools import repeat
from operator import attrgetter
from types import CellType, CodeType, FunctionType
from typing import Any

from .whose import is_standard

MISSING = object()
"""In place of what is not there."""


def in_pairs(mapping: Any) -> list[Any]:
    """The keys and the values of a dict."""
    return [*dict.keys(mapping), *dict.values(mapping)]


def function_parts(fn: FunctionType) -> list[Any]:
    """What a function has of its own: code, defaults, closure, attributes."""
    parts = [*OWN_PARTS(fn)]
    if fn.__closure__:
        parts += [content_of_cell(cell) for cell in fn.__closure__]
    if fn.__dict__:
        parts += in_pairs(fn.__dict__)
    return parts


OWN_PARTS = attrgetter("__code__", "__defaults__", "__kwdefaults__")


def globals_of(fn: FunctionType) -> Globals:
    """The globals that a function's code names; nothing of what the standard library keeps."""
    standard = is_standard(fn.__code__.co_filename)
    return Globals(fn.__globals__, () if standard else names_in(fn.__code__))


def content_of_cell(cell: CellType) -> object:
    """What a cell of a closure holds."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


@lru_cache(maxsize=4096)
def names_in(code: CodeType) -> tuple[str, ...]:
    """The names of globals and of attributes in a function's code."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return tuple(sorted(set(code.co_names).union(*(names_in(nested) for nested in inner))))


class Globals:
    """The globals of these names, in one module."""

    __slots__ = ("names", "owner")

    def __init__(self, owner: Any, names: tuple[str, ...]) -> None:
        self.owner = owner
        self.names = names

    def read(self, _self: object) -> list[Any]:
        """What is found under the names."""
        return [*map(self.owner.get, self.names, repeat(MISSING))]


class Named(Globals):
    """What the code of a function names in a module or class of somebody else's."""

    __slots__ = ()

    def read(self, _self: object) -> list[Any]:
        """What is found under the names."""
        return [*map(vars(self.owner).get, self.names, repeat(MISSING))]
