"""`streamorder audit`: where the host waits for the device."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..report.colour import Paint
from .deciding import add_names, add_steps, contracts_for, targets
from .output import write_json
from .parser import whole

if TYPE_CHECKING:
    import argparse

    from .parser import Parser


def add(parser: Parser) -> None:
    """Its options."""
    add_names(parser)
    add_steps(parser)
    parser.set_defaults(action=run)


def run(options: argparse.Namespace) -> int:
    """Audit and print; exits 1 where a wait is undeclared, 3 where not all was listened to."""
    from ..model.audit import audit
    from ..model.verdict import combined_exit_code
    from ..report.text import audit_text

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
    return combined_exit_code(one.exit_code for one in found)
