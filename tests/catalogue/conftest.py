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
    from streamorder.model.objects import Region


class Collecting(Clocks):
    """Collects what is wrong instead of stopping there."""

    def __init__(self, gpu: Gpu) -> None:
        super().__init__(gpu)
        self.found: list[tuple[Region, object]] = []

    def race(self, region: Region, verb: str) -> None:
        """Two accesses without an order."""
        self.found.append((region, verb))

    def wrong(self, region: Region, expected: object) -> None:
        """A read in order, of a version that was not expected."""
        self.found.append((region, expected))


def host_of(name: str, steps: int, **parameters: int) -> Host:
    """Return a fresh host that runs this protocol."""
    return Host(catalogue()[name].bind(parameters), steps)


def holds_by_order(host: Host, contract: Contract) -> bool:
    """Whether the order engine finds nothing in any host schedule."""
    holds = True
    for schedule in Search(lambda: Schedule(host, contract, (), Collecting(host.gpu))):
        assert isinstance(schedule.clocks, Collecting)
        holds = holds and not schedule.clocks.found and not schedule.blocked()
    host.verify()
    return holds


def readings(name: str, contract: str, steps: int, **parameters: int) -> Iterator[bool]:
    """Decide by both engines, which must agree, with each uncertain promise broken and kept."""
    for reading in contract_named(contract).readings():
        by_order = holds_by_order(host_of(name, steps, **parameters), reading)
        by_machine = explore(host_of(name, steps, **parameters), reading).holds
        assert by_order == by_machine, f"{name} under {reading}: {by_order=} {by_machine=}"
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
