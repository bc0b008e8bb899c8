"""What the model says of a litmus program: its verdict and every outcome, under each contract."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..model.check import check
from ..model.contract import CONTRACTS, Contract
from ..model.errors import BadInput, BadProtocol, NotModelled
from ..model.memory import Special
from ..model.refined import Outcome, outcomes
from .litmus import NAMES, program, title

if TYPE_CHECKING:
    from collections.abc import Iterable

SERIAL = "-serial"


class Answer(NamedTuple):
    """What the model says of one program under one contract: a verdict, and every outcome."""

    verdict: str
    outcomes: tuple[str, ...]


def named(name: str) -> Contract:
    """A contract; `-serial` means that a stream that waits may hold up all others (R1.2)."""
    contract = CONTRACTS[name.removesuffix(SERIAL)]
    return contract._replace(name=name, streams_progress=not name.endswith(SERIAL))


def contracts(name: str) -> list[str]:
    """The contracts under which a program is asked: those that it states something for, and HMM's
    where it has pageable memory, of which alone that contract promises less.
    """
    module = program(name)
    stated = {"cuda", "hip", *module.ALLOWED, *module.FORBIDDEN}
    if "pageable(" in Path(str(module.__file__)).read_text(encoding="utf-8"):
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
    module, promised = program(name), named(contract)
    try:
        found = outcomes(module.litmus, promised, module.OBSERVE)
        engine = "order" if promised.streams_progress else "machine"
        verdict = check(module.litmus, promised, steps=1, engine=engine).verdict
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
    lines: list[str] = []
    for contract, said in answers.items():
        lines += [f"{contract} {said.verdict}", *(f"  {outcome}" for outcome in said.outcomes)]
    lines.append("")
    for contract, said in answers.items():
        lines.append(f"Observation {title(name)} {contract} {' '.join(said.outcomes)}")
    return "\n".join(lines) + "\n"


def chosen(patterns: Iterable[str]) -> list[str]:
    """The programs whose names, as files or as rules, match a shell pattern; all without one.

    Raises `BadInput` for a pattern that matches none.
    """
    found: list[str] = []
    for pattern in patterns:
        matching = [n for n in NAMES if fnmatchcase(n, pattern) or fnmatchcase(title(n), pattern)]
        if not matching:
            raise BadInput(
                f"no litmus program is called {pattern!r}: `streamorder litmus` lists all"
            )
        found += [name for name in matching if name not in found]
    return found or list(NAMES)
