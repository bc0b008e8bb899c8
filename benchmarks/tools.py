# ruff: noqa: INP001 - scripts, run from a checkout and never installed
"""One checker on one program, in this process, as JSON: `tools.py TOOL SECONDS '["own", 2, 4, 8]'`.

Started by `checkers.py` for each figure, so that nothing is warm and peak memory is its own.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

from family import Cell, contract_of, protocol_for_minicheck
from measure import peak_mb

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_STATES = 10**12
MEGABYTES = 8192


def order(cell: Cell, seconds: float) -> dict[str, Any]:
    """Streamorder's engine `order`: with one queue, what CUDA's contract gives, which holds on
    every queue map, and what a runtime with one queue makes of it.
    """
    from programs import idle_threads, staged_threads

    from streamorder import Limits, check

    runtime: dict[str, Any] = {"contract": "cuda"}
    if cell.queues == "one":
        runtime = {"runtime": "cuda-13", "env": {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}}
    limits = Limits(executions=MOST_STATES, states=MOST_STATES, seconds=seconds)
    # Modules are loaded when they are first needed. That is part of starting, as a compilation is:
    # it is in the time of the whole command.
    check(idle_threads, steps=1, **runtime, threads=cell.threads)
    started = time.perf_counter()
    verdict = check(staged_threads, steps=cell.steps, limits=limits, **runtime, **cell.parameters)
    took = time.perf_counter() - started
    return found(str(verdict.outcome), took, verdict.executions, peak_mb())


def machine(cell: Cell, seconds: float) -> dict[str, Any]:
    """Streamorder's engine `machine`, every state."""
    from programs import staged_threads

    from streamorder import Limits, check

    limits = Limits(executions=MOST_STATES, states=MOST_STATES, seconds=seconds)
    started = time.perf_counter()
    verdict = check(
        staged_threads, contract_of(cell), engine="machine", steps=cell.steps, limits=limits,
        **cell.parameters,
    )  # fmt: skip
    took = time.perf_counter() - started
    return found(str(verdict.outcome), took, verdict.states, peak_mb())


def spin(cell: Cell, seconds: float, compiler: str) -> dict[str, Any]:
    """SPIN on the exported model in its batched form."""
    from programs import staged_threads

    from streamorder import promela
    from streamorder.model.export import checkers

    contract = contract_of(cell)
    started = time.perf_counter()
    model = promela(
        staged_threads, contract, steps=cell.steps, broken=contract.uncertain, batched=True,
        compared=False, **cell.parameters,
    )  # fmt: skip
    exported = time.perf_counter() - started
    ran = checkers.spin(model, compiler=compiler, seconds=seconds, megabytes=MEGABYTES)
    data = found(ran.outcome, sum(ran.seconds.values()), ran.states, ran.memory)
    return {**data, **ran.seconds, "export": exported, "why": ran.why}


def spin_tcc(cell: Cell, seconds: float) -> dict[str, Any]:
    """With tcc, which compiles quickest."""
    return spin(cell, seconds, "tcc")


def spin_gcc(cell: Cell, seconds: float) -> dict[str, Any]:
    """With gcc -O2, whose pan is the fastest; the limit leaves room for the compilation."""
    return spin(cell, seconds + 5, "gcc -O2")


def tlc(cell: Cell, seconds: float) -> dict[str, Any]:
    """TLC on the exported specification, one worker."""
    from programs import staged_threads

    from streamorder import tla
    from streamorder.model.export import checkers

    contract = contract_of(cell)
    started = time.perf_counter()
    model = tla(
        staged_threads, contract, steps=cell.steps, broken=contract.uncertain, compared=False,
        **cell.parameters,
    )  # fmt: skip
    exported = time.perf_counter() - started
    ran = checkers.tlc(model, seconds=seconds, megabytes=MEGABYTES)
    data = found(ran.outcome, sum(ran.seconds.values()), ran.states, ran.memory)
    return {**data, "export": exported, "why": ran.why}


def minicheck(cell: Cell, _seconds: float) -> dict[str, Any]:
    """Minicheck on the family written by hand as it takes it; ended from outside."""
    check_safety = import_module("minicheck").check_safety
    model = protocol_for_minicheck(cell)
    started = time.perf_counter()
    said = check_safety(model, max_states=MOST_STATES)
    took = time.perf_counter() - started
    holds = all(each["holds"] for each in said["properties"].values())
    states = said["reachable_states"]
    return found("HOLDS" if holds else "UNDETERMINED", took, states, peak_mb())


def found(outcome: str, seconds: float, count: int, megabytes: float) -> dict[str, Any]:
    """What a tool found, in how much time and memory."""
    return {"outcome": outcome, "seconds": seconds, "count": count, "peak_mb": megabytes}


TOOLS: dict[str, Callable[[Cell, float], dict[str, Any]]] = {
    "order": order, "machine": machine, "spin-tcc": spin_tcc, "spin-gcc": spin_gcc, "tlc": tlc,
    "minicheck": minicheck,
}  # fmt: skip


def main() -> None:
    """Run one tool; what it refuses is its answer."""
    from streamorder import StreamorderError

    tool, seconds, words = sys.argv[1:]
    try:
        result = TOOLS[tool](Cell(*json.loads(words)), float(seconds))
    except StreamorderError as error:
        result = {**found("REFUSED", 0.0, 0, 0.0), "why": str(error)}
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
