"""Every schedule of a protocol: executions run again from the start, pruned where states meet.

A SimPy environment cannot be copied, so each execution begins anew: it follows choices that lead to
a state where one was left open, takes that one, and goes on until it comes to a state that an
earlier execution has been in. States are compared in full, so nothing is lost by that.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.again import from_the_start
from .execution import Execution, named, stuck

if TYPE_CHECKING:
    from ..model.contract import Contract
    from ..model.host import Host
    from ..model.verdict import Site
    from .contents import Wrong
    from .execution import State
    from .untimed import Choice

# The way to a state: the last choice and the way before it; None for the start.
Way = Any


class Bad(NamedTuple):
    """Something wrong that can happen.

    - `kind` is `race`, `wrong version` or `deadlock`; `sites` are the calls concerned;
    - `region` is the memory, None for a deadlock; `wrong` what an access found, if that is wrong;
    - `schedule` is a way there: the choices from the start;
    - `others` is other memory for which the same lines are at fault.
    """

    kind: str
    sites: tuple[Site, ...]
    region: str | None
    wrong: Wrong | None
    schedule: tuple[Choice, ...]
    others: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[Any, ...]:
        """What makes it the same as another: its kind and its lines, the older call first."""
        return self.kind, *(site.where for site in self.sites)


class Exploration:
    """What an exploration found.

    - `states`, `transitions` and `executions` count what was visited; `complete` says whether that
      was all;
    - `races` holds the states of each two accesses (by call and region) that were possible
      together, `wrongs` the transitions in which an access found a wrong version, `deadlocks` the
      states in which nothing can happen though not all is finished;
    - `outcomes` are the contents of memory in finished states.
    """

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.known: dict[State, int] = {}
        self.edges: list[list[tuple[Choice, int]]] = []
        self.executions = 0
        self.complete = False
        self.races: dict[tuple[Site, Site, str], list[int]] = {}
        self.wrongs: dict[tuple[Site, Wrong], list[tuple[int, Choice]]] = {}
        self.deadlocks: dict[int, tuple[Site, ...]] = {}
        self.outcomes: set[frozenset[tuple[str, Any]]] = set()
        self.consulted: set[str] = set()

    @property
    def states(self) -> int:
        """How many states were visited."""
        return len(self.known)

    @property
    def transitions(self) -> int:
        """How many steps lead from one of them to the next."""
        return sum(len(edges) for edges in self.edges)

    @property
    def bad(self) -> bool:
        """Whether something wrong was met."""
        return bool(self.races or self.wrongs or self.deadlocks)

    @property
    def holds(self) -> bool:
        """Whether everything was visited and nothing was wrong."""
        return self.complete and not self.bad

    def number(self, state: State) -> tuple[int, bool]:
        """The number of a state, and whether it is new."""
        new = len(self.known)
        found = self.known.setdefault(state, new)
        if found == new:
            self.edges.append([])
        return found, found == new

    def schedules(self) -> dict[int, tuple[Choice, ...]]:
        """A shortest schedule to each state, among the steps that were visited."""
        ways: dict[int, tuple[Choice, ...]] = {0: ()}
        waiting = deque([0])
        while waiting:
            state = waiting.popleft()
            for choice, after in self.edges[state]:
                if after not in ways:
                    ways[after] = (*ways[state], choice)
                    waiting.append(after)
        return ways

    def worst(self) -> list[Bad]:
        """Every distinct thing that is wrong, by its source lines, each with its shortest schedule,
        the shortest first. Beside races, wrong versions are left out: a race lets most of them
        through, and what it does not will show once it is mended.
        """
        ways = self.schedules()

        def nearest(states: list[int]) -> tuple[Choice, ...]:
            return min((ways[state] for state in states), key=len)

        found = [
            Bad("race", (first, second), region, None, nearest(states))
            for (first, second, region), states in self.races.items()
        ]
        for (site, wrong), steps in () if found else self.wrongs.items():
            way = min(((*ways[state], choice) for state, choice in steps), key=len)
            found.append(Bad("wrong version", (site,), repr(wrong.region), wrong, way))
        found += [
            Bad("deadlock", sites, None, None, ways[state])
            for state, sites in self.deadlocks.items()
        ]
        return distinct(found)


def distinct(found: list[Bad]) -> list[Bad]:
    """One for each kind and source lines, with all the memory concerned, the shortest first."""
    by_lines: dict[tuple[Any, ...], Bad] = {}
    for bad in sorted(found, key=lambda bad: len(bad.schedule)):
        known = by_lines.setdefault(bad.lines, bad)
        regions = (known.region, *known.others)
        if bad.region is not None and bad.region not in regions:
            by_lines[bad.lines] = known._replace(others=(*known.others, bad.region))
    return list(by_lines.values())


def explore(
    host: Host,
    contract: Contract,
    uncertain: tuple[str, ...] = (),
    *,
    shortest: bool = False,
    max_states: int = 200_000,
    enough: int | None = None,
    deadline: float | None = None,
) -> Exploration:
    """Visit every state that a program can be in.

    `shortest` goes breadth-first and stops at the first thing that is wrong, which has then a
    shortest schedule. Past `max_states` (once something is wrong past `enough`, if that is less),
    or after `deadline` (on `time.monotonic`), the exploration is returned as it is, with `complete`
    false.
    """
    limits = Limits(max_states, max_states if enough is None else enough, deadline)
    return from_the_start(lambda: Explorer(host, contract, uncertain, shortest, limits).explore())


class Limits(NamedTuple):
    """How far an exploration goes: states, states once something is wrong, and when it ends."""

    states: int
    enough: int
    deadline: float | None


class Explorer:
    """The search: ways that are still open, and what was found."""

    def __init__(
        self,
        host: Host,
        contract: Contract,
        uncertain: tuple[str, ...],
        shortest: bool,
        limits: Limits,
    ) -> None:
        self.program = host, contract, uncertain
        self.shortest = shortest
        self.limits = limits
        self.found = Exploration()
        self.open: deque[tuple[Way, int]] = deque()

    def explore(self) -> Exploration:
        """Execute until no way is open."""
        self.execute(None, 0)
        while self.open:
            if self.shortest and self.found.bad:
                return self.found
            if self.over():
                return self.found
            way, state = self.open.popleft() if self.shortest else self.open.pop()
            self.execute(way, state)
        self.found.complete = True
        return self.found

    def over(self) -> bool:
        """Whether the budget is spent."""
        states, enough, deadline = self.limits
        late = deadline is not None and time.monotonic() > deadline
        return late or self.found.states > (min(states, enough) if self.found.bad else states)

    def execute(self, way: Way, origin: int) -> None:
        """Follow a way to its last choice, which no execution has taken, and go on from there."""
        found = self.found
        found.executions += 1
        execution = Execution(*self.program, found.numbers)
        if way is None:
            state, new = found.number(execution.state())
        else:
            execution.replay(choices_of(way[0]))
            state, new = self.step(execution, origin, way[1])
        while new:
            choices = self.visit(execution, state)
            if self.shortest or not choices:
                self.open.extend(((way, choice), state) for choice in choices)
                break
            self.open.extend(((way, choice), state) for choice in choices[:0:-1])
            way = way, choices[0]
            state, new = self.step(execution, state, choices[0])
        found.consulted |= execution.sim.front.consulted

    def step(self, execution: Execution, origin: int, choice: Choice) -> tuple[int, bool]:
        """Take a choice that no execution has taken in this state."""
        found = self.found
        for site, wrong in execution.take(choice):
            found.wrongs.setdefault((site, wrong), []).append((origin, choice))
        state, new = found.number(execution.state())
        found.edges[origin].append((choice, state))
        return state, new

    def visit(self, execution: Execution, state: int) -> list[Choice]:
        """Look at a state for the first time; everything that can happen next."""
        found = self.found
        for first, second in execution.hazards():
            key = (first.site, second.site, named(first.region))
            found.races.setdefault(key, []).append(state)
        choices = execution.enabled()
        if not choices and execution.finished:
            found.outcomes.add(execution.outcome())
        elif not choices:
            found.deadlocks[state] = stuck(execution)
        return choices


def choices_of(way: Way) -> list[Choice]:
    """The choices of a way, the first one first."""
    choices: list[Choice] = []
    while way is not None:
        way, choice = way
        choices.append(choice)
    return choices[::-1]
