"""Random numbers by name: what makes runs comparable."""

from __future__ import annotations

from statistics import correlation, fmean

import pytest

from streamorder.sim.draws import Draws


def test_a_draw_depends_on_its_name_only() -> None:
    """Not on what was drawn before, in whatever order."""
    first, second = Draws(3), Draws(3)
    late = [first.chance("b", index) for index in range(50)] and first.chance("a", 7)
    assert second.chance("a", 7) == late


def test_seeds_labels_and_indices_tell_draws_apart() -> None:
    """No two of them agree, and they are not correlated."""
    draws = {(s, label): Draws(s) for s in range(3) for label in ("a", "b", "ab")}
    series = [[d.chance(label, i) for i in range(500)] for (_s, label), d in draws.items()]
    assert len({value for values in series for value in values}) == 9 * 500
    for at, one in enumerate(series):
        for other in series[at + 1 :]:
            assert abs(correlation(one, other)) < 0.15


def test_draws_are_even() -> None:
    """Each tenth of the interval gets its tenth; neither end is ever met."""
    values = [Draws(5).chance("x", index) for index in range(5000)]
    for tenth in range(10):
        share = fmean(tenth / 10 <= value < (tenth + 1) / 10 for value in values)
        assert share == pytest.approx(0.1, abs=0.02)
    assert min(values) > 0
    assert max(values) < 1


def test_whole_numbers_include_both_ends() -> None:
    """And nothing else."""
    found = {Draws(1).whole("n", index, 3, 5) for index in range(200)}
    assert found == {3, 4, 5}


def test_draws_stay_as_they_are() -> None:
    """Published results name a seed: the numbers behind it must not change."""
    assert Draws(1).chance("prompt", 0) == pytest.approx(0.5630402646412674, abs=1e-15)
