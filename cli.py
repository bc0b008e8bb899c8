"""The command `streamorder`: arguments in, text or JSON out, an exit code.

Exit codes: 0 as expected, 1 refuted, 2 the protocol or the command line is wrong, 3 undetermined,
4 cannot run here. Of several results, the first of 2, 1, 3 that occurs.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from .model.catalogue import catalogue, find, names_a_file
from .model.contract import CONTRACTS, DEFAULT, contract_named
from .model.engines import ENGINES
from .model.errors import BadInput, StreamorderError
from .model.verdict import Outcome, combined_exit_code
from .report.colour import Paint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from .model.protocol import Protocol
    from .model.verdict import Verdict

OPTIONS = {
    "--help": False,
    "--version": False,
    "--steps": True,
    "--contract": True,
    "--format": True,
    "--engine": True,
    "--jobs": True,
}
"""The command's own options, and whether each takes a value."""

Task = tuple[str, str, "int | None", str, "dict[str, Any]"]


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one clear line, and whose options are never guessed."""

    def __init__(self, prog: str | None = None, **settings: Any) -> None:
        super().__init__(prog, **settings, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Refuse the command line."""
        raise BadInput(f"{message} (see {self.prog} --help)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    try:
        return run(list(sys.argv[1:] if arguments is None else arguments))
    except StreamorderError as error:
        print(f"streamorder: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        sys.stderr.close()
        return 0


def run(arguments: list[str]) -> int:
    """Parse the arguments and carry out the subcommand."""
    known, own = split(arguments)
    options = parser().parse_args(known)
    if options.command is None:
        if own:
            raise BadInput(f"unexpected argument {own[0]!r}")
        parser().print_help()
        return 0
    options.parameters = own_parameters(own) if options.takes_parameters else refuse_rest(own)
    action: Callable[[argparse.Namespace], int] = options.action
    return action(options)


def split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The command's own words, and the `--name value` pairs that are the protocol's."""
    known: list[str] = []
    own: list[str] = []
    words = iter(arguments)
    for word in words:
        name, equals, _value = word.partition("=")
        if not word.startswith("--") or name in OPTIONS:
            known.append(word)
            if name in OPTIONS and OPTIONS[name] and not equals:
                known += [value for value in [next(words, None)] if value is not None]
        else:
            own.append(word)
            if not equals:
                own += [value for value in [next(words, None)] if value is not None]
    return known, own


def parser() -> Parser:
    """The command line."""
    from . import __version__

    top = Parser("streamorder", description="Decide GPU stream protocols, every interleaving.")
    top.add_argument("--version", action="version", version=f"streamorder {__version__}")
    commands = top.add_subparsers(dest="command", parser_class=Parser)
    listing = commands.add_parser("list", help="protocols, contracts, engines")
    listing.add_argument("names", nargs="*", metavar="NAME", help="names, with * and ?")
    listing.set_defaults(action=list_, takes_parameters=False)
    for name, action, text in (
        ("check", check_, "decide protocols: the whole catalogue, names, or FILE.py[:function]"),
        ("explain", explain, "every missing edge of a protocol, each with its counterexample"),
        ("prove", prove_, "decide protocols for every number of steps"),
        ("audit", audit_, "where the host waits for the device, and which waits are undeclared"),
    ):
        deciding(commands.add_parser(name, help=text, description=text), action, name)
    return top


def deciding(command: argparse.ArgumentParser, action: Callable[..., int], name: str) -> None:
    """The options of commands that decide protocols."""
    many = "*" if name == "check" else "+"
    command.add_argument(
        "names", nargs=many, metavar="NAME", help="NAME, glob, or FILE.py[:function]"
    )
    if name != "prove":
        command.add_argument("--steps", help="how often the step loop runs (default: enough)")
    command.add_argument("--contract", help=f"{', '.join(CONTRACTS)} (default: cuda and hip)")
    command.add_argument("--format", default="text", choices=("text", "json"))
    if name == "prove":
        command.set_defaults(steps=None, engine="order", jobs="1")
    elif name != "audit":
        command.add_argument("--engine", default="order", help=" or ".join(ENGINES))
        command.add_argument("--jobs", default="1", help="how many processes decide side by side")
    command.epilog = "Other options are the protocol's own parameters: --slots 3 --layers 61"
    command.set_defaults(action=action, takes_parameters=True)


# --- arguments ---


def own_parameters(rest: list[str]) -> dict[str, Any]:
    """`--name value` pairs that are the protocol's own."""
    found: dict[str, Any] = {}
    words = [part for word in rest for part in (word.split("=", 1) if word[:2] == "--" else [word])]
    for at in range(0, len(words), 2):
        name = words[at]
        if not name.startswith("--") or len(name) == 2:
            raise BadInput(f"unexpected argument {name!r}")
        if at + 1 >= len(words):
            raise BadInput(f"{name} needs a value")
        found[name[2:].replace("-", "_")] = value_of(words[at + 1])
    return found


def value_of(word: str) -> object:
    """A parameter's value: a whole number, true or false, or a word."""
    try:
        return int(word)
    except ValueError:
        return {"true": True, "false": False}.get(word.lower(), word)


def refuse_rest(rest: list[str]) -> dict[str, Any]:
    """Commands without parameters take no more words."""
    if rest:
        raise BadInput(f"unexpected argument {rest[0]!r}")
    return {}


def whole(text: str | None, option: str) -> int | None:
    """A positive whole number."""
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise BadInput(f"{option} must be a positive whole number, not {text!r}")
    return int(text)


def targets(names: Sequence[str]) -> list[tuple[str, Protocol]]:
    """The protocols named, each with the word that finds it again; all without names."""
    if not names:
        return [(entry.name, entry) for entry in catalogue().values()]
    found: list[tuple[str, Protocol]] = []
    for name in names:
        if names_a_file(name):
            from .model.load import load

            found += [(entry.name, entry) for entry in load(name)]
        else:
            found += [(entry.name, entry) for entry in find([name])]
    return found


def contracts_for(entry: Protocol, asked: str | None) -> list[str]:
    """The contracts to decide an entry under: those asked for, or those it has expectations for."""
    if asked is not None:
        return [contract_named(name).name for name in asked.split(",")]
    usual = [contract.name for contract in DEFAULT]
    return usual + [name for name in entry.expects if name not in usual]


# --- commands ---


def list_(options: argparse.Namespace) -> int:
    """`streamorder list`."""
    entries = find(options.names) if options.names else list(catalogue().values())
    width = max(len(entry.name) for entry in entries)
    print("protocols")
    for entry in entries:
        print(f"  {entry.name.ljust(width)}  {entry.summary}")
    if not options.names:
        print("contracts")
        for contract in CONTRACTS.values():
            print(f"  {contract.name.ljust(width)}  {contract.title}")
        print("engines")
        print(f"  {'order'.ljust(width)}  happens-before, one pass a host schedule (the default)")
        print(f"  {'machine'.ljust(width)}  every state, breadth-first: the specification")
    return 0


def check_(options: argparse.Namespace) -> int:
    """`streamorder check`."""
    verdicts = decide_all(options)
    if options.format == "json":
        write_json([verdict.as_data() for verdict in verdicts])
    else:
        write_verdicts(verdicts, bool(options.names))
    return combined_exit_code(verdict.exit_code for verdict in verdicts)


def explain(options: argparse.Namespace) -> int:
    """`streamorder explain`."""
    from .report.text import one

    verdicts = decide_all(options)
    if options.format == "json":
        write_json([verdict.as_data() for verdict in verdicts])
    else:
        paint = Paint.for_stream(sys.stdout)
        everything = (one(v, paint, pictures=len(v.missing_edges)) for v in verdicts)
        print("\n\n".join(everything))
    return combined_exit_code(verdict.exit_code for verdict in verdicts)


def prove_(options: argparse.Namespace) -> int:
    """`streamorder prove`: like `check`, but a bounded verdict is no proof."""
    verdicts = decide_all(options)
    if options.format == "json":
        write_json([verdict.as_data() for verdict in verdicts])
    else:
        write_verdicts(verdicts, bool(options.names))
    return combined_exit_code(
        verdict.exit_code or 3 * (verdict.outcome is Outcome.HOLDS) for verdict in verdicts
    )


def audit_(options: argparse.Namespace) -> int:
    """`streamorder audit`."""
    from .model.audit import audit
    from .report.text import audit_text

    steps = whole(options.steps, "--steps") or 4
    found = [
        audit(entry, contract, steps=steps, **options.parameters)
        for _name, entry in targets(options.names)
        for contract in contracts_for(entry, options.contract)
    ]
    if options.format == "json":
        write_json([one.as_data() for one in found])
    else:
        paint = Paint.for_stream(sys.stdout)
        print("\n".join(audit_text(one, paint) for one in found))
    return int(any(one.undeclared for one in found))


def write_verdicts(verdicts: list[Verdict], asked: bool) -> None:
    """The table; below it, in full, what was asked for by name or is not as expected."""
    from .report.text import one, summary, table

    paint = Paint.for_stream(sys.stdout)
    if len(verdicts) > 2 or not asked:
        print(table(verdicts, paint))
        print(summary(verdicts, paint))
        verdicts = [verdict for verdict in verdicts if verdict.exit_code]
    for verdict in verdicts:
        print(one(verdict, paint))


def write_json(data: object) -> None:
    """Data on standard output."""
    import json

    print(json.dumps(data, indent=2))


# --- deciding ---


def decide_all(options: argparse.Namespace) -> list[Verdict]:
    """One verdict for each entry and contract, in order."""
    steps, jobs = whole(options.steps, "--steps"), whole(options.jobs, "--jobs") or 1
    if options.engine not in ENGINES:
        raise BadInput(f"unknown engine {options.engine!r}: it is one of {', '.join(ENGINES)}")
    tasks: list[Task] = [
        (name, contract, steps, options.engine, options.parameters)
        for name, entry in targets(options.names)
        for contract in contracts_for(entry, options.contract)
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
    from .model.check import check

    name, contract, steps, engine, parameters = task
    [(_name, entry)] = targets([name])
    return check(entry, contract, steps=steps, engine=engine, prove=True, **parameters)


def progress(verdicts: Iterable[Verdict], total: int) -> Iterator[Verdict]:
    """Pass verdicts on; on a terminal, say how far it has come."""
    shown = sys.stderr.isatty() and total > 2
    for number, verdict in enumerate(verdicts, 1):
        if shown:
            sys.stderr.write(f"\r{number}/{total} {verdict.name[:60]:60}")
        yield verdict
    if shown:
        sys.stderr.write("\r" + " " * 80 + "\r")
