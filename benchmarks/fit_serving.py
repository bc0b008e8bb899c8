# ruff: noqa: INP001, T201 - a script, run from a checkout and never installed
"""Fit the two serving cost models on published figures: writes `sim/models/*.toml`.

    python benchmarks/fit_serving.py [dummy-weights] [real-weights]

Least squares of the logarithms, by Gauss-Newton over whole simulations. The derivative of a figure
is that of the steps that it is made of: a figure is a time between two moments of the run (or its
inverse), the steps between them are known, and a step's duration is linear in the parameters.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from itertools import pairwise
from math import exp, log
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from serving_cells import SEED, Cell, dummy_cells, experiment, real_cells

from streamorder.sim.serving import Result, serve
from streamorder.sim.serving_metrics import weighted_median
from streamorder.sim.serving_model import Features, StepModel, features

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROOT = Path(__file__).parent.parent
ROUNDS, SETTLED = 8, 2e-4
PARAMETERS = ("base", "spread", "token", "pair")
STARTS = {
    "dummy-weights": StepModel("dummy-weights", 13e-3, 1e-3, 45e-6, 0.0),
    "real-weights": StepModel("real-weights", 11e-3, 3e-3, 45e-6, 60e-12),
}
"""Where the search begins; a parameter that is 0 here is not fitted and stays 0."""


class Passage:
    """The features of all steps up to a moment of a run."""

    def __init__(self, result: Result) -> None:
        each = [np.array(features(batch)) for batch in result.batches]
        self.each = each
        self.outputs = result.outputs
        self.sums = np.vstack([np.zeros(len(Features._fields)), np.cumsum(each, axis=0)])

    def until(self, moment: float) -> NDArray[np.float64]:
        """Everything done up to a moment; of the step that it falls into, a share."""
        at = bisect_right(self.outputs, moment)
        if at >= len(self.outputs):
            return self.sums[-1]
        begin = self.outputs[at - 1] if at else 0.0
        part = (moment - begin) / (self.outputs[at] - begin)
        return self.sums[at] + max(0.0, part) * self.each[at]

    def between(self, first: float, last: float) -> NDArray[np.float64]:
        """What was done between two moments."""
        return self.until(last) - self.until(first)


def made_of(result: Result, figure: str) -> tuple[float, NDArray[np.float64]]:
    """A figure's exponent (1: a time, -1: a rate) and the features of the time that it measures."""
    passage = Passage(result)
    if figure == "output_tok_per_s":
        return -1.0, passage.between(0.0, result.metrics.seconds)
    if figure == "mean_ttft_ms":
        parts = [passage.between(sent, first) for sent, first in result.waits]
        return 1.0, np.mean(parts, axis=0)
    gaps = [later - earlier for earlier, later in pairwise(result.outputs)]
    weights = [batch.decodes for batch in result.batches[1:]]
    middle = weighted_median(list(zip(gaps, weights, strict=True)))
    return 1.0, passage.each[1 + min(range(len(gaps)), key=lambda at: abs(gaps[at] - middle))]


def seconds_of(result: Result, figure: str) -> float:
    """The time that a figure measures."""
    metrics = result.metrics
    if figure == "output_tok_per_s":
        return metrics.seconds
    return getattr(metrics, figure) * 1e-3


def rows(cells: list[Cell], model: StepModel) -> tuple[list[float], list[NDArray[np.float64]]]:
    """For each figure: the logarithm of simulated over published, and its derivatives by the
    logarithms of the parameters.
    """
    values = np.array([getattr(model, name) for name in PARAMETERS])
    residuals, slopes = [], []
    for cell in cells:
        result = serve(experiment(cell, model), SEED)
        for figure, published in cell.figures.items():
            residuals.append(log(getattr(result.metrics, figure) / published))
            exponent, parts = made_of(result, figure)
            slopes.append(exponent * values * parts / seconds_of(result, figure))
    return residuals, slopes


def fit(cells: list[Cell], model: StepModel) -> StepModel:
    """Gauss-Newton until the parameters settle."""
    free = [at for at, name in enumerate(PARAMETERS) if getattr(model, name)]
    for turn in range(ROUNDS):
        residuals, slopes = rows(cells, model)
        matrix = np.array(slopes)[:, free]
        step, *_rest = np.linalg.lstsq(matrix, -np.array(residuals), rcond=None)
        step = np.clip(step, -0.7, 0.7)
        worst = max(abs(exp(residual) - 1) for residual in residuals)
        print(f"round {turn}: worst of {len(residuals)} figures {worst:.2%}, "
              f"largest change {np.abs(step).max():.2%}", flush=True)  # fmt: skip
        changed = {
            PARAMETERS[at]: getattr(model, PARAMETERS[at]) * exp(by)
            for at, by in zip(free, step, strict=True)
        }
        if np.abs(step).max() < SETTLED:
            break
        model = model._replace(**changed)
    return model


def written(model: StepModel, cells: list[Cell]) -> str:
    """The model as its file."""
    free = [name for name in PARAMETERS if getattr(model, name)]
    figures = sum(len(cell.figures) for cell in cells)
    listed = ", ".join(f'"{cell.name}"' for cell in cells)
    return (
        f"# Written by benchmarks/fit_serving.py: do not edit.\n\n[seconds]\n"
        f"base_us = {model.base * 1e6:.3f}\nspread_us = {model.spread * 1e6:.4f}\n"
        f"token_ns = {model.token * 1e9:.4f}\npair_ps = {model.pair * 1e12:.5f}\n\n"
        f"[fit]\nparameters = {len(free)}\nfigures = {figures}\ncells = [{listed}]\nseed = {SEED}\n"
    )


def main() -> None:
    """Fit the models named, or both."""
    cells = {
        "dummy-weights": [cell for cell in dummy_cells() if cell.fitted],
        "real-weights": [cell for cell in real_cells() if cell.fitted],
    }
    for name in sys.argv[1:] or cells:
        print(name)
        model = fit(cells[name], STARTS[name])
        path = ROOT / "sim" / "models" / f"{name}.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(written(model, cells[name]), encoding="utf-8")


if __name__ == "__main__":
    main()
