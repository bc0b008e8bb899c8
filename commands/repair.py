"""`streamorder repair`: minimal additions after which a protocol holds, and redundant waits."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..model.verdict import combined_exit_code
from ..report.colour import Paint
from .deciding import add_names, add_steps, contracts_for, targets
from .output import write_json
from .parser import whole

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from ..model.repair import Repairs
    from .parser import Parser


def add(parser: Parser) -> None:
    """Its options."""
    add_names(parser)
    add_steps(parser)
    parser.add_argument("--most", default="4", help="how many repairs to offer (default: 4)")
    parser.add_argument(
        "--checks", default="600", help="how many edited programs to decide at most (default: 600)"
    )
    parser.set_defaults(action=run)


def run(options: argparse.Namespace) -> int:
    """Repair and print; exits 1 where a refuted protocol has no repair."""
    from ..model.repair import repair

    steps = whole(options.steps, "--steps")
    most = whole(options.most, "--most") or 4
    checks = whole(options.checks, "--checks") or 600
    wanted = targets(options.names)
    found = (
        repair(
            entry,
            contracts_for(entry, options.contract),
            steps=steps,
            most=most,
            checks=checks,
            **options.parameters,
        )
        for _name, entry in wanted
    )
    repairs = list(progress(found, len(wanted)))
    write(repairs, options.format)
    return combined_exit_code(one.exit_code for one in repairs)


def write(repairs: list[Repairs], form: str) -> None:
    """As text or as JSON."""
    if form == "json":
        write_json([one.as_data() for one in repairs])
        return
    from ..report.repairs import repairs_text

    paint = Paint.for_stream(sys.stdout)
    print("\n\n".join(repairs_text(one, paint) for one in repairs))


def progress(repairs: Iterable[Repairs], total: int) -> Iterator[Repairs]:
    """Pass repairs on; on a terminal, say how far it has come."""
    shown = sys.stderr.isatty() and total > 1
    for number, one in enumerate(repairs, 1):
        if shown:
            sys.stderr.write(f"\r{number}/{total} {one.name[:60]:60}")
        yield one
    if shown:
        sys.stderr.write("\r" + " " * 80 + "\r")
