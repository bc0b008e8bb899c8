"""Shares with an interval, and medians: what results are stated in."""

from __future__ import annotations

from math import sqrt

NORMAL_95 = 1.959963984540054


def wilson(hits: int, runs: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share.

    >>> [round(edge, 3) for edge in wilson(300, 300)]
    [0.987, 1.0]
    """
    if not runs:
        return 0.0, 1.0
    share, square = hits / runs, NORMAL_95**2
    middle = (share + square / (2 * runs)) / (1 + square / runs)
    half = NORMAL_95 * sqrt(share * (1 - share) / runs + square / (4 * runs * runs))
    half /= 1 + square / runs
    return max(0.0, middle - half), min(1.0, middle + half)


def median(values: list[float]) -> float:
    """The middle value; the mean of the two in the middle of an even number."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
