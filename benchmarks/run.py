# ruff: noqa: INP001 - scripts, run from a checkout and never installed
"""Measure Streamorder: `python benchmarks/run.py [--quick]` writes results.md and results.json.

Nothing here asserts a time. This process imports nothing of Streamorder and stays small: the
memory of what it starts is measured from below it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from cases import COMMANDS, orders, searches, states
from table import markdown

if TYPE_CHECKING:
    from cases import Case

HERE = Path(__file__).resolve().parent
START_UPS = 11


def main() -> None:
    """Measure everything, then write the results."""
    parser = argparse.ArgumentParser(description="Measure Streamorder.")
    parser.add_argument("--quick", action="store_true", help="small sizes only: about 20 s")
    parser.add_argument("--out", type=Path, default=HERE, help="the folder for the results")
    options = parser.parse_args()
    quick: bool = options.quick
    results: dict[str, Any] = {
        "machine": machine(),
        "quick": quick,
        "start-up": [start_up(name, words) for name, words in COMMANDS.items()],
        "decisions": [
            decision(case) for case in (*orders(quick), *searches(quick), *states(quick))
        ],
    }
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (out / "results.md").write_text(markdown(results), encoding="utf-8")
    sys.stdout.write(markdown(results))


def machine() -> dict[str, Any]:
    """Where and when this is measured."""
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def cpu_model() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def measured(what: str, given: object) -> dict[str, Any]:
    """One measurement in a fresh process."""
    words = [sys.executable, str(HERE / "measure.py"), what, json.dumps(given)]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return json.loads(done.stdout)


def decision(case: Case) -> dict[str, Any]:
    """The median rate of a case over fresh processes."""
    say(f"{case.section}: {case.title}, {case.steps} steps")
    given = {
        "program": case.program,
        "engine": case.engine,
        "steps": case.steps,
        "parameters": case.parameters,
        "repeats": case.repeats,
    }
    runs = [measured("decide", given) for _ in range(case.processes)]
    wall, cpu = (
        [second for run in runs for second in run[clock]] for clock in ("seconds", "cpu_seconds")
    )
    count = runs[0][case.unit]
    return {
        **{key: runs[0][key] for key in ("outcome", "ops", "executions", "states")},
        "section": case.section,
        "title": case.title,
        "steps": case.steps,
        "unit": case.unit,
        "count": count,
        "seconds": median(wall),
        "fastest": min(wall),
        "rate": count / median(wall),
        "cpu_rate": count / median(cpu),
        "peak_mb": median(run["peak_mb"] for run in runs),
    }


def start_up(name: str, words: list[str]) -> dict[str, Any]:
    """The median wall time of a command, from outside, and its peak memory."""
    say(f"start-up: {name}")
    beside = Path(sys.executable).with_name("streamorder")
    command = [str(beside)] if beside.exists() else [sys.executable, "-m", "streamorder"]
    whole = [*command, *words] if words else [sys.executable, "-c", "pass"]
    seconds: list[float] = []
    cpu_seconds: list[float] = []
    # The first run may compile and read from disk; it does not count.
    for _ in range(1 + START_UPS):
        started, used = time.perf_counter(), children()
        subprocess.run(whole, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        seconds.append(time.perf_counter() - started)
        cpu_seconds.append(children() - used)
    return {
        "command": name,
        "cpu_seconds": median(cpu_seconds[1:]),
        "seconds": median(seconds[1:]),
        "fastest": min(seconds[1:]),
        "peak_mb": median(measured("command", words)["peak_mb"] for _ in range(5)),
    }


def children() -> float:
    """The CPU time of the processes started and ended so far."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def say(what: str) -> None:
    """Progress, where it does not mix with the results."""
    sys.stderr.write(f"{what}\n")


if __name__ == "__main__":
    main()
