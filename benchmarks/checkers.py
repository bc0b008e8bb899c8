# ruff: noqa: INP001 - scripts, run from a checkout and never installed
"""Measure Streamorder beside other checkers: `python benchmarks/checkers.py [--quick]`.

Writes checkers.md, checkers.json and checkers.svg: time to verdict and peak memory of `order`,
`machine`, SPIN (pan from tcc and from gcc -O2), TLC and minicheck on the staged slots, on one
machine in one run. A tool that has run out of its time at some size is not asked about larger ones.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from checkers_page import markdown
from family import Cell, cells
from run import machine, say

HERE = Path(__file__).resolve().parent
TOOLS = ("order", "spin-tcc", "spin-gcc", "machine", "tlc", "minicheck")
REPEATED_BELOW = 2.0
REPEATS = 3


def main() -> None:
    """Measure everything, then write the results."""
    parser = argparse.ArgumentParser(description="Measure Streamorder beside other checkers.")
    parser.add_argument("--quick", action="store_true", help="a small part of the grid")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for a tool and a size")
    parser.add_argument("--out", type=Path, default=HERE, help="the folder for the results")
    options = parser.parse_args()
    limit: float = options.limit
    out: Path = options.out
    results: dict[str, Any] = {
        "machine": {**machine(), "load": os.getloadavg()[0]},
        "limit": limit,
        "start": {name: command_seconds(words) for name, words in start_ups().items()},
        "cells": measured_cells(cells(options.quick), limit),
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / "checkers.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (out / "checkers.md").write_text(markdown(results), encoding="utf-8")
    from checkers_plot import draw

    draw(results, out / "checkers.svg")
    sys.stdout.write(markdown(results))


def measured_cells(wanted: list[Cell], limit: float) -> list[dict[str, Any]]:
    """Every cell with what each tool found in it."""
    ran_out: dict[tuple[Any, ...], int] = {}
    found = []
    for cell in wanted:
        say(cell.title)
        row: dict[str, Any] = dict(cell._asdict())
        for tool in TOOLS:
            smaller = ran_out.get((tool, *cell.series))
            row[tool] = (
                {"outcome": "NOT RUN", "smaller": smaller} if smaller else tried(tool, cell, limit)
            )
            if row[tool]["outcome"] in {"UNDETERMINED", "REFUSED"}:
                ran_out[(tool, *cell.series)] = cell.steps
        row["command"] = command_seconds(command(cell), limit)
        found.append(row)
    return found


def tried(tool: str, cell: Cell, limit: float) -> dict[str, Any]:
    """A tool on a program: the median of several fresh processes, or the one that took long."""
    runs: list[dict[str, Any]] = []
    for _ in range(REPEATS):
        runs.append(once(tool, cell, limit))
        if runs[-1]["outcome"] != "HOLDS" or runs[-1]["seconds"] > REPEATED_BELOW:
            break
    last = runs[-1]
    if last["outcome"] != "HOLDS":
        return last
    figures = {key for key, value in last.items() if isinstance(value, float)}
    return {**last, **{key: median(run[key] for run in runs) for key in figures}, "runs": len(runs)}


def once(tool: str, cell: Cell, limit: float) -> dict[str, Any]:
    """A tool on a program in a fresh process, ended a while after its limit."""
    words = [sys.executable, str(HERE / "tools.py"), tool, str(limit), json.dumps(cell)]
    patience = limit if tool == "minicheck" else 6 * limit + 60
    try:
        done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=patience)  # noqa: S603
    except subprocess.TimeoutExpired:
        return {"outcome": "UNDETERMINED", "seconds": patience, "why": "time"}
    except subprocess.CalledProcessError as error:
        return {"outcome": "UNDETERMINED", "seconds": 0.0, "why": error.stderr.strip()[-300:]}
    return json.loads(done.stdout)


def start_ups() -> dict[str, list[str]]:
    """What starts before anything is decided."""
    return {
        "python": [sys.executable, "-c", "pass"],
        "streamorder --version": [*streamorder(), "--version"],
        "java (the JVM alone)": ["java", "-XX:+UseSerialGC", "-version"],
        "spin -V": ["spin", "-V"],
    }


def streamorder() -> list[str]:
    """The command, as installed beside this Python."""
    beside = Path(sys.executable).with_name("streamorder")
    return [str(beside)] if beside.exists() else [sys.executable, "-m", "streamorder"]


def command(cell: Cell) -> list[str]:
    """The whole command for a cell."""
    words = [*streamorder(), "check", f"{HERE / 'programs.py'}:staged_threads"]
    words += ["--steps", str(cell.steps)]
    for name, value in cell.parameters.items():
        words += [f"--{name}", str(value)]
    if cell.queues == "one":
        return [*words, "--runtime", "cuda-13", "--env", "CUDA_DEVICE_MAX_CONNECTIONS=1"]
    return [*words, "--contract", "cuda"]


def command_seconds(words: list[str], limit: float = 60.0) -> float | None:
    """The median wall time of a whole command; None if it does not run here or in time."""
    seconds: list[float] = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        try:
            subprocess.run(words, check=True, capture_output=True, timeout=6 * limit + 60)  # noqa: S603
        except (OSError, subprocess.SubprocessError):
            return None
        seconds.append(time.perf_counter() - started)
        if seconds[-1] > REPEATED_BELOW:
            break
    return median(seconds)


if __name__ == "__main__":
    main()
