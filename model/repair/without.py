"""Mutants of a protocol: each wait left out, and what that makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..check import check
from ..contract import contract_named
from ..protocol import Protocol
from ..trace import described
from .redundant import each_line, left_out
from .trial import Trials

if TYPE_CHECKING:
    from ..contract import Contract
    from ..verdict import Verdict
    from ..where import Where

CHECKS, SECONDS = 200, 30.0
"""How many mutants are decided at most, and for how long."""


class Mutant(NamedTuple):
    """A protocol without one of its waits: which, where, and the verdict on the rest."""

    where: Where | None
    call: str
    verdict: Verdict


def without_each_wait(
    target: Protocol, contract: str | Contract, *, steps: int = 4, **parameters: Any
) -> list[Mutant]:
    """The protocol without each of its waits in turn, a source line each, decided anew.

    Args:
        target: the protocol.
        contract: a contract, or its name.
        steps: how often the step loop runs while the waits are listed.
        parameters: the protocol's own.

    Raises:
        BadInput: the protocol or an argument is wrong.
    """
    promised = contract_named(contract) if isinstance(contract, str) else contract
    body = target.bind(parameters)
    trials = Trials(body, [promised], steps, checks=CHECKS, seconds=SECONDS)
    traced = trials.traced(frozenset())
    found: list[Mutant] = []
    if traced is None:
        return found
    for node, call in each_line(traced):
        program = trials.program(frozenset({left_out(traced, node, call)}))
        mutant = Protocol(program, target.name, {}, {})
        found.append(Mutant(node.where, described(call), check(mutant, promised, prove=True)))
    return found
