# ruff: noqa: INP001, T201 - a script, run from a checkout and never installed
"""Simulate everything that docs/simulation.md shows: writes the page's tables and its plots.

    python benchmarks/serving_results.py [--draw] [--png]

Replaces what stands between the markers in docs/simulation.md, and writes docs/simulation/*.svg
and every figure to benchmarks/serving_results.json. `--draw` starts from those figures.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from serving_cells import (
    PROTOCOLS,
    SEED,
    Cell,
    dummy_cells,
    experiment,
    real_cells,
    throughput,
)
from serving_page import sentences, write_page
from serving_plots import opening_plot, sweep_plot
from serving_predictions import INTERPOLATIONS, Run, exponents, forms, interpolated, kept, splits

from streamorder.sim.serving import serve
from streamorder.sim.serving_model import StepModel, load_model
from streamorder.sim.serving_workload import of_length

if TYPE_CHECKING:
    from serving_page import Data

    from streamorder.sim.serving_metrics import Metrics

ROOT = Path(__file__).parent.parent
PAGE, FOLDER = ROOT / "docs" / "simulation.md", ROOT / "docs" / "simulation"
DATA = Path(__file__).parent / "serving_results.json"
MORE_SEEDS = (2, 3)


def dummy_runs(model: StepModel) -> dict[str, Data]:
    """Both published cells, unpatched and staged, with and without async scheduling."""
    found: dict[str, Data] = {}
    for cell in dummy_cells():
        for protocol in PROTOCOLS:
            for asynchronous in (True, False):
                if asynchronous or (protocol == PROTOCOLS[0] and cell.concurrency == 32):
                    key = f"{cell.name} {protocol} {'async' if asynchronous else 'sync'}"
                    found[key] = figures(cell, model, protocol, asynchronous=asynchronous)
                    print(key, flush=True)
    for seed in MORE_SEEDS:
        cell = dummy_cells()[1]
        for protocol in PROTOCOLS:
            key = f"{cell.name} {protocol} async, seed {seed}"
            found[key] = figures(cell, model, protocol, seed=seed)
            print(key, flush=True)
    return found


def figures(
    cell: Cell, model: StepModel, protocol: str, device: str = "mi355x-rocm10", *,
    asynchronous: bool = True, seed: int = SEED,
) -> Data:  # fmt: skip
    """The metrics of one run."""
    wanted = experiment(cell, model, protocol, device, async_scheduling=asynchronous)
    return serve(wanted, seed).metrics.as_data()


def real_runs(model: StepModel) -> list[tuple[Run, Metrics]]:
    """Every cell of the sweep, unpatched."""
    found = []
    for cell in real_cells():
        result = serve(experiment(cell, model), SEED)
        found.append((kept(cell, result, model), result.metrics))
        print(cell.name, flush=True)
    return found


def sensitivity(model: StepModel) -> list[Data]:
    """The unpatched protocol at concurrency 32 under other assumptions, nothing fitted again."""
    given = experiment(dummy_cells()[1], model)
    engine, workload = given.engine, given.workload
    others = {
        "as assumed": given,
        "clients answer in 1 ms": given._replace(engine=engine._replace(turnaround=1e-3)),
        "clients answer in 30 ms": given._replace(engine=engine._replace(turnaround=30e-3)),
        "a step is scheduled in 5 ms": given._replace(engine=engine._replace(schedule=5e-3)),
        "10 prompts a client": given._replace(workload=workload._replace(prompts=320)),
        "lengths from 0.5 of the name on": given._replace(
            workload=workload._replace(
                prompt_tokens=of_length(8192, 0.5), output_tokens=of_length(1024, 0.5)
            )
        ),
        "all lengths the same": given._replace(
            workload=workload._replace(
                prompt_tokens=of_length(8192, 1.0), output_tokens=of_length(1024, 1.0)
            )
        ),
        "a budget of 8192 tokens": given._replace(workload=workload._replace(token_budget=8192)),
    }
    found = []
    for name, wanted in others.items():
        found.append({"assumption": name, **serve(wanted, SEED).metrics.as_data()})
        print(name, flush=True)
    return found


def collected() -> Data:
    """Everything that the page shows, simulated."""
    dummy, real = load_model("dummy-weights"), load_model("real-weights")
    sweep = real_runs(real)
    runs = [run for run, _metrics in sweep]
    thirty_two = dummy_cells()[1]
    older = {
        protocol: figures(thirty_two, dummy, protocol, "mi355x-rocm7.2") for protocol in PROTOCOLS
    }
    return {
        "models": {model.name: model._asdict() for model in (dummy, real)},
        "dummy-weights": dummy_runs(dummy),
        "rocm-7.2": older,
        "sensitivity": sensitivity(dummy),
        "real-weights": [row(run.cell, metrics, runs) for run, metrics in sweep],
        "splits": splits(runs, real),
        "exponents": exponents(runs, real),
        "forms": forms(runs),
    }


def row(cell: Cell, metrics: Metrics, runs: list[Run]) -> Data:
    """A cell of the sweep: published, simulated, interpolated if it was not fitted."""
    fitted = [run.cell for run in runs if run.cell.fitted]
    return {
        "cell": cell.name,
        "concurrency": cell.concurrency,
        "published": throughput(cell),
        "simulated": metrics.output_tok_per_s,
        "fitted": cell.fitted,
        "overlap_share": metrics.overlap_share,
        **{
            name: None if cell.fitted else interpolated(cell, fitted, of_log=of_log)
            for name, of_log in INTERPOLATIONS.items()
        },
    }


def main() -> None:
    """Simulate unless told to draw again what was simulated last."""
    if "--draw" in sys.argv:
        data = json.loads(DATA.read_text(encoding="utf-8"))
    else:
        data = collected()
        DATA.write_text(json.dumps(data, indent=1), encoding="utf-8")
    FOLDER.mkdir(exist_ok=True)
    for ending in ("svg", *(["png"] if "--png" in sys.argv else [])):
        sweep_plot(data, FOLDER / f"sweep.{ending}")
        opening_plot(FOLDER / f"opening.{ending}")
    write_page(data, PAGE)
    print(sentences(data))


if __name__ == "__main__":
    main()
