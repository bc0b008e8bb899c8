"""What the tests of the families share: the entries by name, and what is wrong with one."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from streamorder import Protocol
from streamorder.model.contract import contract_named
from streamorder.model.explore import explore
from streamorder.model.host import Host

if TYPE_CHECKING:
    from collections.abc import Callable

MODULES = (
    "fp8_prefill_graph",
    "sparse_decode",
    "persistent_decode",
    "sync_audit",
    "draft_kv_pointers",
)


@pytest.fixture(scope="session")
def entries() -> dict[str, Protocol]:
    """Every protocol that these modules declare, by name."""
    things = [
        thing
        for module in MODULES
        for thing in vars(import_module(f"streamorder.model.protocols.{module}")).values()
    ]
    return {thing.name: thing for thing in things if isinstance(thing, Protocol)}


@pytest.fixture(scope="session")
def spoilt(entries: dict[str, Protocol]) -> Callable[..., set[str]]:
    """`spoilt(name, contract, steps)`: every region that is raced for or found wrong, anywhere.

    From all states of the machine, which goes on past what is wrong.
    """

    def regions(name: str, contract: str, steps: int = 2) -> set[str]:
        host = Host(entries[name].bind({}), steps)
        walk = explore(host, contract_named(contract).readings()[0])
        assert walk.complete
        raced = {repr(access.region) for _state, access, _other in walk.hazards}
        return raced | {repr(wrong.region) for _state, _step, wrong in walk.wrongs}

    return regions
