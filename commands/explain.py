"""`streamorder explain`: every missing edge of a protocol, each with its counterexample."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..model.verdict import combined_exit_code
from ..report.colour import Paint
from .deciding import add_engine, add_names, add_runtime, add_steps, decide_all
from .output import write_json

if TYPE_CHECKING:
    import argparse

    from .parser import Parser


def add(parser: Parser) -> None:
    """Its options."""
    add_names(parser)
    add_steps(parser)
    add_engine(parser)
    add_runtime(parser)
    parser.set_defaults(action=run)


def run(options: argparse.Namespace) -> int:
    """Decide, and print everything that was found."""
    from ..report.text import one

    verdicts = decide_all(options)
    if options.format == "json":
        write_json([verdict.as_data() for verdict in verdicts])
    else:
        paint = Paint.for_stream(sys.stdout)
        everything = (one(v, paint, pictures=len(v.missing_edges), evidence=True) for v in verdicts)
        print("\n\n".join(everything))
    return combined_exit_code(verdict.exit_code for verdict in verdicts)
