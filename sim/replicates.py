"""Several runs with different seeds: means with confidence intervals, and paired comparisons."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist, fmean, stdev
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

T_QUANTILES = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Student's t at 97.5 % for 1 to 30 degrees of freedom."""


class Estimate(NamedTuple):
    """A mean over runs; with probability 95 % the true one is within `half` of it (None for a
    single run).
    """

    mean: float
    half: float | None
    runs: int

    def shown(self, form: str = ".4g") -> str:
        """The mean, and the interval where there is one."""
        mean = format(self.mean, form)
        return mean if self.half is None else f"{mean} ± {self.half:.2g}"


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of independent runs, with Student's interval."""
    count = len(values)
    if count < 2:
        return Estimate(fmean(values), None, count)
    quantile = t_quantile(count - 1)
    return Estimate(fmean(values), quantile * stdev(values) / sqrt(count), count)


def t_quantile(freedom: int) -> float:
    """Student's t at 97.5 %; beyond 30 degrees of freedom by two terms of its expansion."""
    if freedom <= len(T_QUANTILES):
        return T_QUANTILES[freedom - 1]
    z = NormalDist().inv_cdf(0.975)
    return z + (z**3 + z) / (4 * freedom)


def change(before: Sequence[float], after: Sequence[float]) -> Estimate:
    """The relative change between two protocols that met the same random numbers, pair by pair."""
    pairs = zip(before, after, strict=True)
    return estimate([(b - a) / a if a else 0.0 for a, b in pairs])
