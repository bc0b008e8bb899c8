"""Exporting a protocol: from a function to the text of a model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ..contract import EITHER, Contract, contract_named
from ..errors import BadInput, NotModelled
from ..may_wait import used_by
from ..protocol import Protocol, protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .layout import Layout

STEPS = 4
"""How often the step loop runs, unless told otherwise."""

TLC_CONFIG = "INIT Init\nNEXT Next\nINVARIANT Right\n"
"""What TLC is to check; it looks for deadlocks by itself."""


class Subject(NamedTuple):
    """What is exported: a protocol with its parameters, one reading of a contract, a size."""

    target: Protocol
    parameters: dict[str, Any]
    contract: Contract
    reading: Contract
    steps: int
    verdict: str
    open_promises: tuple[str, ...]


def promela(
    target: Protocol | Callable[..., None],
    contract: str | Contract = "cuda",
    *,
    steps: int = STEPS,
    kept: Iterable[str] = (),
    broken: Iterable[str] = (),
    batched: bool = False,
    compared: bool = True,
    **parameters: Any,
) -> str:
    """A protocol as a Promela model, for SPIN.

    SPIN finds a failed assertion or an invalid end state in it if, and only if, `check` refutes the
    protocol for these steps under this reading of the contract.

    Args:
        target: a protocol, or a plain function `f(gpu, ...)`.
        contract: `cuda`, `hip`, `cuda-hmm`, or a `Contract`.
        steps: how often the step loop runs.
        kept: promises that the contract leaves open and that this model keeps (field names).
        broken: those that it does not keep.
        batched: what a thread issues in a row to a stream of its own is one message. It is decided
            alike and leaves SPIN's partial-order reduction more to do; more fits into a channel.
        compared: the heading says what `check` decides; without, nothing is decided first.
        parameters: the protocol's own, such as `slots=3`.

    Raises:
        BadInput: the protocol or an argument is wrong, or something cannot be exported.
    """
    from .heading import promela_heading
    from .promela import Promela

    subject, layout = prepared(target, contract, steps, (kept, broken), parameters, compared)
    model = Promela(layout, batched=batched)
    body = list(model.lines())
    return "\n".join([*promela_heading(subject, layout, model), *body]) + "\n"


def tla(
    target: Protocol | Callable[..., None],
    contract: str | Contract = "cuda",
    *,
    module: str = "Protocol",
    steps: int = STEPS,
    kept: Iterable[str] = (),
    broken: Iterable[str] = (),
    compared: bool = True,
    **parameters: Any,
) -> str:
    """A protocol as a TLA+ specification, for TLC with the configuration `TLC_CONFIG`.

    `module` is the module's name, which TLC wants the file to have. Otherwise as `promela`: TLC
    finds `Right` violated or a deadlock if, and only if, `check` refutes the protocol.
    """
    from .heading import tla_heading
    from .tla import Tla

    if not re.fullmatch(r"[A-Za-z]\w*", module, re.ASCII):
        raise BadInput(
            f"a TLA+ module needs an identifier for a name, not {module!r}: rename the file"
        )
    subject, layout = prepared(target, contract, steps, (kept, broken), parameters, compared)
    first, *rest = Tla(layout).lines(module)
    return "\n".join([first, *tla_heading(subject, layout, module), *rest]) + "\n"


def prepared(
    target: Protocol | Callable[..., None],
    contract: str | Contract,
    steps: int,
    said: tuple[Iterable[str], Iterable[str]],
    parameters: dict[str, Any],
    compared: bool,
) -> tuple[Subject, Layout]:
    """Decide the protocol, which also refuses bad ones, and trace it."""
    from .flow import Flow
    from .layout import Layout

    target = target if isinstance(target, Protocol) else protocol()(target)
    promised = contract_named(contract) if isinstance(contract, str) else contract
    if type(steps) is not int or steps < 1:
        raise BadInput(f"--steps must be a positive whole number, not {steps!r}")
    reading = read(promised, *said)
    body = target.bind(parameters)
    verdict = decided(target, reading, steps, parameters) if compared else ""
    try:
        flow = Flow(body, reading, steps, promised.uncertain)
    except NotModelled as error:
        raise BadInput(f"not exported: {error}") from None
    either = {field for field in used_by(flow.host) if getattr(promised, field) is None}
    consulted = flow.consulted | either
    unsaid = sorted(consulted - set(said[0]) - set(said[1]))
    if unsaid:
        raise BadInput(
            f"{target.name} depends on promises that {promised.name} leaves open: say of each "
            f"whether this model keeps it, with --kept or --broken {','.join(unsaid)}"
        )
    known = {**target.parameters, **parameters}
    open_promises = tuple(sorted(consulted))
    return Subject(target, known, promised, reading, steps, verdict, open_promises), Layout(flow)


def read(contract: Contract, kept: Iterable[str], broken: Iterable[str]) -> Contract:
    """The contract with its open promises kept or broken; broken where nothing is said."""
    kept, broken = set(kept), set(broken)
    left = [*contract.uncertain, *(f for f in EITHER if getattr(contract, f) is None)]
    for field in sorted(kept | broken):
        if field not in left:
            names = ", ".join(left) or "none"
            raise BadInput(f"{contract.name} leaves no promise {field!r} open; it leaves: {names}")
    if kept & broken:
        raise BadInput(f"{min(kept & broken)!r} cannot be kept and broken")
    fields = [*contract.uncertain, *(kept | broken)]
    return contract._replace(**{field: field in kept for field in fields})


def decided(target: Protocol, reading: Contract, steps: int, parameters: dict[str, Any]) -> str:
    """Our own verdict, for the heading."""
    from ..check import check

    verdict = check(target, reading, steps=steps, **parameters)
    if verdict.reason and "not modelled" in verdict.reason:
        raise BadInput(f"not exported: {verdict.reason}")
    return str(verdict.outcome)
