"""What a bounded check could not see: slots and events that its steps never used twice.

With as many slots as steps, no slot is ever written again while a copy may still read it, so a
missing wait cannot show. A check that holds says which buffers and events of that kind it met.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .objects import Buffer, Event

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .gpu import Call
    from .objects import Region


class Reuse:
    """Follows which buffers and events, made before the step loop, are used in one step only."""

    def __init__(self) -> None:
        self.step: int | None = None
        self.standing: set[Buffer | Event] = set()
        self.first: dict[Buffer | Event, int] = {}
        self.again: set[Buffer | Event] = set()

    def mark(self, what: str, value: object) -> None:
        """Follow the step loop and what is made outside it."""
        if what == "step":
            self.step = value if isinstance(value, int) else None
        elif what == "made" and self.step is None and isinstance(value, (Buffer, Event)):
            self.standing.add(value)

    def note(self, call: Call, step: int | None = None) -> None:
        """Follow one call, in the current step or the one given."""
        step = self.step if step is None else step
        if step is not None:
            for thing in refilled(call):
                known = thing in self.again or thing not in self.standing
                if not known and self.first.setdefault(thing, step) != step:
                    self.again.add(thing)

    def once(self) -> list[str]:
        """The names of what was filled or recorded in a single step."""
        return [repr(thing) for thing in self.first if thing not in self.again]


def refilled(call: Call) -> tuple[Buffer | Event, ...]:
    """The buffers that a call writes, or the event that it records."""
    verb = call[0]
    if verb == "record":
        return (call[1],)
    if verb in {"memcpy", "memcpy_async"}:
        return (call[1][0][0].buffer,)
    if verb in {"memset", "memset_async", "write"}:
        return owners(call[1])
    return owners(region for region, _version in call[4]) if verb == "launch" else ()


def owners(regions: Iterable[Region]) -> tuple[Buffer, ...]:
    """The buffers that regions belong to, each once."""
    return tuple({region.buffer: None for region in regions})
