"""What commands that decide protocols share: names, contracts, tasks, progress."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..model.catalogue import catalogue, find, names_a_file
from ..model.contract import CONTRACTS, DEFAULT, contract_named
from ..model.engines import ENGINES
from ..model.errors import BadInput
from .parser import whole

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from ..model.protocol import Protocol
    from ..model.verdict import Verdict
    from .parser import Parser

Task = tuple[str, str, "int | None", str, "dict[str, Any]", "dict[str, Any]"]
"""A name, a contract, the number of steps, an engine, a runtime, the protocol's parameters."""


def add_names(
    parser: Parser, *, optional: bool = False, formats: Sequence[str] = ("text", "json")
) -> None:
    """The protocols to decide, their own parameters, the contract and the format."""
    many = "*" if optional else "+"
    parser.add_argument("names", nargs=many, metavar="NAME", help="NAME, glob, or FILE.py[:fn]")
    parser.add_argument("--contract", help=f"{', '.join(CONTRACTS)} (default: cuda and hip)")
    parser.add_argument("--format", default="text", choices=formats)
    parser.epilog = "Other options are the protocol's own parameters: --slots 3 --layers 61"
    parser.set_defaults(takes_parameters=True, steps=None, engine="order", jobs="1")
    parser.set_defaults(runtime=None, env=None, sweep=None)


def add_steps(parser: Parser) -> None:
    """How often the step loop runs."""
    parser.add_argument("--steps", help="how often the step loop runs (default: enough)")


def add_engine(parser: Parser) -> None:
    """Which engine decides, and in how many processes."""
    parser.add_argument("--engine", default="order", help=" or ".join(ENGINES))
    parser.add_argument("--jobs", default="1", help="how many processes decide side by side")


def add_runtime(parser: Parser) -> None:
    """The runtime on which hazards may be hidden and programs hang."""
    parser.add_argument("--runtime", metavar="PROFILE", help="cuda-13, rocm-7.2 or rocm-10")
    parser.add_argument(
        "--env", action="append", metavar="NAME=VALUE", help="a variable of the runtime"
    )
    parser.add_argument("--sweep", metavar="NAME=LOW..HIGH", help="a table: queues=1..8")


def runtime_of(options: argparse.Namespace) -> dict[str, Any]:
    """The runtime asked for, as `check` takes it; refuses what does not go together."""
    from ..model.check import promised_by

    env: dict[str, str] = {}
    for word in options.env or ():
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise BadInput(f"--env takes NAME=VALUE, not {word!r}")
        if name in env:
            raise BadInput(f"--env {name} is given twice: give it once")
        env[name] = value
    asked = options.contract.split(",") if options.contract else [None]
    for contract in asked:
        promised_by(contract, options.runtime, env, options.sweep)
    if options.runtime is None:
        return {}
    return {"runtime": options.runtime, "env": env, "sweep": options.sweep}


def targets(names: Sequence[str]) -> list[tuple[str, Protocol]]:
    """The protocols named, each with the word that finds it again; all without names."""
    if not names:
        return [(entry.name, entry) for entry in catalogue().values()]
    found: list[tuple[str, Protocol]] = []
    for name in names:
        if names_a_file(name):
            from ..model.load import load

            found += [(entry.name, entry) for entry in load(name)]
        else:
            found += [(entry.name, entry) for entry in in_catalogue(name)]
    return found


def in_catalogue(name: str) -> list[Protocol]:
    """The entries of this name or pattern; says so where a file was meant."""
    try:
        return find([name])
    except BadInput:
        path = Path(name.partition(":")[0])
        if path.is_dir():
            raise BadInput(f"{name} is a folder: name a file in it, FILE.py") from None
        if path.is_file():
            raise BadInput(f"{name}: the name of a protocol's file must end in .py") from None
        if Path(f"{path}.py").is_file():
            raise BadInput(f"{name}: there is no such protocol; did you mean {path}.py?") from None
        if name.startswith((".", "/", "~")):
            raise BadInput(f"{name}: no such file; a protocol's file ends in .py") from None
        raise


def contracts_for(entry: Protocol, asked: str | None, runtime: str | None = None) -> list[str]:
    """The contracts to decide an entry under: those asked for, the runtime's, or those it has
    expectations for.
    """
    if runtime is not None:
        from ..model.profiles import profile_named

        return [profile_named(runtime).contract.name]
    if asked is not None:
        return [contract_named(name).name for name in asked.split(",")]
    usual = [contract.name for contract in DEFAULT]
    return usual + [name for name in entry.expects if name not in usual]


def decide_all(options: argparse.Namespace) -> list[Verdict]:
    """One verdict for each entry and contract, in order."""
    steps, jobs = whole(options.steps, "--steps"), whole(options.jobs, "--jobs") or 1
    if options.engine not in ENGINES:
        raise BadInput(f"unknown engine {options.engine!r}: it is one of {', '.join(ENGINES)}")
    runtime = runtime_of(options)
    tasks: list[Task] = [
        (name, contract, steps, options.engine, runtime, options.parameters)
        for name, entry in targets(options.names)
        for contract in contracts_for(entry, options.contract, options.runtime)
    ]
    return list(progress(decided(tasks, jobs), len(tasks)))


def decided(tasks: list[Task], jobs: int) -> Iterator[Verdict]:
    """Decide the tasks, in this process or in several."""
    if jobs == 1 or len(tasks) == 1:
        yield from map(decide_task, tasks)
        return
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(decide_task, tasks)


def decide_task(task: Task) -> Verdict:
    """Decide one entry under one contract; found again by name, in whatever process this is."""
    from ..model.check import check

    name, contract, steps, engine, runtime, parameters = task
    [(_name, entry)] = targets([name])
    return check(entry, contract, steps=steps, engine=engine, prove=True, **runtime, **parameters)


def progress(verdicts: Iterable[Verdict], total: int) -> Iterator[Verdict]:
    """Pass verdicts on; on a terminal, say how far it has come."""
    shown = sys.stderr.isatty() and total > 2
    for number, verdict in enumerate(verdicts, 1):
        if shown:
            sys.stderr.write(f"\r{number}/{total} {verdict.name[:60]:60}")
        yield verdict
    if shown:
        sys.stderr.write("\r" + " " * 80 + "\r")
