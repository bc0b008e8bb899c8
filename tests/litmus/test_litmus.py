"""The rules as small programs: what the model allows is what each module beside this file states.

A module states what its rule allows and forbids, judged from the rule's source before the model is
asked; the model's outcomes and verdicts stand in the `.expected` file of the same name.
`--promote` writes those files again, never the statements.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from streamorder import CUDA, CUDA_HMM, HIP, BadProtocol, Contract, NotModelled, check
from streamorder.model.memory import Special
from streamorder.model.refined import Outcome, outcomes

if TYPE_CHECKING:
    from types import ModuleType

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("R*.py"))
SERIAL = "-serial"


class Answer(NamedTuple):
    """What the model says of one program under one contract: a verdict, and every outcome."""

    verdict: str
    outcomes: tuple[str, ...]


def named(name: str) -> Contract:
    """A contract; `-serial` means that a stream that waits may hold up all others (R1.2)."""
    contract = {c.name: c for c in (CUDA, CUDA_HMM, HIP)}[name.removesuffix(SERIAL)]
    return contract._replace(name=name, streams_progress=not name.endswith(SERIAL))


@cache
def module(name: str) -> ModuleType:
    """A litmus module."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def contracts(name: str) -> list[str]:
    """The contracts under which a program is asked: those that it states something for, and HMM's
    where it has pageable memory, of which alone that contract promises less.
    """
    stated = {"cuda", "hip", *module(name).ALLOWED, *module(name).FORBIDDEN}
    if "pageable(" in (FOLDER / f"{name}.py").read_text(encoding="utf-8"):
        stated.add("cuda-hmm")
    return sorted(stated)


def in_words(outcome: Outcome) -> str:
    """An outcome as one word: `P=1,Q=0`, or `hang`."""
    if outcome == (("hang", True),):
        return "hang"
    return ",".join(f"{name}={version_in_words(version)}" for name, version in outcome)


def version_in_words(version: object) -> str:
    """A version as one word; one that no program can write is called by its class."""
    plain = isinstance(version, (int, str, Special))
    return str(version).replace(" ", "-") if plain else type(version).__name__


@cache
def answer(name: str, contract: str) -> Answer:
    """What the model says; a program that the API refuses has the outcome `refused`."""
    program, promised = module(name), named(contract)
    try:
        found = outcomes(program.litmus, promised, program.OBSERVE)
        engine = "order" if promised.streams_progress else "machine"
        verdict = check(program.litmus, promised, steps=1, engine=engine).verdict
    except BadProtocol:
        return Answer("bad input", ("refused",))
    except NotModelled:
        return Answer("UNDETERMINED", ("not-modelled",))
    return Answer(verdict, tuple(sorted({in_words(outcome) for outcome in found})))


def page(name: str) -> str:
    """The `.expected` file: verdict and outcomes under each contract, one line each in the end."""
    answers = {contract: answer(name, contract) for contract in contracts(name)}
    if answers.get("cuda-hmm") == answers["cuda"]:
        del answers["cuda-hmm"]
    title = name.replace("_", ".", 1).replace("_", "+", 1)
    lines: list[str] = []
    for contract, said in answers.items():
        lines += [f"{contract} {said.verdict}", *(f"  {outcome}" for outcome in said.outcomes)]
    lines.append("")
    for contract, said in answers.items():
        lines.append(f"Observation {title} {contract} {' '.join(said.outcomes)}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", NAMES)
def test_expected(name: str, request: pytest.FixtureRequest) -> None:
    """Outcomes and verdicts are those of the `.expected` file."""
    path = FOLDER / f"{name}.expected"
    seen = page(name)
    if request.config.getoption("--promote"):
        path.write_text(seen, encoding="utf-8", newline="\n")
    assert path.is_file(), "judge the outcomes, then run with --promote"
    assert seen == path.read_text(encoding="utf-8"), "(if this is right, run with --promote)"


def statements() -> list[object]:
    """Every (program, contract); where model and rule disagree the test is expected to fail."""
    made = []
    for name in NAMES:
        known = getattr(module(name), "DISAGREES", {})
        for contract in contracts(name):
            reason = known.get(contract, known.get("cuda") if contract == "cuda-hmm" else None)
            marks = [pytest.mark.xfail(reason=reason)] if reason else []
            made.append(pytest.param(name, contract, marks=marks, id=f"{name}-{contract}"))
    return made


@pytest.mark.parametrize(("name", "contract"), statements())
def test_stated(name: str, contract: str) -> None:
    """What the rule allows can happen, what it forbids cannot; anything else is a torn version."""
    program = module(name)
    plain = contract.removesuffix(SERIAL).removesuffix("-hmm")
    allowed = program.ALLOWED.get(contract, program.ALLOWED[plain])
    forbidden = program.FORBIDDEN.get(contract, program.FORBIDDEN.get(plain, set()))
    found = set(answer(name, contract).outcomes)
    assert allowed <= found, f"allowed and impossible: {sorted(allowed - found)}"
    assert not forbidden & found, f"forbidden and possible: {sorted(forbidden & found)}"
    unjudged = sorted(outcome for outcome in found - allowed if "torn" not in outcome)
    assert not unjudged, f"neither allowed nor forbidden, and possible: {unjudged}"


def test_every_expected_file_has_a_program() -> None:
    """A page whose program is gone is deleted by hand."""
    assert sorted(path.stem for path in FOLDER.glob("*.expected")) == NAMES
