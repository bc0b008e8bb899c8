# ruff: noqa: INP001 - a script, run from a checkout and never installed
"""What a fitted model says of cells it was not fitted on, and what interpolation says of them.

Other choices of fitted cells, and other exponents, are fitted on the steps as they were simulated:
what each step processes is kept, how long it takes is what the model says.
"""

from __future__ import annotations

from itertools import combinations
from math import exp, log, sqrt
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from fit_serving import PARAMETERS
from serving_cells import Cell, throughput

from streamorder.sim.serving_model import EXPONENT, features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from streamorder.sim.serving import Result
    from streamorder.sim.serving_model import StepModel

EXPONENTS = (0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65)
INTERPOLATIONS = {"interpolation": False, "interpolation of logarithms": True}
"""Of the figure over the logarithm of the clients, or of its logarithm."""


class Run(NamedTuple):
    """A simulated cell: its tokens, and the seconds that are no forward passes; what the forward
    passes process, with the sequences of each step as `decodes` [steps].
    """

    cell: Cell
    tokens: float
    other: float
    sums: NDArray[np.float64]
    decodes: NDArray[np.float64]

    def parts(self, exponent: float) -> NDArray[np.float64]:
        """The features of all steps together."""
        spread = float((self.decodes**exponent).sum())
        return np.array([self.sums[0], spread, *self.sums[2:]])

    def rate(self, values: NDArray[np.float64], exponent: float = EXPONENT) -> float:
        """The throughput if the steps took what these parameters say."""
        return self.tokens / (self.other + float(values @ self.parts(exponent)))


def kept(cell: Cell, result: Result, model: StepModel) -> Run:
    """What is needed of a run to fit it again."""
    each = np.array([features(batch) for batch in result.batches])
    decodes = np.array([float(batch.decodes) for batch in result.batches])
    metrics, sums = result.metrics, each.sum(axis=0)
    other = metrics.seconds - float(values_of(model) @ sums)
    tokens = metrics.output_tok_per_s * metrics.seconds
    return Run(cell, tokens, other, sums, decodes[decodes > 0])


def values_of(model: StepModel) -> NDArray[np.float64]:
    """The parameters as a vector."""
    return np.array([getattr(model, name) for name in PARAMETERS])


def refit(
    runs: list[Run], values: NDArray[np.float64], exponent: float = EXPONENT
) -> NDArray[np.float64]:
    """Gauss-Newton on the logarithms of the throughputs."""
    parts = [run.parts(exponent) for run in runs]
    for _turn in range(30):
        rates = [run.rate(values, exponent) for run in runs]
        slopes = [-values * part * rate / run.tokens
                  for run, part, rate in zip(runs, parts, rates, strict=True)]  # fmt: skip
        residuals = [
            log(rate / throughput(run.cell)) for run, rate in zip(runs, rates, strict=True)
        ]
        step, *_rest = np.linalg.lstsq(np.array(slopes), -np.array(residuals), rcond=None)
        values = values * np.exp(np.clip(step, -0.7, 0.7))
    return values


def interpolated(cell: Cell, fitted: list[Cell], *, of_log: bool) -> float | None:
    """The figure between the fitted cells of the same lengths. None outside them."""
    same = sorted((c.concurrency, throughput(c)) for c in fitted if c[:2] == cell[:2])
    clients = [log(each) for each, _figure in same]
    if len(same) < 2 or not clients[0] <= log(cell.concurrency) <= clients[-1]:
        return None
    values = [log(figure) if of_log else figure for _each, figure in same]
    value = float(np.interp(log(cell.concurrency), clients, values))
    return exp(value) if of_log else value


def error(value: float, cell: Cell) -> float:
    """How far from the published figure, relative to it."""
    return abs(value / throughput(cell) - 1)


def splits(runs: list[Run], model: StepModel) -> list[dict[str, float]]:
    """For every choice of as many predicted cells that keeps the ends of each shape fitted: the
    median error on them, of the model fitted anew and of both interpolations.
    """
    cells = [run.cell for run in runs]
    inner = [cell for cell in cells if not end(cell, cells)]
    held_back = len(cells) - sum(cell.fitted for cell in cells)
    found = []
    for predicted in combinations(inner, held_back):
        fitted = [cell for cell in cells if cell not in predicted]
        values = refit([run for run in runs if run.cell in fitted], values_of(model))
        own = [error(run.rate(values), run.cell) for run in runs if run.cell in predicted]
        line = {"model": median(own)}
        for name, of_log in INTERPOLATIONS.items():
            between = [(interpolated(c, fitted, of_log=of_log), c) for c in predicted]
            line[name] = median(error(value, c) for value, c in between if value is not None)
        found.append(line)
    return found


def end(cell: Cell, cells: list[Cell]) -> bool:
    """Whether a cell has the fewest or the most clients of its lengths."""
    same = [other.concurrency for other in cells if other[:2] == cell[:2]]
    return cell.concurrency in {min(same), max(same)}


def exponents(runs: list[Run], model: StepModel) -> list[dict[str, float]]:
    """For each exponent of the decoding sequences: the root mean square error on the fitted cells,
    and the median error on the predicted ones.
    """
    fitted = [run for run in runs if run.cell.fitted]
    others = [run for run in runs if not run.cell.fitted]
    found = []
    for exponent in EXPONENTS:
        values = refit(fitted, values_of(model), exponent)
        squares = [error(run.rate(values, exponent), run.cell) ** 2 for run in fitted]
        own = [error(run.rate(values, exponent), run.cell) for run in others]
        found.append(
            {"exponent": exponent, "fitted": sqrt(fmean(squares)), "predicted": median(own)}
        )
    return found
