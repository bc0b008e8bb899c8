"""What can go wrong, as exceptions; each knows the exit code of the command that meets it.

StreamorderError
├── BadInput            2   the protocol or the command line is wrong
│   ├── BadProtocol         a call of the protocol is wrong; carries the source line
│   ├── BadParameter        the protocol has no such parameter, or not of that value
│   ├── UnknownPart         a part that the buffer does not have
│   └── UnknownCall         a call that the API object does not have
├── NotModelled         3   a call or a combination that this contract does not model
├── BudgetSpent         3   the search ended before it was complete
└── CannotRunHere       4   no GPU, no ROCm, a missing extra
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class StreamorderError(Exception):
    """Base of every error that Streamorder raises on purpose; its text is one clear line."""

    exit_code = 2


class BadInput(StreamorderError):
    """The protocol or the command line is wrong: what, where, and how to mend it."""

    exit_code = 2


class BadProtocol(BadInput):
    """A call of the protocol is wrong. `where` is `file:line` of the call once it is known.

    `last` is the last one made: a protocol that swallows its refusal is refused all the same.
    """

    last: BadProtocol | None = None

    def __init__(self, message: str, where: str | None = None) -> None:
        super().__init__(message)
        self.where = where
        if not isinstance(self, AttributeError):
            BadProtocol.last = self

    def __str__(self) -> str:
        message = super().__str__()
        return f"{self.where}: {message}" if self.where else message


class UnknownPart(BadProtocol, AttributeError):
    """A part that the buffer does not have (an `AttributeError`, so that `hasattr` works)."""


class UnknownCall(BadProtocol, AttributeError):
    """A call that the API object does not have (an `AttributeError`, so that `hasattr` works)."""


class BadParameter(BadInput):
    """A parameter that the protocol does not have (`known` are those it has), or a wrong value.

    Its text names a keyword; `said` with a dash names the option of the command.
    """

    def __init__(
        self, owner: str, name: str, why: str, known: tuple[str, ...] | None = None
    ) -> None:
        super().__init__(owner, name, why, known)
        self.owner = owner
        self.name = name
        self.why = why
        self.known = known

    def said(self, dash: str = "", also: Sequence[str] = ()) -> str:
        """The message; `also` are names that could be meant beside the parameters."""
        name, *names = (
            dash + (each.replace("_", "-") if dash else each)
            for each in (self.name, *(self.known or ()), *also)
        )
        if self.known is None:
            return f"{self.owner}: {name} {self.why}"
        known = ", ".join(names[: len(self.known)]) or "none"
        close = get_close_matches(name, names, n=1, cutoff=0.8)
        hint = f"; did you mean {close[0]}?" if close else ""
        return f"{self.owner} has no parameter {name}; it has: {known}{hint}"

    def __str__(self) -> str:
        return self.said()


class NotModelled(StreamorderError):
    """Something is not modelled under this contract: the verdict is UNDETERMINED, never a pass."""

    exit_code = 3


class BudgetSpent(StreamorderError):
    """A search stopped at its budget: the verdict is UNDETERMINED, never a pass."""

    exit_code = 3


def in_one_line(error: BaseException) -> str:
    """The type and text of somebody else's exception, on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split()).rstrip(":")


class Unprovable(BaseException):
    """A proof for every number of steps is not possible: why. A bounded check may still be. Not an
    `Exception`, so that no protocol swallows it.
    """


class Again(BaseException):
    """Something was learned of the program that the search had to know from its start: start
    again. What was learned stays with the `Gpu`, so this happens once. No protocol sees it.
    """


class CannotRunHere(StreamorderError):
    """This machine lacks what the command needs (a GPU, ROCm, an optional dependency)."""

    exit_code = 4
