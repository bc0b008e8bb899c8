"""Means, intervals and paired comparisons."""

from __future__ import annotations

from random import Random
from statistics import fmean

import pytest

from streamorder.sim.replicates import change, estimate, t_quantile


def test_one_run_has_no_interval() -> None:
    """Nothing is known of its spread."""
    assert estimate([3.0]).half is None
    assert estimate([3.0]).shown() == "3"


def test_by_hand() -> None:
    """Of 1, 2 and 3: mean 2, standard deviation 1, Student's t 4.303 by the root of 3."""
    found = estimate([1.0, 2.0, 3.0])
    assert found.mean == 2.0
    assert found.half == pytest.approx(4.303 / 3**0.5)
    assert found.shown() == "2 ± 2.5"


def test_quantiles_fall_towards_the_normal_one() -> None:
    """Beyond the table they go on smoothly."""
    values = [t_quantile(freedom) for freedom in range(1, 200)]
    assert values == sorted(values, reverse=True)
    assert t_quantile(40) == pytest.approx(2.021, abs=2e-3)
    assert t_quantile(120) == pytest.approx(1.980, abs=2e-3)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """In 95 of 100 samples of five, give or take."""
    random, held, samples = Random(1), 0, 2000  # noqa: S311 - no secret
    for _sample in range(samples):
        found = estimate([random.gauss(7, 2) for _ in range(5)])
        assert found.half is not None
        held += abs(found.mean - 7) <= found.half
    assert held / samples == pytest.approx(0.95, abs=0.015)


def test_pairs_cancel_what_they_share() -> None:
    """A change of one in a thousand shows in five pairs that differ by half among themselves."""
    before = [10.0, 15.0, 12.0, 14.0, 11.0]
    found = change(before, [value * 1.001 for value in before])
    assert found.mean == pytest.approx(0.001)
    assert found.half == pytest.approx(0, abs=1e-9)
    assert fmean(before) == 12.4
