"""Durations are quantile functions: what is drawn, and what a device file may say."""

from __future__ import annotations

from math import exp, log
from statistics import fmean, median, stdev
from typing import Any

import pytest

from streamorder.model.errors import BadInput
from streamorder.sim.draws import Draws
from streamorder.sim.durations import duration

COUNT = 4000


def drawn(value: Any) -> list[float]:
    """Many draws of a duration, in its unit."""
    draws, what = Draws(7), duration(value, 1.0, "it")
    return [what.at(draws.chance("it", index), index) for index in range(COUNT)]


def test_a_number_is_fixed() -> None:
    """Always the same, in the unit of the key."""
    assert duration(4, 1e-6, "launch_us").at(0.3, 5) == pytest.approx(4e-6)
    assert set(drawn(2.5)) == {2.5}


def test_uniform_fills_its_bounds() -> None:
    """Every draw lies between them; mean and spread are those of the distribution."""
    values = drawn({"uniform": [2, 6]})
    assert min(values) >= 2
    assert max(values) <= 6
    assert fmean(values) == pytest.approx(4, abs=0.1)
    assert stdev(values) == pytest.approx(4 / 12**0.5, rel=0.05)


def test_lognormal_has_its_median_and_its_spread() -> None:
    """The logarithms are normal around the median's."""
    values = drawn({"lognormal": {"median": 8.0, "sigma": 0.5}})
    assert median(values) == pytest.approx(8.0, rel=0.05)
    logarithms = [log(value) for value in values]
    assert stdev(logarithms) == pytest.approx(0.5, rel=0.05)
    assert fmean(values) == pytest.approx(8 * exp(0.125), rel=0.05)


def test_a_trace_is_played_in_its_order_again_and_again() -> None:
    """Nothing is drawn."""
    assert drawn({"trace": [3, 1, 2]})[:7] == [3, 1, 2, 3, 1, 2, 3]


def test_the_typical_value_is_the_median() -> None:
    """Of every kind."""
    kinds = [5, {"uniform": [4, 6]}, {"lognormal": {"median": 5, "sigma": 1}}, {"trace": [9, 5, 1]}]
    assert [duration(kind, 1.0, "it").typical for kind in kinds] == [5, 5, 5, 5]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (-1, "at least 0, not -1"),
        (True, "a number or a table"),
        ("3", "a number or a table with one of uniform, lognormal, trace, not '3'"),
        ({"normal": [1, 2]}, "a table with one of uniform, lognormal, trace"),
        ({"uniform": [6, 2]}, "uniform takes [low, high], not [6, 2]"),
        ({"uniform": [1]}, "uniform takes [low, high]"),
        ({"uniform": [1, float("inf")]}, "at least 0, not inf"),
        ({"lognormal": {"median": 1}}, "lognormal takes { median = …, sigma = … }"),
        ({"trace": []}, "trace takes a list of measurements"),
        ({"trace": [1, -2]}, "at least 0, not -2"),
    ],
)
def test_what_is_no_duration_is_refused_in_a_line(value: Any, said: str) -> None:
    """With the key, and what it may be."""
    with pytest.raises(BadInput) as refused:
        duration(value, 1.0, "host.launch_us")
    assert str(refused.value).startswith("host.launch_us")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
