"""The command `streamorder`: arguments in, text or JSON out, an exit code.

Exit codes: 0 as expected, 1 refuted, 2 the protocol or the command line is wrong, 3 undetermined,
4 cannot run here. Of several results, the first of 2, 1, 3 that occurs.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from .commands import COMMANDS
from .commands.parser import Parser, refuse_rest
from .model.errors import BadInput, BadParameter, StreamorderError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    try:
        return flushed(list(sys.argv[1:] if arguments is None else arguments))
    except StreamorderError as error:
        print(f"streamorder: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except OSError as error:
        place = error.filename or "standard output"
        print(f"streamorder: {place}: {error.strerror or error}", file=sys.stderr)
        give_up_output()
        return 2


def flushed(arguments: list[str]) -> int:
    """Run, and see to it that what was printed is written; without an output, to nowhere."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - to the end
    try:
        return run(arguments)
    finally:
        sys.stdout.flush()


def give_up_output() -> None:
    """What is still to be written to standard output would fail again as the process ends."""
    with suppress(OSError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())


def run(arguments: list[str]) -> int:
    """Parse the arguments and carry out the subcommand."""
    if not arguments or arguments[0] not in COMMANDS:
        return without_command(arguments)
    name = arguments[0]
    parser = Parser(f"streamorder {name}", description=COMMANDS[name])
    import_module(f".commands.{name}", __package__).add(parser)
    options = parser.read(arguments[1:])
    action: Callable[..., int] = options.action
    try:
        return action(options)
    except BadParameter as error:
        raise BadInput(parser.unknown(error)) from error


def without_command(arguments: list[str]) -> int:
    """Help, the version, or what is wrong with the command line."""
    from . import __version__

    top = Parser("streamorder", description="Decide GPU stream protocols, every interleaving.")
    top.add_argument("--version", action="version", version=f"streamorder {__version__}")
    commands = top.add_subparsers(dest="command", parser_class=Parser)
    for name, text in COMMANDS.items():
        commands.add_parser(name, help=text)
    known, own = top.split(arguments)
    top.parse_args(known)
    refuse_rest(own)
    top.print_help()
    return 0
