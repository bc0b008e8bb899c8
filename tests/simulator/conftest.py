"""What is compared: everything that the machine and the simulator visit of a program."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from streamorder.model.explore import explore as visit
from streamorder.model.host import Host
from streamorder.sim.explore import explore
from streamorder.sim.timed import Costs

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder.model.contract import Contract
    from streamorder.model.explore import Exploration as Walk
    from streamorder.model.memory import Region
    from streamorder.sim.explore import Exploration

RANDOM = Path(__file__).resolve().parents[1] / "random_programs" / "conftest.py"


class Visited(NamedTuple):
    """Counts, and all that is wrong, in one form for both."""

    holds: bool
    states: int
    transitions: int
    deadlocks: int
    races: frozenset[str]
    wrongs: frozenset[tuple[str, object, str]]
    outcomes: frozenset[Any]


def named(region: Region) -> str:
    """A region by the first name that its memory had."""
    return repr(region.buffer.gpu.regions[region.slot])


def by_machine(walk: Walk) -> Visited:
    """What the machine visited."""
    return Visited(
        walk.holds,
        walk.states,
        walk.transitions,
        len(walk.deadlocks),
        frozenset(named(first.region) for _state, first, _second in walk.hazards),
        frozenset((repr(w.region), w.expected, repr(w.found)) for _s, _t, w in walk.wrongs),
        frozenset(frozenset(memory.items()) for memory in walk.outcomes),
    )


def by_simulator(found: Exploration) -> Visited:
    """What the simulator visited."""
    return Visited(
        found.holds,
        found.states,
        found.transitions,
        len(found.deadlocks),
        frozenset(region for _first, _second, region in found.races),
        frozenset((repr(w.region), w.expected, repr(w.found)) for _site, w in found.wrongs),
        frozenset(found.outcomes),
    )


@pytest.fixture(scope="session")
def both() -> Callable[..., tuple[Visited, Visited]]:
    """`both(body, steps, contract, most)`: the machine's account and the simulator's, of a program
    traced for each; `BudgetSpent` past so many states. `full` keeps in the machine's states what
    only several threads need there.
    """

    def compare(
        body: Callable[..., None],
        steps: int,
        contract: Contract,
        most: int = 100_000,
        *,
        full: bool = False,
    ) -> tuple[Visited, Visited]:
        host = Host(body, steps)
        host.gpu.threads_used = full
        walk = visit(host, contract, max_states=most)
        found = explore(Host(body, steps), contract, max_states=10 * most)
        assert found.complete
        return by_machine(walk), by_simulator(found)

    return compare


@pytest.fixture(scope="session")
def kit() -> Any:
    """Everything about random programs."""
    name = "random_programs_kit"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, RANDOM)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name].Kit()


class Drawn(Costs):
    """Costs drawn from a few: now and then nothing, so that much happens at one time."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311

    def call(self, cursor: Any) -> float:
        """Host time of a call."""
        del cursor
        return self.rng.choice((0.0, 1e-6, 5e-6))

    returning = call

    def op(self, op: Any) -> float:
        """Device time of an operation."""
        del op
        return self.rng.choice((0.0, 1e-6, 1e-5, 3e-5))


@pytest.fixture(scope="session")
def drawn() -> Callable[[int], Drawn]:
    """`drawn(seed)`: random costs."""
    return Drawn
