"""What commands print: tables, verdicts, JSON; and where they may write."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..model.catalogue import names_a_file
from ..model.errors import BadInput
from ..report.colour import Paint

if TYPE_CHECKING:
    import argparse

    from ..model.verdict import Verdict


def check_outputs(options: argparse.Namespace, paths: list[Path]) -> None:
    """Refuse files that cannot be written, or that the command reads, before anything is done."""
    from ..report.files import check_places

    check_places(paths)
    read = [name.partition(":")[0] for name in options.names if names_a_file(name)]
    read += [options.replay] if getattr(options, "replay", None) else []
    for given in map(Path, read):
        for path in paths:
            if path.exists() and given.exists() and path.samefile(given):
                raise BadInput(f"{path}: the command reads this file; name another to write to")


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
