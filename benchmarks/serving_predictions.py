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
    from collections.abc import Callable

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
    context: float

    def parts(self, exponent: float = EXPONENT) -> NDArray[np.float64]:
        """The features of all steps together."""
        spread = float((self.decodes**exponent).sum())
        return np.array([self.sums[0], spread, *self.sums[2:]])

    def rate(self, values: NDArray[np.float64], parts: NDArray[np.float64]) -> float:
        """The throughput if the steps took what these parameters say of these features."""
        return self.tokens / (self.other + float(values @ parts))


def kept(cell: Cell, result: Result, model: StepModel) -> Run:
    """What is needed of a run to fit it again."""
    each = np.array([features(batch) for batch in result.batches])
    decodes = np.array([float(batch.decodes) for batch in result.batches])
    metrics, sums = result.metrics, each.sum(axis=0)
    other = metrics.seconds - float(values_of(model) @ sums)
    tokens = metrics.output_tok_per_s * metrics.seconds
    context = float(sum(batch.context for batch in result.batches))
    return Run(cell, tokens, other, sums, decodes[decodes > 0], context)


def values_of(model: StepModel) -> NDArray[np.float64]:
    """The parameters as a vector."""
    return np.array([getattr(model, name) for name in PARAMETERS])


def refit(
    runs: list[Run], values: NDArray[np.float64], features_of: Callable[[Run], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Gauss-Newton on the logarithms of the throughputs."""
    parts = [features_of(run) for run in runs]
    for _turn in range(60):
        rates = [run.rate(values, part) for run, part in zip(runs, parts, strict=True)]
        slopes = [-values * part * rate / run.tokens
                  for run, part, rate in zip(runs, parts, rates, strict=True)]  # fmt: skip
        residuals = [
            log(each / throughput(run.cell)) for run, each in zip(runs, rates, strict=True)
        ]
        step, *_rest = np.linalg.lstsq(np.array(slopes), -np.array(residuals), rcond=None)
        values = values * np.exp(np.clip(step, -0.5, 0.5))
    return values


class Fitted(NamedTuple):
    """A form fitted on the fitted cells: its errors there, and the median one on the others."""

    worst: float
    root_mean_square: float
    predicted: float


def fitted(
    runs: list[Run], start: NDArray[np.float64], features_of: Callable[[Run], NDArray[np.float64]]
) -> Fitted:
    """Fit a form and judge it."""
    values = refit([run for run in runs if run.cell.fitted], start, features_of)
    errors = [(run.cell, error(run.rate(values, features_of(run)), run.cell)) for run in runs]
    own = [value for cell, value in errors if cell.fitted]
    others = [value for cell, value in errors if not cell.fitted]
    return Fitted(max(own), sqrt(fmean(value**2 for value in own)), median(others))


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
        fitting = [cell for cell in cells if cell not in predicted]
        kept_runs = [run for run in runs if run.cell in fitting]
        values = refit(kept_runs, values_of(model), Run.parts)
        own = [error(run.rate(values, run.parts()), run.cell)
               for run in runs if run.cell in predicted]  # fmt: skip
        line = {"model": median(own)}
        for name, of_log in INTERPOLATIONS.items():
            between = [(interpolated(c, fitting, of_log=of_log), c) for c in predicted]
            line[name] = median(error(value, c) for value, c in between if value is not None)
        found.append(line)
    return found


def end(cell: Cell, cells: list[Cell]) -> bool:
    """Whether a cell has the fewest or the most clients of its lengths."""
    same = [other.concurrency for other in cells if other[:2] == cell[:2]]
    return cell.concurrency in {min(same), max(same)}


def exponents(runs: list[Run], model: StepModel) -> list[dict[str, float]]:
    """For each exponent of the decoding sequences: what it gives on fitted and predicted cells."""
    start = values_of(model)
    return [
        {"exponent": e, **fitted(runs, start, lambda run, e=e: run.parts(e))._asdict()}
        for e in EXPONENTS
    ]


def met(run: Run) -> float:
    """The share of the experts that the sequences of a step meet if routing is even, over all
    steps: 16 of 896 a token.
    """
    return float((1 - (1 - 16 / 896) ** run.decodes).sum())


FORMS: dict[str, tuple[list[float], Callable[[Run], list[float]]]] = {
    "√sequences, tokens, pairs (the model)": (
        [1e-2, 3e-3, 44e-6, 1e-10], lambda run: list(run.parts())
    ),
    "√sequences, tokens": ([1e-2, 3e-3, 45e-6], lambda run: list(run.parts()[:3])),
    "√sequences, tokens, context": (
        [1e-2, 3e-3, 45e-6, 1e-9], lambda run: [*run.parts()[:3], run.context]
    ),
    "experts met, tokens, sequences": (
        [1e-2, 2e-2, 45e-6, 1e-4],
        lambda run: [run.sums[0], met(run), run.sums[2], float(run.decodes.sum())],
    ),
    "experts met, tokens, context": (
        [1e-2, 2e-2, 45e-6, 1e-8],
        lambda run: [run.sums[0], met(run), run.sums[2], run.context],
    ),
}  # fmt: skip
"""What else a step could cost beside its base: where the fit begins, and the features."""


def forms(runs: list[Run]) -> list[dict[str, float | str]]:
    """The forms that were considered, each fitted on the fitted cells."""
    return [
        {"form": name, "parameters": len(start),
         **fitted(runs, np.array(start), lambda run, of=of: np.array(of(run)))._asdict()}
        for name, (start, of) in FORMS.items()
    ]  # fmt: skip
