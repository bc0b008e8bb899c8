"""`streamorder check`: decide protocols."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.verdict import combined_exit_code
from .deciding import add_engine, add_names, add_runtime, add_steps, decide_all
from .output import write_decided

if TYPE_CHECKING:
    import argparse

    from .parser import Parser


def add(parser: Parser) -> None:
    """Its options."""
    add_names(parser, optional=True, formats=("text", "json", "sarif", "junit"))
    add_steps(parser)
    add_engine(parser)
    add_runtime(parser)
    parser.set_defaults(action=run)


def run(options: argparse.Namespace) -> int:
    """Decide, print, and say by the exit code how it came out."""
    verdicts = decide_all(options)
    write_decided(verdicts, bool(options.names), options.format)
    return combined_exit_code(verdict.exit_code for verdict in verdicts)
