"""What the tests of repair share: each catalogue entry is repaired once."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from streamorder.model.catalogue import catalogue
from streamorder.model.repair import repair
from streamorder.model.repair.offers import instructions
from streamorder.model.repair.places import source

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder.model.repair import Offer, Repairs
    from streamorder.model.repair.additions import Addition


HEAVY = (
    "sparse-decode/",
    "fp8-prefill/staged-stuck-slot",
    "corpus/C50-output-thread/one-event-released-late",
    "corpus/C71",
    "draft-kv-pointers/fp8-unpatched",
)
"""Entries with many host schedules, or several things wrong at once: they take seconds."""


class Written(NamedTuple):
    """An instruction: its side, the source line that it is about, what to write."""

    side: str
    line: str
    code: str


def written(additions: tuple[Addition, ...]) -> list[Written]:
    """The instructions of additions."""
    return [
        Written(said.side, source(said.where) if said.where else "", said.code)
        for said in instructions(additions)
    ]


@pytest.fixture(scope="session")
def repaired() -> Callable[[str], Repairs]:
    """`repaired(name)`: the repairs of a catalogue entry, found once and bounded."""

    @cache
    def once(name: str) -> Repairs:
        return repair(catalogue()[name], most=3, prove=False)

    return once


@pytest.fixture(scope="session")
def texts() -> Callable[[Offer], list[list[Written]]]:
    """`texts(offer)`: the instructions of an offer, and of those alike at other places."""

    def found(offer: Offer) -> list[list[Written]]:
        return [written(additions) for additions in (offer.additions, *offer.others)]

    return found


def refuted() -> list[str]:
    """The catalogue entries that are refuted under some contract."""
    return [name for name, entry in catalogue().items() if "REFUTED" in entry.expects.values()]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each refuted entry; one worker repairs an entry for all its tests."""
    if "refuted_name" in metafunc.fixturenames:
        metafunc.parametrize("refuted_name", [marked(name) for name in refuted()])


def marked(name: str) -> Any:
    """An entry as a parameter."""
    marks = [pytest.mark.xdist_group(name)]
    marks += [pytest.mark.slow] if name.startswith(HEAVY) else []
    return pytest.param(name, marks=marks)
