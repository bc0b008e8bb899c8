"""Durations: how long something takes, as a function of a number between 0 and 1.

Every duration is its own quantile function, so that a draw is a uniform number that the caller
chooses (see `draws`): two protocols compared on the same numbers get the same durations.

- *fixed*: always the same;
- *uniform*: between two bounds;
- *log-normal*: by its median and the standard deviation of its logarithm;
- *trace-driven*: what was measured, in the order in which it was measured, again and again.
"""

from __future__ import annotations

from math import exp, isfinite
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..model.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable

NORMAL = NormalDist()


class Duration(Protocol):
    """How long something takes, in seconds."""

    def at(self, chance: float, index: int) -> float:
        """The duration of the `index`-th time (from 0), drawn with `chance` in (0, 1); seconds."""
        ...

    @property
    def typical(self) -> float:
        """The median, in seconds."""
        ...


class Fixed(NamedTuple):
    """Always the same number of seconds."""

    seconds: float

    def at(self, chance: float, index: int) -> float:
        """The number of seconds, whatever is drawn."""
        del chance, index
        return self.seconds

    @property
    def typical(self) -> float:
        """The number of seconds."""
        return self.seconds


class Uniform(NamedTuple):
    """Evenly distributed from `low` to `high`, in seconds."""

    low: float
    high: float

    def at(self, chance: float, index: int) -> float:
        """The quantile of `chance`."""
        del index
        return self.low + chance * (self.high - self.low)

    @property
    def typical(self) -> float:
        """The middle."""
        return (self.low + self.high) / 2


class LogNormal(NamedTuple):
    """Log-normal: `median` in seconds, `sigma` the standard deviation of its natural logarithm."""

    median: float
    sigma: float

    def at(self, chance: float, index: int) -> float:
        """The quantile of `chance`."""
        del index
        return self.median * exp(self.sigma * NORMAL.inv_cdf(chance))

    @property
    def typical(self) -> float:
        """The median."""
        return self.median


class Trace(NamedTuple):
    """What was measured, in seconds: the n-th time takes the n-th, and so on from the start."""

    measured: tuple[float, ...]

    def at(self, chance: float, index: int) -> float:
        """The measurement whose turn it is; nothing is drawn."""
        del chance
        return self.measured[index % len(self.measured)]

    @property
    def typical(self) -> float:
        """The median of the measurements."""
        return sorted(self.measured)[len(self.measured) // 2]


def duration(value: object, unit: float, what: str) -> Duration:
    """A duration from a device file: a number, or a table with one of `KINDS`.

    >>> duration(4.0, 1e-6, "launch_us").typical
    4e-06
    >>> duration({"uniform": [2, 6]}, 1.0, "launch_s").at(0.25, 0)
    3.0

    Args:
        value: what the file says, in `unit`s.
        unit: seconds in one unit.
        what: the key, for the message.

    Raises:
        BadInput: it is neither, or a number of it is negative or not finite.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Fixed(number(value, what) * unit)
    if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in KINDS:
        raise BadInput(
            f"{what} must be a number or a table with one of {', '.join(KINDS)}, not {value!r}"
        )
    [(kind, given)] = value.items()
    try:
        return KINDS[kind](given, unit, what)
    except (TypeError, ValueError, KeyError):
        raise BadInput(f"{what}: {USES[kind]}, not {given!r}") from None


def number(value: object, what: str) -> float:
    """A finite number that is not negative; raises `BadInput` for another."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not good or not isfinite(value) or value < 0:  # type: ignore[arg-type, operator]
        raise BadInput(f"{what} must be a number of at least 0, not {value!r}")
    return float(value)  # type: ignore[arg-type]


def _uniform(given: Any, unit: float, what: str) -> Duration:
    low, high = (number(bound, what) * unit for bound in given)
    if low > high:
        raise ValueError
    return Uniform(low, high)


def _lognormal(given: Any, unit: float, what: str) -> Duration:
    if set(given) != {"median", "sigma"}:
        raise KeyError
    return LogNormal(number(given["median"], what) * unit, number(given["sigma"], what))


def _trace(given: Any, unit: float, what: str) -> Duration:
    if not isinstance(given, list) or not given:
        raise TypeError
    return Trace(tuple(number(measured, what) * unit for measured in given))


KINDS: dict[str, Callable[[Any, float, str], Duration]] = {
    "uniform": _uniform,
    "lognormal": _lognormal,
    "trace": _trace,
}
"""How a table in a device file becomes a duration."""

USES = {
    "uniform": "uniform takes [low, high]",
    "lognormal": "lognormal takes { median = …, sigma = … }",
    "trace": "trace takes a list of measurements",
}
