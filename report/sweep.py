"""A protocol to be decided for every combination of some parameters, as a test."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.contract import DEFAULT, contract_named
from ..model.errors import BadInput
from ..model.profiles import profile_named
from ..model.protocol import Protocol, protocol
from ..model.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..model.check import Limits
    from ..model.verdict import Verdict


class Place(NamedTuple):
    """Where a protocol must hold: under a contract, or on a runtime, which keeps its own."""

    contract: str | None
    runtime: str | None

    def __str__(self) -> str:
        return self.runtime or self.contract or ""


class Case(NamedTuple):
    """One combination: a place, a number of steps (None: enough), the protocol's parameters."""

    place: Place
    steps: int | None
    parameters: dict[str, Any]

    def named(self, varied: Sequence[str]) -> str:
        """The case by what varies, as pytest puts it in brackets."""
        parts = [str(self.place)]
        parts += [f"steps={self.steps}"] if "steps" in varied else []
        parts += [f"{k}={v}" for k, v in self.parameters.items() if k in varied]
        return "-".join(parts)


class Sweep(Protocol):
    """A protocol with the combinations for which it must hold; pytest collects it as tests.

    It is still a protocol: `check`, the command and other protocols take it as such.
    """

    def __init__(
        self,
        target: Protocol,
        cases: Sequence[Case],
        varied: Sequence[str],
        limits: Limits | None,
        prove: bool,
    ) -> None:
        super().__init__(target.body, target.name, target.parameters, target.expects)
        self.cases = tuple(cases)
        self.varied = tuple(varied)
        self.limits = limits
        self.prove = prove

    def decide(self, case: Case) -> Verdict:
        """The verdict of one combination."""
        from ..model.check import check

        return check(
            self,
            case.place.contract,
            runtime=case.place.runtime,
            steps=case.steps,
            limits=self.limits,
            prove=case.steps is None,
            **case.parameters,
        )

    def fault(self, verdict: Verdict) -> str | None:
        """Why a verdict is no pass; None where it is one. What was not decided never passes."""
        from .text import one

        if verdict.outcome is Outcome.HOLDS and self.prove:
            return f"{one(verdict)}\n  it holds for the steps that were checked, and prove=True"
        there = verdict.runtime
        if verdict.outcome in {Outcome.PROVED, Outcome.HOLDS} and not (
            there and there.exit_code(verdict.outcome)
        ):
            return None
        return one(verdict, pictures=len(verdict.missing_edges), evidence=True)


def exhaustive(
    target: Protocol | None = None,
    /,
    *,
    contracts: str | Sequence[str] | None = None,
    runtimes: str | Sequence[str] = (),
    steps: int | Sequence[int] | None = None,
    limits: Limits | None = None,
    prove: bool = False,
    **parameters: Any,
) -> Any:
    """Make a protocol function a test that decides every interleaving.

    As a decorator of a function `f(gpu, ...)` or of a protocol, or called with a protocol:
    `test_upload = exhaustive(upload, slots=[1, 2, 3])`. The test fails where the protocol is
    refuted, with the counterexample, and where it is not decided.

    Args:
        target: the protocol, where this is not used as a decorator.
        contracts: a contract's name, or several: a test for each; `cuda` and `hip` where neither
            contracts nor runtimes are given.
        runtimes: a runtime's name, or several, such as `rocm-7.2`: a test for each under its own
            contract. What is refuted fails even where the runtime hides it; what can hang there
            fails too.
        steps: a number of steps, or several; without it, enough to use every slot twice, and then a
            proof for every number is tried.
        limits: what each check may spend; past them a test fails as undetermined.
        prove: a bounded verdict is not enough.
        parameters: the protocol's own; a list is swept, a test for each value.

    Raises:
        BadInput: the protocol has no such parameter, or there is no such contract.
    """

    def declare(body: Protocol | Callable[..., None]) -> Sweep:
        found = body if isinstance(body, Protocol) else protocol()(body)
        swept = {"place": places(contracts, runtimes), "steps": listed(steps)}
        swept |= {name: listed(value) for name, value in parameters.items()}
        varied = [name for name, values in swept.items() if len(values) > 1]
        cases = list(combinations(swept))
        for case in cases:
            found.bind(case.parameters)
        if not cases:
            raise BadInput(f"{found.name}: an empty list leaves nothing to check")
        return Sweep(found, cases, varied, limits, prove)

    return declare if target is None else declare(target)


def places(contracts: str | Sequence[str] | None, runtimes: str | Sequence[str]) -> list[Place]:
    """Every contract and runtime that is asked for; raises `BadInput` for one that there is not."""
    if contracts is None:
        contracts = [] if runtimes else [contract.name for contract in DEFAULT]
    under = [Place(contract_named(name).name, None) for name in listed(contracts)]
    return under + [Place(None, profile_named(name).name) for name in listed(runtimes)]


def listed(value: Any) -> list[Any]:
    """One value or several as several."""
    return list(value) if isinstance(value, (list, tuple, range, set, frozenset)) else [value]


def combinations(swept: dict[str, list[Any]]) -> Iterator[Case]:
    """Every combination of values."""
    for values in product(*swept.values()):
        chosen = dict(zip(swept, values, strict=True))
        yield Case(chosen.pop("place"), chosen.pop("steps"), chosen)
