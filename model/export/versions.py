"""Versions as the small numbers that SPIN and TLC compute with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..memory import POISON, UNINITIALISED, UNWRITTEN

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST = 30_000
"""Numbers up to here stand for themselves: they fit into Promela's `short`."""

NAMES = {-1: "nothing", -2: "uninitialised", -3: "freed memory"}


class Versions:
    """Numbers for versions: small whole numbers are themselves, anything else gets one from -10
    down. Equal versions have one number, as they are one version to a reader.
    """

    def __init__(self) -> None:
        self.numbers: dict[object, int] = {UNWRITTEN: -1, UNINITIALISED: -2, POISON: -3}

    def number(self, version: object) -> int:
        """The version's number."""
        if isinstance(version, (int, float)) and version == int(version) and 0 <= version < LARGEST:
            return int(version)
        return self.numbers.setdefault(version, -7 - len(self.numbers))

    def named(self) -> Iterator[tuple[int, str]]:
        """Those that do not stand for themselves, with what they stand for."""
        for version, number in self.numbers.items():
            yield number, NAMES.get(number, repr(version))
