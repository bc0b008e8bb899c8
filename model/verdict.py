"""Verdicts: a closed set, what each means, its exit code, and how several combine.

A verdict never rounds up: a budget that ran out, a call that is not modelled, an engine that could
not run give UNDETERMINED or an error.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .proof import Proof
    from .runtime import OnRuntime
    from .trace import Event
    from .waits_for import Wait
    from .where import Where


class Outcome(str, Enum):
    """What a check concludes."""

    PROVED = "PROVED"
    """No hazard, every expectation met, no hang, for every number of steps."""
    HOLDS = "HOLDS"
    """The same for the steps, choices and threads that were checked."""
    REFUTED = "REFUTED"
    """A counterexample exists."""
    UNDETERMINED = "UNDETERMINED"
    """A budget ran out, or something is not modelled under this contract: never a pass."""

    @property
    def exit_code(self) -> int:
        """The exit code of a command that reached this verdict."""
        return {"REFUTED": 1, "UNDETERMINED": 3}.get(self.value, 0)

    def satisfies(self, expected: str) -> bool:
        """Whether this is as expected; PROVED and a bounded HOLDS satisfy one another."""
        return {self.value, expected} <= {"PROVED", "HOLDS"} or self.value == expected

    def __str__(self) -> str:
        return self.value


class Site(NamedTuple):
    """A call of the protocol: its source line and the call in words."""

    where: Where | None
    call: str

    def as_data(self) -> dict[str, Any]:
        """`file`, `line` and `call`."""
        where = self.where
        return {
            "file": where.file if where else None,
            "line": where.line if where else None,
            "call": self.call,
        }

    def __str__(self) -> str:
        return f"{self.where} {self.call}"


class MissingEdge(NamedTuple):
    """One reason for which a protocol is refuted, with its shortest counterexample.

    `kind` is:
    - `race`: the two calls access `region` and nothing orders them;
    - `wrong version`: likewise, and some read then finds another version than it expects; or the
      two are in order, and still the version is wrong (`ordered` is true);
    - `deadlock`: the host threads wait for one another;
    - `overlap lost`: two operations stated to be concurrent are ordered.

    `marks` numbers the events of the counterexample that are the accesses of `first` and `second`,
    in this order: the edge that is missing leads from one to the other. None where there are not
    two such accesses. `aftermath` goes on from the counterexample to the read that finds a wrong
    version, its last event, where that is neither of the two and near. `cycle` says of a deadlock
    who waits for whom.
    """

    kind: str
    first: Site
    second: Site
    region: str | None
    regions: tuple[str, ...]
    ordered: bool
    sentence: str
    consequence: str | None
    counterexample: tuple[Event, ...]
    schedule: tuple[tuple[Any, ...], ...]
    marks: tuple[int, int] | None = None
    aftermath: tuple[Event, ...] = ()
    cycle: tuple[Wait, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return {
            "from": self.first.as_data(),
            "to": self.second.as_data(),
            "region": self.region,
            "regions": list(self.regions),
            "kind": self.kind,
            "sentence": self.sentence,
            "consequence": self.consequence,
            "marks": None if self.marks is None else list(self.marks),
            "counterexample": [event.as_data() for event in self.counterexample],
            "aftermath": [event.as_data() for event in self.aftermath],
            "cycle": [wait._asdict() for wait in self.cycle],
        }


class Verdict(NamedTuple):
    """What one check of one protocol under one contract concluded, and for which bounds.

    `ops` counts the device operations of the longest schedule, `executions` the host schedules
    (engine `order`) or the runs (`sim`), `states` the states visited (engines `machine` and `sim`);
    `seconds` is wall time.
    `waits` counts the host's waits for the device in the last step (engine `order` and nothing
    refuted, else None). `below_size` is true for a
    HOLDS where a refutation is expected that needs more steps than were asked for.
    `bounds` says what was covered, `warnings` what a reader must know beside the verdict, `reason`
    why an UNDETERMINED is one, `unproved` why a HOLDS is no PROVED. `steps` is None for a PROVED:
    its `certificates`, one for each reading of the contract, hold for every number. `runtime` is
    what a runtime makes of it, `sweep` the same for several values of something, by value.
    `where` is where the protocol is written, None for one that is no Python function.
    """

    name: str
    contract: str
    outcome: Outcome
    expected: str | None
    engine: str
    steps: int | None
    parameters: dict[str, Any]
    ops: int
    states: int
    executions: int
    seconds: float
    waits: int | None = None
    missing_edges: tuple[MissingEdge, ...] = ()
    bounds: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    reason: str | None = None
    below_size: bool = False
    unproved: str | None = None
    certificates: tuple[Proof, ...] = ()
    runtime: OnRuntime | None = None
    sweep: tuple[tuple[str, OnRuntime], ...] = ()
    where: Where | None = None

    @property
    def verdict(self) -> str:
        """The outcome's word."""
        return self.outcome.value

    @property
    def as_expected(self) -> bool | None:
        """Whether the outcome is the one that the catalogue states; None where it states none."""
        if self.expected is None:
            return None
        return self.below_size or self.outcome.satisfies(self.expected)

    @property
    def exit_code(self) -> int:
        """0 as expected, else the outcome's own code, and 1 for a pass that was not expected; where
        that is 0, the worst of what runtimes make of it.
        """
        own = self.outcome.exit_code or (1 if self.as_expected is False else 0)
        if self.as_expected:
            own = 0
        return own or combined_exit_code(found.exit_code(self.outcome) for found in self.there)

    @property
    def there(self) -> tuple[OnRuntime, ...]:
        """What runtimes make of it: of the one asked for, or of every value of a sweep."""
        one = () if self.runtime is None else (self.runtime,)
        return (*one, *(found for _value, found in self.sweep))

    def as_data(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        data: dict[str, Any] = {
            "name": self.name,
            "contract": self.contract,
            "verdict": self.verdict,
            "expected": self.expected,
            "as_expected": self.as_expected,
            "engine": self.engine,
            "steps": self.steps,
            "parameters": self.parameters,
            "ops": self.ops,
            "states": self.states,
            "executions": self.executions,
            "seconds": round(self.seconds, 6),
            "host_waits_per_step": self.waits,
            "bounds": list(self.bounds),
            "warnings": list(self.warnings),
            "reason": self.reason,
            "unproved": self.unproved,
            "certificates": [proof.as_data() for proof in self.certificates],
        }
        if self.outcome is Outcome.REFUTED:
            data["missing_edges"] = [edge.as_data() for edge in self.missing_edges]
        if self.runtime is not None:
            data["runtime"] = self.runtime.as_data()
        if self.sweep:
            data["sweep"] = {value: found.as_data() for value, found in self.sweep}
        return data


def combined_exit_code(codes: Iterable[int]) -> int:
    """The exit code of several results: the first of 2, 1, 3 that occurs, else 4, else 0."""
    found = set(codes)
    return next((code for code in (2, 1, 3, 4) if code in found), 0)
