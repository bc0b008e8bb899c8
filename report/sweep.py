"""A protocol to be decided for every combination of some parameters, as a test."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.contract import DEFAULT, contract_named
from ..model.errors import BadInput
from ..model.protocol import Protocol, protocol
from ..model.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..model.check import Limits
    from ..model.verdict import Verdict


class Case(NamedTuple):
    """One combination: a contract, a number of steps (None: enough), the protocol's parameters."""

    contract: str
    steps: int | None
    parameters: dict[str, Any]

    def named(self, varied: Sequence[str]) -> str:
        """The case by what varies, as pytest puts it in brackets."""
        parts = [self.contract]
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
            case.contract,
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
        if verdict.outcome in {Outcome.PROVED, Outcome.HOLDS}:
            return None
        return one(verdict, pictures=len(verdict.missing_edges))


def exhaustive(
    target: Protocol | None = None,
    /,
    *,
    contracts: str | Sequence[str] = tuple(contract.name for contract in DEFAULT),
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
        contracts: a contract's name, or several: a test for each.
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
        swept = {"contract": listed(contracts), "steps": listed(steps)}
        swept |= {name: listed(value) for name, value in parameters.items()}
        varied = [name for name, values in swept.items() if len(values) > 1]
        cases = list(combinations(swept))
        for case in cases:
            contract_named(case.contract)
            found.bind(case.parameters)
        if not cases:
            raise BadInput(f"{found.name}: an empty list leaves nothing to check")
        return Sweep(found, cases, varied, limits, prove)

    return declare if target is None else declare(target)


def listed(value: Any) -> list[Any]:
    """One value or several as several."""
    return list(value) if isinstance(value, (list, tuple, range, set, frozenset)) else [value]


def combinations(swept: dict[str, list[Any]]) -> Iterator[Case]:
    """Every combination of values."""
    for values in product(*swept.values()):
        chosen = dict(zip(swept, values, strict=True))
        yield Case(chosen.pop("contract"), chosen.pop("steps"), chosen)
