"""What the tests of counterexamples share: programs with marked lines, and a way to retrace."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from streamorder import catalogue, check
from streamorder.model.again import from_the_start
from streamorder.model.contract import contract_named
from streamorder.model.host import Host
from streamorder.model.load import load
from streamorder.model.machine import Machine
from streamorder.model.memory import Buffer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streamorder import MissingEdge, Protocol, Verdict
    from streamorder.model.machine import State

PROGRAMS = Path(__file__).parent / "programs"
MARK = re.compile(r"\b(from|to) ([A-Z])\b")

Key = tuple[Any, ...]
Lines = tuple[int, int]


class Case(NamedTuple):
    """A protocol that is refuted under a contract."""

    name: str
    target: Protocol
    contract: str

    @property
    def verdict(self) -> Verdict:
        """What the order engine says."""
        return decided(self.target, self.contract)

    @property
    def only_overlap(self) -> bool:
        """Whether nothing is wrong but overlap that is lost, which the machine does not decide."""
        return {edge.kind for edge in self.verdict.missing_edges} == {"overlap lost"}


@cache
def decided(target: Protocol, contract: str) -> Verdict:
    """What the order engine says, once in a process."""
    return check(target, contract)


def written_here() -> list[Case]:
    """Every program of this folder under each contract under which it is wrong."""
    cases = []
    for file in sorted(PROGRAMS.glob("*.py")):
        for entry in load(str(file)):
            name = entry.body.__name__
            only = name.rpartition("_")[2]
            contracts = [only] if only in {"cuda", "hip"} else ["cuda", "hip"]
            cases += [Case(f"{name}-{contract}", entry, contract) for contract in contracts]
    return cases


def refuted_entries() -> list[Case]:
    """Every entry of the catalogue under each contract under which it is to be refuted."""
    return [
        Case(f"{name}-{contract}", entry, contract)
        for name, entry in catalogue().items()
        for contract, expected in entry.expects.items()
        if expected == "REFUTED"
    ]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Cases by the name of the parameter.

    - `program`: each program of this folder; `refuted`: each of these and of the catalogue;
    - `one_sided`: those that are wrong under one contract only.
    """
    own = written_here()
    every = own + refuted_entries()
    for name, cases in (
        ("program", own),
        ("refuted", every),
        ("one_sided", [c for c in own if c.target.body.__name__.endswith(f"_{c.contract}")]),
    ):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, cases, ids=[case.name for case in cases])


def marked(target: Protocol) -> set[Lines]:
    """The pairs of lines that a program's comments mark; a line 0 stands for nothing."""
    code = target.body.__code__
    ends: dict[str, dict[str, int]] = {}
    source = Path(code.co_filename).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(source[code.co_firstlineno :], code.co_firstlineno + 1):
        if line.startswith("@"):
            break
        for end, edge in MARK.findall(line.partition("#")[2]):
            ends.setdefault(edge, {})[end] = number
    return {(edge.get("from", 0), edge["to"]) for edge in ends.values()}


@pytest.fixture(scope="session")
def marked_lines() -> Callable[[Protocol], set[Lines]]:
    """`marked_lines(protocol)`: the (from, to) pairs of lines that its comments mark."""
    return marked


class Retrace:
    """A counterexample carried out in the machine, event by event.

    An event is named by its call (and phase, and which of its operations), not by the machine's
    transition: a thread's next transition is another event when an earlier one is left out.
    """

    def __init__(self, case: Case, verdict: Verdict, edge: MissingEdge) -> None:
        assert verdict.steps is not None
        self.host = Host(case.target.bind({}), verdict.steps)
        self.contract = contract_named(case.contract).readings()[0]
        self.edge = edge
        self.keys: list[Key] = []
        self.end = from_the_start(self.follow)

    def follow(self) -> State:
        """Carry out the schedule as it stands, and note which event each transition is."""
        self.keys = []
        self.machine = machine = Machine(self.host, self.contract)
        state = machine.initial()
        for kind, thread, *result in self.edge.schedule:
            if kind == "op":
                assert thread in machine.ready(state)
                self.keys.append(("op", self.origin(machine, thread)))
                state = machine.apply(state, ("op", thread))[0]
                continue
            node, rest, _awaited = state[0][thread]
            able = [r for r in machine.results(state, thread) if same(r, result[0])]
            assert able, f"host thread {thread} cannot go on with {result[0]!r}"
            self.keys.append(("host", thread, node, rest, able[0]))
            state = machine.apply(state, ("host", thread, able[0]))[0]
        return state

    @staticmethod
    def origin(machine: Machine, index: int) -> Key:
        """The call, phase and number that issued an operation."""
        return next(key for key, op in machine.effects._ids.items() if op.index == index)

    def replay(self, keys: Sequence[Key]) -> tuple[Machine, State] | None:
        """Carry out these events in order; None where one of them cannot happen."""
        machine = Machine(self.host, self.contract)
        state = machine.initial()
        for key in keys:
            if key[0] == "op":
                index = machine.effects.index_of(*key[1])
                if index not in machine.ready(state):
                    return None
                state = machine.apply(state, ("op", index))[0]
                continue
            _host, thread, node, rest, result = key
            point = state[0][thread] if thread < len(state[0]) else None
            if point is None or point[:2] != (node, rest):
                return None
            if result not in machine.results(state, thread):
                return None
            state = machine.apply(state, ("host", thread, result))[0]
        return machine, state

    def meetings(self, machine: Machine, state: State) -> set[frozenset[Key]]:
        """Every two accesses that are both possible and in conflict, as pairs of events."""
        return {
            frozenset(self.event(machine, state, access.transition) for access in pair)
            for pair in machine.hazards(state)
        }

    def event(self, machine: Machine, state: State, transition: Key) -> Key:
        """The event that a transition would be."""
        if transition[0] == "op":
            return "op", self.origin(machine, transition[1])
        return "host", transition[1], *state[0][transition[1]][:2]

    def slots(self) -> dict[str, int]:
        """The memory of every region by name; two names may stand for one."""
        buffers = [made for made in self.host.gpu._made.values() if isinstance(made, Buffer)]
        return {repr(region): region.slot for buffer in buffers for region in buffer.regions}

    def lines(self, meeting: frozenset[Key]) -> set[tuple[str, int]]:
        """The files and lines of two accesses."""
        nodes = [key[1][0] if key[0] == "op" else key[2] for key in meeting]
        return {(node.where.file, node.where.line) for node in nodes}


def same(result: Any, plain: Any) -> bool:
    """Whether a call's result is the one that a schedule names as plain data."""
    return result == plain or repr(result) == plain


@pytest.fixture(scope="session")
def retrace() -> type[Retrace]:
    """`Retrace`, which test modules cannot import from here."""
    return Retrace
