"""`streamorder doc`: a design page a protocol, generated from it and what is known of it."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..model.catalogue import catalogue
from ..model.errors import BadInput, StreamorderError
from .deciding import targets

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from ..model.protocol import Protocol
    from ..report.design import Cost
    from .parser import Parser

DEVICES = ("mi355x-rocm10", "h200-cuda13")
"""The device files on which a page says what a protocol costs."""

STEPS, SEED = 32, 1


def add(parser: Parser) -> None:
    """Its options."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="NAME, glob, or FILE.py[:fn]")
    parser.add_argument("--all", action="store_true", help="every protocol of the catalogue")
    parser.add_argument("--out", metavar="DIR", required=True, help="the folder of the pages")
    parser.epilog = "Other options are the protocol's own parameters: --slots 3 --layers 61"
    parser.set_defaults(action=run, takes_parameters=True)


def run(options: argparse.Namespace) -> int:
    """Write the pages and their index."""
    from ..report.design_index import index_page
    from ..report.files import told_of, write_all

    if options.all == bool(options.names):
        raise BadInput("name protocols, or say --all")
    entries = list(catalogue().values())
    if options.names:
        entries = [entry for _name, entry in targets(options.names)]
    folder = Path(options.out)
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"--out {folder}: is a file; name a folder")
    files: dict[str, str] = {}
    designs = []
    for number, entry in enumerate(entries, 1):
        say(f"{number}/{len(entries)} {entry.name}")
        design, pages = documented(entry, options.parameters)
        designs.append(design)
        files |= pages
    say("")
    files["index.md"] = index_page(designs)
    for name in files:
        with told_of(folder):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
    write_all({folder / name: text for name, text in files.items()})
    protocols = f"{len(entries)} protocol{'s' * (len(entries) != 1)}"
    print(f"wrote {len(files)} files for {protocols} to {folder}")
    return 0


def say(words: str) -> None:
    """How far it has come, on a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{words[:78]:78}\r")


def documented(entry: Protocol, parameters: dict[str, Any]) -> tuple[Any, dict[str, str]]:
    """A protocol's design, and the files of its page."""
    from ..report.design import gather
    from ..report.design_page import design_page

    design = gather(
        entry,
        costs=costs(entry, parameters),
        inputs=inputs(),
        evidence=[] if parameters else evidence(entry.name),
        **parameters,
    )
    return design, design_page(design)


@cache
def inputs() -> dict[str, str]:
    """The texts that costs and evidence are made from, by name."""
    from ..sim.device import HERE

    files = [*(HERE / f"{name}.toml" for name in DEVICES), *results()]
    return {f"measured {path.name}": path.read_text(encoding="utf-8") for path in files}


def results() -> list[Path]:
    """The files of what GPUs did with mutants and controls."""
    from .. import validation

    return sorted((Path(validation.__path__[0]) / "results").glob("*-mutants.json"))


def evidence(name: str) -> list[str]:
    """What GPUs did with a protocol of the catalogue, in sentences."""
    return [line for path in results() for line in told(json.loads(path.read_text("utf-8")), name)]


def told(kept: dict[str, Any], name: str) -> Iterator[str]:
    """What one file of results says of a protocol."""
    device = kept["device"]
    where = f"{device['device']}, {device['backend']} {device['runtime']}, {kept['date']}"
    for row in kept["parts"].get("mutants", []):
        if isinstance(row["data"], list):
            yield from (f"{where}: {line}" for line in controlled(row["data"], name))
        if row["name"] != name:
            continue
        data = row["data"] or {"not_run": row["fault"]}
        if data.get("not_run"):
            yield f"{where}: not run: {data['not_run']}"
            continue
        for hazard in data["hazards"]:
            ends = f"`{hazard['first']}` and `{hazard['second']}`"
            if not hazard["forceable"]:
                yield f"{where}: {ends} in the wrong order cannot be forced ({hazard['why_not']})"
            else:
                yield (
                    f"{where}: {ends} forced into the wrong order, {hazard['shown']} of "
                    f"{hazard['replays']} replays read a wrong version"
                )
        free, mixed = data["free"], data["jittered"]
        seen, what = ("hung", "hung") if data.get("hang") else ("wrong", "read a wrong version")
        yield (
            f"{where}: unforced, {free[seen]} of {free['runs']} runs {what}; with random delays "
            f"{mixed[seen]} of {mixed['runs']}"
        )


def controlled(rows: list[dict[str, Any]], name: str) -> Iterator[str]:
    """What was seen of a safe protocol, which ran as a control."""
    for row in rows:
        if row["name"] == name and row.get("not_run"):
            yield f"not run: {row['not_run']}"
        elif row["name"] == name:
            yield (
                f"unforced and with random delays, {row['wrong']} of {row['runs']} runs read a "
                f"wrong version and {row['hung']} hung"
            )


def costs(entry: Protocol, parameters: dict[str, Any]) -> list[Cost]:
    """What a timed run of the protocol costs on each device."""
    return [cost_on(name, entry, parameters) for name in DEVICES]


def cost_on(name: str, entry: Protocol, parameters: dict[str, Any]) -> Cost:
    """What a timed run costs on a device, or why it was not made."""
    from ..report.design import Cost
    from ..sim.device import load_device
    from ..sim.serving_metrics import median
    from ..sim.simulate import simulate
    from .simulated import plan_bytes

    device = load_device(name)
    try:
        timeline = simulate(
            entry, device, steps=STEPS, seed=SEED, sizes=plan_bytes(device), **parameters
        )
    except StreamorderError as error:
        return Cost(name, {}, str(error))
    totals = timeline.totals()
    figures = {
        "time a step (µs)": totals.seconds * 1e6 / STEPS,
        "host stall a step (µs)": totals.host_stall * 1e6 / STEPS,
        "device idle a step (µs)": totals.device_idle * 1e6 / STEPS,
        "hazards met": float(totals.met),
    }
    if totals.plan_latency:
        figures["step begin to first launch, median (µs)"] = median(totals.plan_latency) * 1e6
    return Cost(name, figures)
