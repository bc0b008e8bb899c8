"""Proofs under every reading of a contract, and the independent check of a certificate."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from .contract import contract_named
from .errors import BadInput, NotModelled, Unprovable
from .proof import Program, Proof, Refuted, after, prove
from .step import Scale

if TYPE_CHECKING:
    from collections.abc import Callable

    from .contract import Contract
    from .gpu import Gpu
    from .normal_form import Form


def prove_readings(
    body: Callable[[Gpu], None], contract: Contract, parameters: dict[str, Any], seconds: float
) -> list[Proof] | Refuted | str:
    """One proof for each way of keeping the uncertain promises that some call consults.

    The first thing else that comes out is the result: a number of steps that refutes, or why a
    proof could not be had.
    """
    proofs: dict[Contract, Proof] = {}
    consulted: set[str] = set()
    while True:
        waiting = [r for r in contract.readings(sorted(consulted)) if r not in proofs]
        if not waiting:
            return list(proofs.values())
        for reading in waiting:
            found = prove(body, reading, contract.uncertain, parameters=parameters, seconds=seconds)
            if not isinstance(found, Proof):
                return found
            proofs[reading] = found
            consulted |= set(found.consulted)


def confirm(body: Callable[[Gpu], None], proof: Proof, seconds: float = 60.0) -> str | None:
    """Check a certificate: None when it stands, else what is wrong with it.

    Replays the path to each state and compares its normal form, runs one more step on every choice
    and requires a known state, and runs the code after the loop from there. It trusts the normal
    form itself, which it shares with the prover.
    """
    try:
        promised = contract_named(proof.contract)
        fields = dict.fromkeys(promised.uncertain, False) | dict.fromkeys(proof.kept, True)
        deadline = time.monotonic() + seconds
        program = Program(body, promised._replace(**fields), promised.uncertain, deadline)
        program.scale = Scale(**proof.scale)
        return missing(program, proof)
    except (BadInput, NotModelled, Unprovable) as why:
        return str(why)
    except BaseException as why:
        if isinstance(why, KeyboardInterrupt):
            raise
        return f"a replay ends with {type(why).__name__}"


def missing(program: Program, proof: Proof) -> str | None:
    """The first thing that the certificate claims and a replay does not show."""
    known: dict[Any, list[Form]] = {}
    for path, claimed in proof.states:
        if not path:
            return "a path is empty: its first entry is the code before the loop"
        given = [result for step in path for result in step]
        prover, boundary = program.run(given, len(path) - 1, lambda _form: False)
        form = boundary.form
        if form is None or form.digest() != claimed or prover.results != given:
            return f"the path {path} does not lead to its state"
        known.setdefault(form.equal, []).append(form)
    for path in [(), *(path for path, _digest in proof.states)]:
        for longer, form in after(program, path, len(path), lambda _form: True):
            if not any(other.covers(form) for other in known.get(form.equal, ())):
                where = f"a step leads from {path}" if path else "the loop can begin"
                return f"{where} to a state that is not listed: {longer}"
    if program.scale.as_data() != proof.scale:
        return f"the program asks more of its steps than {proof.scale}"
    return None
