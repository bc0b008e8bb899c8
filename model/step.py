"""A step number that says nothing but what a proof can use.

In a proof for every number of steps the loop's variable is opaque: it may be taken modulo a
constant, moved by one, compared with constants and with other steps, and subtracted from another
step. What is used is recorded: states are told apart only by the step modulo the common period and,
up to the largest constant, by the step itself.
"""

from __future__ import annotations

from math import lcm
from typing import NoReturn

from .errors import Unprovable


class Scale:
    """What a program asks of its steps.

    - `period`: the least common multiple of the moduli; `constant`: the largest constant compared
      with; `lag`: how many steps back the oldest version is that some read expects;
    - `exact`: whether it can see a lack of order, so that more order is no safer;
    - `grown` says that one of them grew: states told apart before may have to be told apart better.
    """

    def __init__(self, period: int = 1, constant: int = -1, lag: int = 0, exact: int = 0) -> None:
        self.period = period
        self.constant = constant
        self.lag = lag
        self.exact = exact
        self.grown = False

    def modulus(self, value: int) -> None:
        """A step was taken modulo this."""
        self._set("period", lcm(self.period, value))

    def compared(self, value: int) -> None:
        """A step was compared with this."""
        self._set("constant", max(self.constant, value))

    def expected(self, age: int) -> None:
        """A read expects a version of so many steps ago."""
        self._set("lag", max(self.lag, age))

    def exactly(self) -> None:
        """The program can gain by a lack of order."""
        self._set("exact", 1)

    def _set(self, name: str, value: int) -> None:
        if getattr(self, name) != value:
            setattr(self, name, value)
            self.grown = True

    @property
    def size(self) -> int:
        """How many steps can be told apart."""
        return self.period + self.constant + 1 + self.lag

    def as_data(self) -> dict[str, int]:
        """As plain data."""
        names = ("period", "constant", "lag", "exact")
        return {name: getattr(self, name) for name in names}


class Step:
    """The number of a step, in a proof."""

    __slots__ = ("number", "scale")

    def __init__(self, number: int, scale: Scale) -> None:
        self.number = number
        self.scale = scale

    def __mod__(self, modulus: int) -> int:
        if type(modulus) is not int or modulus < 1:
            raise self._refused(f"modulo {modulus!r}")
        self.scale.modulus(modulus)
        return self.number % modulus

    def __add__(self, offset: int) -> Step:
        if type(offset) is not int:
            raise self._refused(f"plus {offset!r}")
        return Step(self.number + offset, self.scale)

    __radd__ = __add__

    def __sub__(self, other: int | Step) -> Step | int:
        if isinstance(other, Step):
            return self.number - other.number
        if type(other) is not int:
            raise self._refused(f"minus {other!r}")
        return Step(self.number - other, self.scale)

    def _other(self, other: object) -> int:
        if isinstance(other, Step):
            return other.number
        if type(other) is not int:
            raise self._refused(f"compared with {other!r}")
        self.scale.compared(other)
        return other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (int, Step)):
            return False
        return self.number == self._other(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: object) -> bool:
        return self.number < self._other(other)

    def __le__(self, other: object) -> bool:
        return self.number <= self._other(other)

    def __gt__(self, other: object) -> bool:
        return self.number > self._other(other)

    def __ge__(self, other: object) -> bool:
        return self.number >= self._other(other)

    def _refused(self, what: str) -> Unprovable:
        return Unprovable(
            f"the step number is used {what}: a proof allows % k, + c, - c, the difference of two "
            "steps, and comparisons"
        )

    def __hash__(self) -> int:
        raise self._refused("as a key or in a set")

    def __index__(self) -> int:
        raise self._refused("as an index or a number")

    def __int__(self) -> int:
        raise self._refused("as a number")

    def __bool__(self) -> bool:
        raise self._refused("as a condition")

    def __str__(self) -> str:
        raise self._refused("as text")

    def __format__(self, spec: str) -> str:
        raise self._refused("as text")

    def __repr__(self) -> str:
        raise self._refused("as text")

    def __floordiv__(self, other: object) -> NoReturn:
        raise self._refused(f"divided by {other!r}")

    def __mul__(self, other: object) -> NoReturn:
        raise self._refused(f"times {other!r}")

    __rmul__ = __mul__
