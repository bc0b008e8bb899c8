"""A proof for every number of steps: the order engine's states are closed under one more step.

At each step boundary everything that the future can depend on is brought into a normal form,
relative to the step: what the protocol's Python can reach, the frontiers of streams and events, the
last accesses of every region, the host's clock. Clock components become ranks among the ticks that
something still refers to, versions become ages, beyond the largest age that a read expects just
*old*. When one more step, on every choice, leads from these states only to these states, and the
code after the loop is right from each of them, the verdict does not depend on the number of steps.

The states are found by running the protocol itself, again and again, along the shortest path to
each. One host thread; choices are followed every way, queries too.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from .boundary import Boundary
from .clocks import EMPTY, Clocks, Found
from .direct import BRANCHING, Listener, Spent, refusals
from .errors import NotModelled, Unprovable
from .frontend import Frontend, front_end
from .gpu import Gpu
from .memory import Idempotent
from .objects import Ticket
from .step import Scale, Step
from .sync import FALSES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .calls import Call
    from .clocks import Frontier
    from .contract import Contract
    from .normal_form import Form
    from .objects import Handle

MOST_STATES = 64
"""How many states are looked for, beyond four for each step that the program can tell apart and
the square of the number of its objects: a ring of slots gone round by choice has so many."""

ASKING = frozenset({"query", "concurrent"})
UNFOLLOWED = BRANCHING - {"choose", "query"}
NOT_FOLLOWED = "a proof follows no host threads, host variables, value waits and early launches"
Path = tuple[tuple[Any, ...], ...]


READS = {"launch": 3, "host_func": 3, "read": 1, "graph_launch": 3, "post": 3}
WRITES = {"launch": 4, "host_func": 4, "post": 4, "write": 2, "memset": 2, "memset_async": 2}
"""Where in a call the versions are that it expects or writes."""


class Reached(BaseException):
    """The run has come to the boundary that was asked for."""


class Refuted(NamedTuple):
    """Something is wrong within so many steps."""

    steps: int


class Proof(NamedTuple):
    """A certificate: the states, each with the shortest path to it.

    `states` holds a (path, digest of its normal form): a path is, for each step, the results of
    the choices and queries in it; the code before the loop counts as a first entry. `scale` is what
    the program asks of its steps; `consulted` the uncertain promises on which some call depended,
    of which those in `kept` were taken as kept and the others as broken.
    """

    contract: str
    kept: tuple[str, ...]
    parameters: dict[str, Any]
    scale: dict[str, int]
    states: tuple[tuple[Path, str], ...]
    consulted: tuple[str, ...]
    ops: int
    waits: int

    def as_data(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return {
            "contract": self.contract,
            "kept": list(self.kept),
            "parameters": self.parameters,
            "scale": self.scale,
            "states": [{"path": list(map(list, path)), "digest": d} for path, d in self.states],
        }


class Prover(Listener):
    """The reading of one run: along a path, then to the next boundary or to the end.

    - `results` are those of choices and queries so far, `given` those to repeat; past them the
      first possible one is taken and the others are noted in `open`;
    - `boundary` counts the boundaries passed.
    """

    def __init__(
        self,
        gpu: Gpu,
        contract: Contract,
        uncertain: tuple[str, ...],
        scale: Scale,
        deadline: float,
    ) -> None:
        super().__init__(gpu, deadline)
        self.scale = scale
        scale.stop, scale.now = self.stop, 0
        self.clocks = Clocks(gpu)
        self.front: Frontend[Frontier] = front_end(gpu, contract, self.clocks, uncertain)
        self.given: list[Any] = []
        self.results: list[Any] = []
        self.open: list[list[Any]] = []
        self.marks: list[int] = []
        self.boundary = -1
        self.now = 0
        self.looped = False
        self.temporary: set[Handle] = set()
        self.falses: dict[Handle, int] = {}
        self.waits = 0

    # --- the reading ---

    def call(self, call: Call) -> Any:
        """Carry out one call."""
        verb = call[0]
        if verb in ASKING:
            self.scale.exactly()
        if verb in UNFOLLOWED or (verb == "launch" and call[5]):
            self.stop(Unprovable(NOT_FOLLOWED))
        self.left -= 1
        if not self.left:
            self.look()
        self.note_lags(call)
        try:
            return self.carry_out(verb, call)
        except (Found, NotModelled) as why:
            self.stop(why)

    def carry_out(self, verb: str, call: Call) -> Any:
        """The rule of a call, its waits, its result."""
        if verb == "choose":
            return self.decide(tuple(range(call[1])))
        if verb == "concurrent":
            if self.clocks.ordered(call[1].frontier, call[2].frontier):
                raise Found
            return None
        awaits = self.front.call(call)
        if verb == "query":
            assert awaits is not None
            return self.answer(call[1], awaits[0])
        while awaits is not None:
            frontier, rest = awaits
            if frontier is not EMPTY:
                self.waits += 1
                self.clocks.await_(frontier)
            awaits = rest(call) if rest is not None else None
        return Ticket(self.front.issued)

    def answer(self, target: Handle, frontier: Frontier) -> bool:
        """A query's answer: false only while the work may not be done."""
        if self.clocks.covered(frontier):
            return True
        if self.falses.get(target, 0) >= FALSES:
            self.stop(Unprovable(f"{target!r} is queried over and over in one step"))
        result = self.decide((True, False))
        self.falses[target] = 0 if result else self.falses.get(target, 0) + 1
        if result:
            self.clocks.await_(frontier)
        return result

    def decide(self, options: tuple[Any, ...]) -> Any:
        """The result given for this point, or the first one, the others being left open."""
        at = len(self.results)
        if at < len(self.given):
            result, left = self.given[at], []
        else:
            result, left = options[0], list(options[1:])
        self.results.append(result)
        self.open.append(left)
        return result

    def note_lags(self, call: Call) -> None:
        """How old a version some read expects, or some write repeats."""
        verb = call[0]
        reads, writes = READS.get(verb), WRITES.get(verb)
        if reads is not None:
            for _region, expected in call[reads]:
                if type(expected) is Step:
                    self.scale.expected(self.now - expected.number)
        if writes is not None:
            for version in versions(call[writes]):
                if type(version) is Idempotent and type(version.value) is Step:
                    self.scale.expected(self.now - version.value.number)

    def mark(self, what: str, value: Any) -> None:
        """Note a new object; steps are counted by `Boundaries`."""
        if what in {"made", "grown"}:
            self.front.grow()
            if self.looped and what == "made":
                self.temporary.add(value)

    @property
    def ops(self) -> int:
        """How many operations were issued."""
        return sum(count for lane, count in self.clocks.ticks.items() if lane >= 0)


