"""`streamorder litmus`: the rules as small programs, by the model or on a device."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .output import write_json

if TYPE_CHECKING:
    import argparse

    from .parser import Parser


def add(parser: Parser) -> None:
    """Its options."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs, as R2.4+pinned or R2_*")
    parser.add_argument("--gpu", action="store_true", help="run them on the GPU and compare")
    parser.add_argument("--quick", action="store_true", help="with --gpu: fewer runs of each")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(action=run, takes_parameters=False)


def run(options: argparse.Namespace) -> int:
    """Print; with `--gpu`, exits 1 where an outcome was seen that the model forbids, and 3 where
    programs did not run.
    """
    return on_gpu(options) if options.gpu else by_model(options)


def by_model(options: argparse.Namespace) -> int:
    """The model's outcomes under each contract."""
    from ..validation.litmus import title
    from ..validation.litmus_model import answer, chosen, contracts

    names = chosen(options.names)
    said = {name: {each: answer(name, each) for each in contracts(name)} for name in names}
    if options.format == "json":
        write_json(
            [
                {"name": title(name), "contract": contract, "verdict": a.verdict,
                 "outcomes": list(a.outcomes)}
                for name, answers in said.items() for contract, a in answers.items()
            ]
        )  # fmt: skip
        return 0
    for name, answers in said.items():
        for contract, found in answers.items():
            print(
                f"{title(name):<28} {contract:<12} {found.verdict:<13} {' '.join(found.outcomes)}"
            )
    return 0


def on_gpu(options: argparse.Namespace) -> int:
    """The outcomes that the device shows."""
    from ..validation.reports import litmus_text
    from ..validation.suite import run_litmus
    from ..validation.torch_runtime import require_gpu
    from ..validation.unseen import unanswered
    from .validate import told

    require_gpu()
    results = run_litmus(options.names, told=told, quick=options.quick)
    missing = unanswered(results["programs"])
    if options.format == "json":
        write_json(results)
    else:
        lines = [litmus_text(results), *(f"undetermined: {said}" for said in missing)]
        print("\n".join(lines), file=sys.stdout)
    return 1 if results["summary"]["forbidden_seen"] else 3 * bool(missing)
