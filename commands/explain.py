"""`streamorder explain`: every missing edge of a protocol, each with its counterexample."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..model.errors import BadInput
from ..model.verdict import Outcome, combined_exit_code
from ..report.colour import Paint
from .deciding import add_engine, add_names, add_runtime, add_steps, decide_all, targets
from .output import check_outputs, write_json
from .pictures import add_pictures, asked_for, files

if TYPE_CHECKING:
    import argparse

    from ..model.verdict import Verdict
    from .parser import Parser


def add(parser: Parser) -> None:
    """Its options."""
    add_names(parser)
    add_steps(parser)
    add_engine(parser)
    add_runtime(parser)
    parser.add_argument("--save", metavar="FILE", help="keep the schedule that --engine sim found")
    parser.add_argument("--replay", metavar="FILE", help="carry out a schedule that was kept")
    add_pictures(parser)
    parser.set_defaults(action=run)


def run(options: argparse.Namespace) -> int:
    """Decide, print everything that was found, and write the files that are asked for."""
    from ..report.files import write_all
    from ..report.text import one

    check_outputs(options, outputs(options))
    if options.save and (options.engine != "sim" or options.runtime):
        raise BadInput("--save takes --engine sim, and no --runtime")
    verdicts = [replayed(options)] if options.replay else decide_all(options)
    written = files(options, verdicts)
    write_all({**written, **(saved(options, verdicts) if options.save else {})})
    if options.format == "json":
        write_json([verdict.as_data() for verdict in verdicts])
    else:
        paint = Paint.for_stream(sys.stdout)
        everything = (one(v, paint, pictures=len(v.missing_edges), evidence=True) for v in verdicts)
        print("\n\n".join(everything))
        for path in written:
            print(f"wrote {path}")
    return combined_exit_code(verdict.exit_code for verdict in verdicts)


def outputs(options: argparse.Namespace) -> list[Path]:
    """Every file that is to be written."""
    return [*asked_for(options).values(), *([Path(options.save)] if options.save else [])]


def replayed(options: argparse.Namespace) -> Verdict:
    """Carry out the schedule of a file."""
    from ..sim.schedules import load, replay

    given = (options.steps, options.contract, options.runtime, options.save, *options.parameters)
    if any(given) or options.engine not in {"order", "sim"}:
        raise BadInput("--replay takes parameters, contract and steps from its file: give none")
    found, kept = targets(options.names), load(options.replay)
    if len(found) != 1 or found[0][1].name != kept.protocol:
        raise BadInput(
            f"{options.replay} is a schedule of {kept.protocol}, "
            f"not of {', '.join(entry.name for _name, entry in found)}"
        )
    return replay(kept, found[0][1])


def saved(options: argparse.Namespace, verdicts: list[Verdict]) -> dict[Path, str]:
    """The shortest schedule, for its file."""
    from ..sim import schedules

    if len(verdicts) != 1:
        raise BadInput("--save takes one protocol under one --contract")
    if verdicts[0].outcome is not Outcome.REFUTED:
        raise BadInput(f"--save {options.save}: nothing wrong was found, so there is no schedule")
    return {Path(options.save): schedules.text_of(verdicts[0], verdicts[0].missing_edges[0])}
