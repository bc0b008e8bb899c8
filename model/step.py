"""A step number that says nothing but what a proof can use.

In a proof for every number of steps the loop's variable is opaque: it may be taken modulo a
constant, moved by one, compared with constants and with other steps, and subtracted from another
step. What is used is recorded: states are told apart only by the step modulo the common period and,
up to the largest constant, by the step itself.
"""

from __future__ import annotations

from math import lcm
from typing import TYPE_CHECKING, NoReturn

from .errors import Unprovable

if TYPE_CHECKING:
    from collections.abc import Callable


def raised(why: BaseException) -> NoReturn:
    """Outside a proof: a refusal is an exception as any other."""
    raise why


class Scale:
    """What a program asks of its steps.

    - `period`: the least common multiple of the moduli; `constant`: the largest constant compared
      with, for a step of the past added to how long ago it was; `lag`: how many steps back the
      oldest version is that some read expects or some idempotent write repeats;
    - `exact`: whether it can see a lack of order, so that more order is no safer;
    - `grown` says that one of them grew: states told apart before may have to be told apart better;
    - `now` is the step that runs, `stop` ends the run, whatever the protocol catches.
    """

    def __init__(self, period: int = 1, constant: int = -1, lag: int = 0, exact: int = 0) -> None:
        self.period = period
        self.constant = constant
        self.lag = lag
        self.exact = exact
        self.grown = False
        self.now = 0
        self.stop: Callable[[BaseException], NoReturn] = raised

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


class Step:  # noqa: PLW1641 - REFUSED has its __hash__
    """The number of a step, in a proof."""

    __slots__ = ("number", "scale")

    def __init__(self, number: int, scale: Scale) -> None:
        self.number = number
        self.scale = scale

    def __mod__(self, modulus: int) -> int:
        if type(modulus) is not int or modulus < 1:
            self._refused(f"modulo {modulus!r}")
        self.scale.modulus(modulus)
        return self.number % modulus

    def __add__(self, offset: int) -> Step:
        if type(offset) is not int:
            self._refused(f"plus {offset!r}")
        return Step(self.number + offset, self.scale)

    __radd__ = __add__

    def __sub__(self, other: int | Step) -> Step | int:
        if isinstance(other, Step):
            return self.number - other.number
        if type(other) is not int:
            self._refused(f"minus {other!r}")
        return Step(self.number - other, self.scale)

    def _other(self, other: object) -> int:
        if isinstance(other, Step):
            return other.number
        if type(other) is not int:
            self._refused(f"compared with {other!r}")
        # A step of five steps ago is still told apart from 3 in step 8.
        self.scale.compared(other + self.scale.now - self.number)
        return other

    def __eq__(self, other: object) -> bool:
        if type(other) in UNEQUAL or type(other).__module__.partition(".")[0] == "streamorder":
            return type(other) is Step and self.number == other.number
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

    def _refused(self, what: str) -> NoReturn:
        self.scale.stop(
            Unprovable(
                f"the step number is used {what}: a proof allows % k, + c, - c, the difference of "
                "two steps, and comparisons"
            )
        )

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride] - cannot be set
        """What `isinstance` and patterns see: outside a proof it is an `int`."""
        return int

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refused(f"with .{name}")


UNEQUAL = frozenset({str, bytes, type(None), tuple, list, dict, set, frozenset})
"""What no number equals."""

REFUSED = {
    "__hash__": "as a key or in a set",
    "__index__": "as an index or a number",
    "__bool__": "as a condition",
    **dict.fromkeys(("__str__", "__format__", "__repr__"), "as text"),
    **dict.fromkeys(
        ("__int__", "__float__", "__complex__", "__trunc__", "__round__", "__floor__", "__ceil__"),
        "as a number",
    ),
    **{
        f"__{side}{name}__": f"with {sign}"
        for name, sign in {
            "mul": "*", "matmul": "@", "truediv": "/", "floordiv": "//", "divmod": "divmod()",
            "pow": "**", "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
        }.items()
        for side in ("", "r")
    },
    "__rsub__": "subtracted from a number",
    "__rmod__": "with %, on its right",
    **{f"__{name}__": f"with {name}" for name in ("neg", "pos", "abs", "invert")},
}  # fmt: skip
"""What an `int` can do and a proof does not follow, in words."""


def refusing(what: str) -> Callable[..., NoReturn]:
    """A method that refuses."""

    def method(step: Step, *_others: object) -> NoReturn:
        step._refused(what)  # noqa: SLF001 - a method of the class

    return method


for _name, _what in REFUSED.items():
    setattr(Step, _name, refusing(_what))
