"""`streamorder prove`: like `check`, but a bounded verdict is no proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.verdict import Outcome, combined_exit_code
from .deciding import add_names, decide_all
from .output import write_decided

if TYPE_CHECKING:
    import argparse

    from .parser import Parser


def add(parser: Parser) -> None:
    """Its options."""
    add_names(parser)
    parser.set_defaults(action=run)


def run(options: argparse.Namespace) -> int:
    """Decide and print; exits 3 where a verdict holds for some number of steps only."""
    verdicts = decide_all(options)
    write_decided(verdicts, bool(options.names), options.format)
    return combined_exit_code(
        verdict.exit_code or 3 * (verdict.outcome is Outcome.HOLDS) for verdict in verdicts
    )
