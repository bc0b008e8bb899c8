"""What the tests of the engines share: everything that each engine finds, in one form."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from streamorder import catalogue
from streamorder.model.again import from_the_start
from streamorder.model.contract import contract_named
from streamorder.model.edges import unordered
from streamorder.model.explore import Exploration, explore
from streamorder.model.host import Host
from streamorder.model.search import Search
from streamorder.model.tree import record, schedule_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Contract, Gpu
    from streamorder.model.host import Node
    from streamorder.model.machine import State, Transition

Race = tuple[int, frozenset[Any]]


class Facts(NamedTuple):
    """All that is wrong with a program, as one engine sees it.

    - `races`: memory (by slot) with the two source lines that meet there;
    - `wrongs`: memory, the version expected and the line that expects it;
    - `deadlock`: somebody may wait for ever.
    """

    races: frozenset[Race]
    wrongs: frozenset[tuple[int, object, object]]
    deadlock: bool


class Every:
    """Everything that the machine meets in a walk of all states, and how soon."""

    def __init__(self, body: Callable[[Gpu], None], steps: int, contract: Contract) -> None:
        self.walk: Exploration = explore(Host(body, steps), contract)
        self.depth: dict[State, int] = {}
        for state, edge in self.walk.parents.items():
            self.depth[state] = 0 if edge is None else self.depth[edge[0]] + 1

    def node(self, state: State, transition: Transition) -> Node:
        """The call that a transition belongs to."""
        if transition[0] == "op":
            return self.walk.machine.ops[transition[1]].node
        return state[0][transition[1]][0]

    def meetings(self) -> list[tuple[int, frozenset[Any], int]]:
        """Every hazard: memory, its two lines, and after how many transitions."""
        return [
            (
                first.region.slot,
                frozenset(self.node(state, a.transition).where for a in (first, second)),
                self.depth[state],
            )
            for state, first, second in self.walk.hazards
        ]

    def misreads(self) -> list[tuple[int, object, Any, int]]:
        """Every wrong version: memory, what was expected on which line, and after how many."""
        return [
            (
                wrong.region.slot,
                wrong.expected,
                self.node(state, transition).where,
                self.depth[state] + 1,
            )
            for state, transition, wrong in self.walk.wrongs
        ]

    @property
    def facts(self) -> Facts:
        """What it met."""
        return Facts(
            frozenset((slot, lines) for slot, lines, _after in self.meetings()),
            frozenset((slot, version, line) for slot, version, line, _a in self.misreads()),
            bool(self.walk.deadlocks),
        )


def by_schedules(body: Callable[[Gpu], None], steps: int, contract: Contract) -> Facts | None:
    """What the order engine finds in all host schedules; None where clocks cannot decide one."""
    host = Host(body, steps)

    def search() -> Facts | None:
        races, wrongs, deadlock = set[Race](), set[tuple[int, object, object]](), False
        for schedule in Search(lambda: schedule_of(host, contract, ())):
            if schedule.undecided:
                return None
            found = record(host, contract, schedule.steps)
            races |= {
                (pair.region.slot, frozenset((pair.first.node.where, pair.second.node.where)))
                for pair in unordered(found.moments)
            }
            wrongs |= {
                (region.slot, expected, moment.node.where)
                for moment, region, expected, _found in found.clocks.wrongs
            }
            deadlock = deadlock or bool(found.blocked() or found.hung())
        return Facts(frozenset(races), frozenset(wrongs), deadlock)

    return from_the_start(search)


@cache
def entry_by_states(name: str, steps: int, contract: Contract) -> Every:
    """The machine's walk of a catalogue entry."""
    return Every(catalogue()[name].bind({}), steps, contract)


@pytest.fixture(scope="session")
def walked() -> Callable[[str, str, int], Every]:
    """`walked(name, contract, steps)`: all states of an entry, under the weakest reading."""
    return lambda name, contract, steps: entry_by_states(
        name, steps, contract_named(contract).readings()[0]
    )


@pytest.fixture(scope="session")
def machine_facts() -> Callable[[Callable[[Gpu], None], int, Contract], Facts]:
    """`machine_facts(body, steps, contract)`: what the machine finds in all states."""
    return lambda body, steps, contract: Every(body, steps, contract).facts


@pytest.fixture(scope="session")
def order_facts() -> Callable[[Callable[[Gpu], None], int, Contract], Facts | None]:
    """`order_facts(body, steps, contract)`: what the order engine finds in all schedules."""
    return by_schedules
