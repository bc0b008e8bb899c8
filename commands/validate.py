"""`streamorder validate`: the model and the staged slots against the GPU found here."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .output import write_json

if TYPE_CHECKING:
    import argparse

    from ..validation.experiment import Finished
    from .parser import Parser


def add(parser: Parser) -> None:
    """Its options."""
    from ..validation.suite import ABOUT

    parser.add_argument(
        "parts", nargs="*", metavar="EXPERIMENT", help=f"{', '.join(ABOUT)}; all without a name"
    )
    parser.add_argument("--quick", action="store_true", help="fewer runs and a smaller batch")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--output", metavar="FILE", help="write the results as JSON as well")
    parser.set_defaults(action=run, takes_parameters=False)


def run(options: argparse.Namespace) -> int:
    """Run and print; exits 1 where something did not come out as the model says."""
    from ..model.errors import BadInput
    from ..report.files import check_places, write_all
    from ..validation.reports import validation_text
    from ..validation.suite import ABOUT, QUICK, Scale, run_parts
    from ..validation.torch_runtime import require_gpu
    from ..validation.verdicts import surprises

    for part in options.parts:
        if part not in ABOUT:
            raise BadInput(f"unknown experiment {part!r}: it is one of {', '.join(ABOUT)}")
    output = [Path(options.output)] if options.output else []
    check_places(output)
    require_gpu()
    scale = QUICK if options.quick else Scale()
    results = run_parts(options.parts or list(ABOUT), scale, told=told)
    results["surprises"] = surprises(results)
    if output:
        write_all({path: json.dumps(results, indent=1) + "\n" for path in output})
    if options.format == "json":
        write_json(results)
    else:
        print(validation_text(results))
        for said in results["surprises"]:
            print(f"not as expected: {said}")
    return int(bool(results["surprises"]))


def told(finished: Finished) -> None:
    """Say on standard error that an experiment has ended, where somebody looks."""
    if sys.stderr.isatty():
        how = finished.fault or "done"
        print(f"{finished.name}: {how}, {finished.seconds:.1f} s", file=sys.stderr)
