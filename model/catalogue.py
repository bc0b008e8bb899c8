"""The catalogue: every protocol of the library by its name."""

from __future__ import annotations

from difflib import get_close_matches
from fnmatch import fnmatchcase
from importlib import import_module
from typing import TYPE_CHECKING

from .errors import BadInput
from .protocol import Protocol
from .protocols import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Iterable


def catalogue() -> dict[str, Protocol]:
    """Every protocol by name, family by family in the order in which they are written."""
    found: dict[str, Protocol] = {}
    for family in FAMILIES:
        module = import_module(f".protocols.{family}", __package__)
        for thing in vars(module).values():
            if isinstance(thing, Protocol) and found.setdefault(thing.name, thing) is not thing:
                raise ValueError(f"two protocols are called {thing.name!r}")
    return found


def names_a_file(target: str) -> bool:
    """Whether a command-line argument means a user's file (see `load`), not an entry."""
    return target.partition(":")[0].endswith(".py")


def find(patterns: Iterable[str]) -> list[Protocol]:
    """The protocols whose names match one of these shell patterns, in the catalogue's order.

    Raises `BadInput` for a pattern that matches none.
    """
    known = catalogue()
    wanted: set[str] = set()
    for pattern in patterns:
        matching = {name for name in known if fnmatchcase(name, pattern)}
        if not matching:
            raise _unknown(pattern, list(known))
        wanted |= matching
    return [entry for name, entry in known.items() if name in wanted]


def _unknown(pattern: str, names: list[str]) -> BadInput:
    """The refusal, with names that are spelled alike, with or without their family."""
    variants = {name.rpartition("/")[2]: name for name in names}
    close = get_close_matches(pattern, names, n=3)
    close += [variants[variant] for variant in get_close_matches(pattern, list(variants), n=3)]
    hint = ", ".join(list(dict.fromkeys(close))[:3])
    found = f"did you mean {hint}?" if hint else "no name is spelled like it"
    return BadInput(f"unknown protocol {pattern!r}: `streamorder list` shows all; {found}")
