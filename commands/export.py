"""`streamorder export`: a protocol as a model for SPIN or TLC."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..model.contract import CONTRACTS
from ..model.errors import BadInput
from ..model.verdict import combined_exit_code
from .deciding import targets
from .output import check_outputs
from .parser import whole

if TYPE_CHECKING:
    import argparse

    from ..model.protocol import Protocol
    from .parser import Parser

SUFFIXES = {"promela": ".pml", "tla": ".tla"}
"""How the files of each form are named."""


def add(parser: Parser) -> None:
    """Its options."""
    parser.add_argument("names", nargs="+", metavar="NAME", help="NAME or FILE.py[:function]")
    parser.add_argument("--promela", metavar="FILE", help="a Promela model for SPIN (- prints it)")
    parser.add_argument(
        "--tla", metavar="FILE", help="a TLA+ module for TLC, with a .cfg beside it"
    )
    parser.add_argument(
        "--contract", default="cuda", help=f"{', '.join(CONTRACTS)} (default: cuda)"
    )
    parser.add_argument("--steps", help="how often the step loop runs (default: 4)")
    parser.add_argument("--kept", default="", help="open promises that the model keeps")
    parser.add_argument("--broken", default="", help="open promises that the model breaks")
    parser.add_argument(
        "--batched", action="store_true", help="Promela: what is issued in a row is one message"
    )
    parser.add_argument(
        "--run", action="store_true", help="have SPIN or TLC decide it, and compare"
    )
    parser.epilog = "Other options are the protocol's own parameters: --slots 3 --layers 61"
    parser.set_defaults(action=run, takes_parameters=True)


def run(options: argparse.Namespace) -> int:
    """Export to the files asked for."""
    found = targets(options.names)
    if len(found) != 1:
        names = ", ".join(entry.name for _name, entry in found)
        raise BadInput(f"export takes one protocol, not {len(found)} ({names})")
    if not options.promela and not options.tla:
        raise BadInput("say where to: --promela FILE, --tla FILE, or both")
    from ..model.export.export import TLC_CONFIG
    from ..report.files import write_all

    check_outputs(options, outputs(options))
    written = models(options, found[0][1])
    write_all({Path(path): text for path, text in written if path != "-"})
    for path, text in written:
        sys.stdout.write(text if path == "-" else f"wrote {path}\n")
    if not options.run:
        return 0
    return combined_exit_code(compared(text) for _path, text in written if text != TLC_CONFIG)


def outputs(options: argparse.Namespace) -> list[Path]:
    """Every file that is to be written."""
    found = []
    for option, suffix in SUFFIXES.items():
        name = getattr(options, option) or "-"
        if name != "-" and Path(name).suffix != suffix:
            raise BadInput(f"--{option} {name}: the name must end in {suffix}")
        found += [Path(name)] if name != "-" else []
    return found + [path.with_suffix(".cfg") for path in found if path.suffix == SUFFIXES["tla"]]


def models(options: argparse.Namespace, entry: Protocol) -> list[tuple[str, str]]:
    """Everything that is to be written, made before any of it is."""
    from ..model.export.export import STEPS, TLC_CONFIG, promela, tla

    settings = {
        "contract": options.contract,
        "steps": whole(options.steps, "--steps") or STEPS,
        "kept": fields(options.kept),
        "broken": fields(options.broken),
        **options.parameters,
    }
    made: list[tuple[str, str]] = []
    if options.promela:
        made.append((options.promela, promela(entry, batched=options.batched, **settings)))
    if options.tla == "-":
        made.append(("-", tla(entry, **settings)))
    elif options.tla:
        path = Path(options.tla)
        made.append((str(path), tla(entry, module=path.stem, **settings)))
        made.append((str(path.with_suffix(".cfg")), TLC_CONFIG))
    return made


def fields(text: str) -> list[str]:
    """Names between commas."""
    return [name for name in text.split(",") if name]


def compared(text: str) -> int:
    """What the model's checker says, beside our own verdict."""
    from ..model.export.checkers import spin, tlc
    from ..model.export.heading import verdict_in

    found = spin(text) if text.startswith("/*") else tlc(text)
    ours = verdict_in(text)
    beside = "streamorder says the same" if ours == found.outcome else f"streamorder says {ours}"
    why = f", {found.why}" if found.why else ""
    print(f"{found.checker}: {found.outcome} ({found.states:,} states{why}); {beside}")
    if found.outcome == "UNDETERMINED" or ours in {"UNDETERMINED", ""}:
        return 3
    return int(ours != found.outcome)
