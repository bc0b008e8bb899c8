"""What commands print: tables, verdicts, JSON."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..report.colour import Paint

if TYPE_CHECKING:
    from ..model.verdict import Verdict


def write_decided(verdicts: list[Verdict], asked: bool, form: str) -> None:
    """Verdicts in the format asked for; `asked` says that protocols were named."""
    if form == "json":
        write_json([verdict.as_data() for verdict in verdicts])
    elif form == "sarif":
        from ..report.sarif import sarif

        write_json(sarif(verdicts))
    elif form == "junit":
        from ..report.junit import junit

        print(junit(verdicts), end="")
    else:
        write_verdicts(verdicts, asked)


def write_verdicts(verdicts: list[Verdict], asked: bool) -> None:
    """The table; below it, in full, what was asked for by name or is not as expected."""
    from ..report.text import one, summary, table

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