def versions(written: Any) -> Iterator[Any]:
    """The versions of a call's writes: of pairs, or one for all its regions."""
    if isinstance(written, tuple):
        return (version for _region, version in written)
    return iter((written,))


class Program:
    """A protocol under one reading of a contract, to be run to any boundary of its loop."""

    def __init__(
        self,
        body: Callable[[Gpu], None],
        contract: Contract,
        uncertain: tuple[str, ...],
        deadline: float,
    ) -> None:
        self.body = body
        self.contract = contract
        self.uncertain = uncertain
        self.deadline = deadline
        self.gpu = Gpu(0)
        self.scale = Scale()
        self.consulted: set[str] = set()
        self.ops = 0
        self.waits = 0

    def run(
        self, given: list[Any], steps: int, is_new: Callable[[Form], bool]
    ) -> tuple[Prover, Boundary]:
        """Run with these results for `steps` steps, to the boundary after them; on to the end of
        the protocol where the state there is new.
        """
        if time.monotonic() > self.deadline:
            raise Spent
        prover = Prover(self.gpu, self.contract, self.uncertain, self.scale, self.deadline)
        prover.given = given
        boundary = Boundary(prover, steps, is_new, Reached)
        self.gpu.loop = boundary
        self.gpu.attach(prover)
        try:
            with refusals():
                self.body(self.gpu)
            if prover.over is not None:
                raise prover.over
        except Reached:
            pass
        finally:
            self.gpu.loop = None
            self.consulted |= prover.front.consulted
            self.ops = max(self.ops, prover.ops)
        self.waits = prover.waits if boundary.taken is None else boundary.waits
        return prover, boundary


def prove(
    body: Callable[[Gpu], None],
    contract: Contract,
    uncertain: tuple[str, ...] = (),
    *,
    parameters: dict[str, Any] | None = None,
    seconds: float = 10.0,
) -> Proof | Refuted | str:
    """A proof for every number of steps, a number of steps within which something is wrong, or why
    neither could be had.
    """
    program = Program(body, contract, uncertain, time.monotonic() + seconds)
    at = [0]
    try:
        while True:
            program.scale.grown = False
            states = closed_states(program, at)
            if not program.scale.grown:
                break
    except Found:
        return Refuted(at[0])
    except Unprovable as why:
        return str(why)
    except NotModelled as why:
        return str(why)
    except Spent:
        return "the time was over before the states were closed"
    kept = tuple(field for field in uncertain if getattr(contract, field))
    return Proof(
        contract.name, kept, parameters or {}, program.scale.as_data(), tuple(states),
        tuple(sorted(program.consulted)), program.ops, program.waits,
    )  # fmt: skip


def closed_states(program: Program, at: list[int]) -> list[tuple[Path, str]]:
    """Every state, with the shortest path to it; `at` follows how many steps are being run.

    Stops early when the scale has grown: states must be told apart anew.
    """
    known: dict[Any, list[Form]] = {}
    states: list[tuple[Path, str]] = []
    waiting: list[Path] = []

    def is_new(form: Form) -> bool:
        return not any(other.covers(form) for other in known.get(form.equal, ()))

    def add(found: Iterator[tuple[Path, Form]]) -> None:
        for path, form in found:
            if is_new(form):
                known.setdefault(form.equal, []).append(form)
                states.append((path, form.digest()))
                waiting.append(path)

    add(after(program, (), 0, is_new))
    objects = len(program.gpu.cells) + len(program.gpu.regions)
    while waiting:
        path = waiting.pop(0)
        at[0] = len(path)
        add(after(program, path, len(path), is_new))
        if program.scale.grown:
            return []
        most = MOST_STATES + 4 * program.scale.size + objects**2
        if len(states) > most:
            raise Unprovable(
                f"more than {most} states: what the loop keeps does not repeat, or late"
            )
    return states


def after(
    program: Program, path: Path, steps: int, is_new: Callable[[Form], bool]
) -> Iterator[tuple[Path, Form]]:
    """Run on from the end of a path, on every choice, to the boundary after so many steps: the
    path there and the state. From a new state the code after the loop is run, on every choice too.
    """
    prefix = [result for step in path for result in step]
    waiting: list[tuple[list[Any], Callable[[Form], bool]]] = [(prefix, is_new)]
    while waiting:
        given, wanted = waiting.pop()
        prover, boundary = program.run(given, steps, wanted)
        taken = boundary.taken
        if taken is not None and boundary.form is not None and len(given) <= taken:
            yield (*path, tuple(prover.results[len(prefix) : taken])), boundary.form
        for at in range(len(given), len(prover.results)):
            beyond = taken is not None and at >= taken
            again = (lambda _form: True) if beyond else is_new
            waiting += [([*prover.results[:at], other], again) for other in prover.open[at]]
