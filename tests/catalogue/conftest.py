"""What the catalogue's tests share: both engines, driven the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from streamorder.model.catalogue import catalogue
from streamorder.model.clocks import Clocks
from streamorder.model.contract import contract_named
from streamorder.model.explore import explore
from streamorder.model.host import Host
from streamorder.model.schedule import Schedule
from streamorder.model.search import Search

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from streamorder.model.contract import Contract
    from streamorder.model.explore import Exploration
    from streamorder.model.gpu import Gpu
    from streamorder.model.memory import Region


class Collecting(Clocks):
    """Collects what is wrong instead of stopping there."""

    def __init__(self, gpu: Gpu) -> None:
        super().__init__(gpu)
        self.found: list[tuple[Region, object]] = []

    def race(self, region: Region, /) -> None:
        """Two accesses without an order."""
        self.found.append((region, "race"))

    def wrong(self, region: Region, expected: object, /) -> None:
        """A read in order, of a version that was not expected."""
        self.found.append((region, expected))


def host_of(name: str, steps: int, **parameters: int) -> Host:
    """Return a fresh host that runs this protocol."""
    return Host(catalogue()[name].bind(parameters), steps)


def holds_by_order(
    host: Host, contract: Contract, uncertain: tuple[str, ...]
) -> tuple[bool, set[str]]:
    """Whether the order engine finds nothing in any host schedule, and the promises consulted."""
    holds, consulted = True, set[str]()
    for schedule in Search(lambda: Schedule(host, contract, uncertain, Collecting(host.gpu))):
        assert isinstance(schedule.clocks, Collecting)
        holds = holds and not schedule.clocks.found and not schedule.blocked()
        consulted |= schedule.front.consulted
    host.verify()
    return holds, consulted


def readings(name: str, contract: str, steps: int, **parameters: int) -> Iterator[bool]:
    """Decide by both engines, which must agree, with each promise that is met broken and kept."""
    promises = contract_named(contract)
    decided: set[Contract] = set()
    met: set[str] = set()
    while waiting := [r for r in promises.readings(sorted(met)) if r not in decided]:
        for reading in waiting:
            host = host_of(name, steps, **parameters)
            by_order, consulted = holds_by_order(host, reading, promises.uncertain)
            by_machine = explore(host_of(name, steps, **parameters), reading).holds
            assert by_order == by_machine, f"{name} under {reading}: {by_order=} {by_machine=}"
            decided.add(reading)
            met |= consulted
            yield by_order


@pytest.fixture(scope="session")
def decide() -> Callable[..., str]:
    """`decide(name, contract, steps, **parameters)`: the verdict of a bounded check."""

    def decided(name: str, contract: str, steps: int, **parameters: int) -> str:
        held = list(readings(name, contract, steps, **parameters))
        if any(held):
            return "HOLDS" if all(held) else "UNDETERMINED"
        return "REFUTED"

    return decided


@pytest.fixture(scope="session")
def walk() -> Callable[..., Exploration]:
    """`walk(name, contract, steps, **parameters)`: every state there is."""

    def walked(name: str, contract: str, steps: int, **parameters: int) -> Exploration:
        weakest = contract_named(contract).readings()[0]
        return explore(host_of(name, steps, **parameters), weakest)

    return walked
