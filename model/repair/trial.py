"""Trying edits: a protocol with them, decided under every contract, within a budget.

Nothing is offered that was not decided so. Results are kept: the search asks for subsets again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from ..again import from_the_start
from ..check import Limits, Question, by_reading
from ..clocks import Found
from ..decision import Decision
from ..direct import Branches, Direct, Spent, run
from ..errors import StreamorderError
from ..gpu import Gpu
from ..host import Host
from ..protocol import Protocol
from ..reasons import certain
from ..search import Search
from ..tree import edges_of, record, schedule_of, weigh
from .editor import edited
from .program import Traced
from .rewrite import Unfit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..contract import Contract
    from ..edges import Edge
    from ..recorder import Recording
    from ..witness import Wrong
    from .edits import Edit

SECONDS, EXECUTIONS, STATES = 2.0, 2_000, 60_000
"""What one trial may spend; one that needs more counts as failed, and the repair says so."""

MANY, FEWEST = 10, 3
"""From how many host schedules on fewer steps are tried, and how many."""

TRACED_SCHEDULES = 64
"""How many host schedules of a program are traced to list its calls."""


Finding = tuple[object, ...]
Findings = dict[str, frozenset[Finding]]
"""What is wrong under each contract, by name."""


class Trouble(NamedTuple):
    """What is wrong with a program under one contract.

    `wrong` are reads in order of a wrong version, which no order can mend, `edges` the missing
    edges; where both are empty something is stuck, or an overlap was lost. `decision` is the
    engine's.
    """

    contract: Contract
    decision: Decision
    recordings: list[Recording]
    edges: list[tuple[Edge, Recording]]
    wrong: list[tuple[Wrong, Recording]]

    @property
    def stuck(self) -> bool:
        """Whether something cannot go on."""
        return self.decision.hang or any(r.blocked() or r.hung() for r in self.recordings)

    def wrong_lines(self) -> set[tuple[object, ...]]:
        """The lines that read a wrong version in order, and of what."""
        return {("wrong", wrong[0].node.where, wrong[1].buffer.name) for wrong, _r in self.wrong}

    def lines(self) -> set[tuple[object, ...]]:
        """What tells one trouble from another: source lines."""
        found: set[tuple[object, ...]] = {edge.lines for edge, _recording in self.edges}
        found |= self.wrong_lines()
        found |= {("lost", node.where) for r in self.recordings for node in r.broken}
        if self.stuck:
            found.add(("stuck",))
        return found or {("machine",)}

    def findings(self) -> Iterator[Finding]:
        """All that tells what is wrong from something else: lines, and what is known of each."""
        for edge, _recording in self.edges:
            yield "unordered", *edge.lines, apart(edge), *modes(edge), names(edge)
        for (moment, region, *versions), _recording in self.wrong:
            yield "wrong", moment.node.where, moment.node.step, repr(region), repr(versions)
        for recording in self.recordings:
            for node in recording.broken:
                yield "lost", node.where
            held = [op.origin[0].node for op in recording.hung()]
            stuck = {node.where: None for node in (*recording.blocked(), *held)}
            if stuck:
                yield "stuck", *stuck
        if self.decision.hang or not self.recordings:
            yield ("stuck" if self.decision.hang else "machine",)


def apart(edge: Edge) -> tuple[bool, bool, int]:
    """How many steps are between the accesses of a missing edge."""
    first, second = (moment.node.step for moment in edge.pair[:2])
    return first is None, second is None, (second or 0) - (first or 0)


def modes(edge: Edge) -> Iterator[frozenset[str]]:
    """How each of the two accesses touches the memory: reads, writes, or writes what is there."""
    for moment in edge.pair[:2]:
        yield frozenset(
            str(mode) if isinstance(mode, bool) else "idempotent"
            for region, mode in moment.accesses()
            if region.slot == edge.pair.region.slot
        )


def names(edge: Edge) -> frozenset[str]:
    """The memory on which an edge is missing."""
    return frozenset(map(repr, edge.regions))


class Trials:
    """The trials of one protocol.

    - `count` is how many programs were decided; `unsettled` how many needed more than a trial may
      spend; `over` says that the budget ended.
    """

    def __init__(
        self,
        body: Callable[[Gpu], None],
        contracts: list[Contract],
        steps: int,
        *,
        checks: int,
        seconds: float,
    ) -> None:
        self.body = body
        self.contracts = contracts
        self.steps = steps
        self.checks = checks
        self.deadline = time.monotonic() + seconds
        self.count = 0
        self.unsettled = 0
        self.known: dict[frozenset[Edit], bool] = {}

    @property
    def over(self) -> bool:
        """Whether nothing more may be tried."""
        return self.count >= self.checks or time.monotonic() > self.deadline

    def more(self, seconds: float) -> None:
        """What follows the search has time of its own."""
        self.checks += self.count + self.checks
        self.deadline = time.monotonic() + seconds

    def shorten(self) -> None:
        """Fewer steps for a program with many host schedules, where the same is wrong with them."""
        whole, steps = self.trouble(frozenset()), self.steps
        if whole is None or whole.decision.executions < MANY:
            return
        self.steps = FEWEST
        fewer = self.trouble(frozenset())
        if fewer is None or fewer.lines() != whole.lines():
            self.steps = steps

    def program(self, edits: frozenset[Edit]) -> Callable[[Gpu], None]:
        """The protocol with edits, those at one place in the order of their texts."""
        return edited(self.body, tuple(sorted(edits, key=repr)))

    def holds(self, edits: frozenset[Edit]) -> bool:
        """Whether the protocol with these edits holds, bounded, under every contract."""
        if edits not in self.known:
            program = self.program(edits)
            self.known[edits] = all(self.holds_under(program, c) for c in self.contracts)
        return self.known[edits]

    def holds_under(self, program: Callable[[Gpu], None], contract: Contract) -> bool:
        """Whether a program holds under one contract."""
        if not self.fits(program, contract):
            return False
        decisions = self.decided(program, contract)
        if decisions is None:
            return False
        if any(decision.spent for _reading, decision in decisions):
            self.unsettled += 1
        return all(decision.holds and not decision.spent for _reading, decision in decisions)

    def fits(self, program: Callable[[Gpu], None], contract: Contract) -> bool:
        """A quick look: false where one pass under the weakest reading finds something wrong."""
        self.count += 1
        gpu = Gpu(self.steps)
        direct = Direct(gpu, contract.readings()[0], (), time.monotonic() + SECONDS)
        try:
            run(gpu, program, direct)
        except Found:
            return False
        except Branches:
            return self.fits_every_way(program, contract)
        except Spent:
            return True
        except (StreamorderError, Unfit):
            return False
        return direct.overlaps

    def fits_every_way(self, program: Callable[[Gpu], None], contract: Contract) -> bool:
        """The same for a program with choices or threads: false at the first bad schedule."""
        found = Decision()
        reading = contract.readings()[0]

        def look() -> None:
            deadline = time.monotonic() + SECONDS
            for schedule in Search(lambda: schedule_of(host, reading, ()), deadline):
                weigh(schedule, found)
                if not found.holds or found.undecided:
                    return

        try:
            host = Host(program, self.steps)
            from_the_start(look)
        except (StreamorderError, Unfit):
            return False
        return found.holds or found.undecided

    def decided(
        self, program: Callable[[Gpu], None], contract: Contract
    ) -> list[tuple[Contract, Decision]] | None:
        """Every reading decided; None for a program that is not one, or is not modelled."""
        limits = Limits(executions=EXECUTIONS, states=STATES, seconds=SECONDS)
        question = Question(Protocol(program, "edited", {}, {}), program, {}, "order", limits)
        try:
            return by_reading(question, contract, self.steps)
        except (StreamorderError, Unfit):
            return None

    def trouble(self, edits: frozenset[Edit]) -> Trouble | None:
        """What is wrong with the protocol with these edits, under the first contract under which
        something is; None where it holds, or cannot be said.
        """
        program = self.program(edits)
        for contract in self.contracts:
            self.count += 1
            decisions = self.decided(program, contract)
            bad = next((pair for pair in decisions or () if not pair[1].holds), None)
            if bad is not None:
                return looked_at(*bad)
        return None

    def findings(self, edits: frozenset[Edit]) -> Findings | None:
        """All that is wrong with the protocol with these edits, under each contract; None where
        that cannot be said.
        """
        program = self.program(edits)
        found: Findings = {}
        for contract in self.contracts:
            self.count += 1
            decisions = self.decided(program, contract)
            if decisions is None or any(decision.spent for _r, decision in decisions):
                return None
            wrong = [looked_at(*pair) for pair in decisions if not pair[1].holds]
            found[contract.name] = frozenset(one for t in wrong for one in t.findings())
        return found

    def traced(self, edits: frozenset[Edit]) -> Traced | None:
        """The calls of the protocol with these edits; None for a program that is not one."""
        contract = self.contracts[0].readings()[0]
        try:
            host = Host(self.program(edits), self.steps)
            from_the_start(lambda: follow(host, contract))
        except (StreamorderError, Unfit):
            return None
        return Traced(host)


def follow(host: Host, contract: Contract) -> None:
    """Trace the calls of some host schedules."""
    deadline = time.monotonic() + SECONDS
    for number, _schedule in enumerate(
        Search(lambda: schedule_of(host, contract, ()), deadline), 1
    ):
        if number >= TRACED_SCHEDULES:
            return


def looked_at(contract: Contract, decision: Decision) -> Trouble:
    """A refuted program looked at again."""
    assert decision.host is not None
    recordings = [record(decision.host, contract, steps) for steps in decision.bad]
    wrong = [(sight, recording) for recording in recordings for sight in certain(recording)]
    return Trouble(contract, decision, recordings, edges_of(recordings), wrong)
