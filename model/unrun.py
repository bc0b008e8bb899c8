"""Functions whose body a call does not run: generators, coroutines, whatever is iterated later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import BadProtocol

if TYPE_CHECKING:
    from .where import Where

LATER = {
    "__await__": "a coroutine: its body has not run; write def, not async def",
    "__anext__": "an asynchronous generator: its body has not run; write def, and no yield",
    "__next__": "an iterator ({kind}): what it yields has not run; take the yield out",
}
"""What a result has that runs only when somebody asks for it, and what to say of it."""


def ran(result: object, whose: str, where: Where | None) -> None:
    """Refuse the result of a function whose body is still to be run: nothing of it was checked."""
    for method, what in LATER.items():
        if hasattr(type(result), method):
            close = getattr(result, "close", None)
            if close is not None:
                close()
            raise BadProtocol(
                f"{whose} returns {what.format(kind=type(result).__name__)}",
                str(where) if where else None,
            )
