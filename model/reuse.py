"""What a bounded check could not see: slots and events that its steps never used twice.

With as many slots as steps, no slot is ever written again while a copy may still read it, so a
missing wait cannot show. A check that holds says which memory and events of that kind it met.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .memory import Buffer, Region
from .objects import Event

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .calls import Call


class Reuse:
    """Follows which regions and events, made before the step loop, are used in one step only."""

    def __init__(self) -> None:
        self.step: int | None = None
        self.standing: set[Region | Event] = set()
        self.first: dict[Region | Event, int] = {}
        self.again: set[Region | Event] = set()
        self.calls = 0
        self.steps = 0
        self.busy_steps = 0
        self.calls_before = 0

    def mark(self, what: str, value: object) -> None:
        """Follow the step loop and what is made outside it."""
        if what == "step":
            self.busy_steps += self.step is not None and self.calls > self.calls_before
            self.calls_before = self.calls
            self.step = value if isinstance(value, int) else None
            self.steps += value is not None
        elif what == "made" and self.step is None:
            if isinstance(value, Buffer):
                self.standing.update(value.regions)
            elif isinstance(value, Event):
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
        """The names of what was filled or recorded in a single step, buffers whole where all of it
        was.
        """
        left = [thing for thing in self.first if thing not in self.again]
        buffers = {thing.buffer: None for thing in left if isinstance(thing, Region)}
        whole = [b for b in buffers if all(region in left for region in b.regions)]
        names = [repr(b) for b in whole]
        names += [
            repr(thing)
            for thing in left
            if not (isinstance(thing, Region) and thing.buffer in whole)
        ]
        if self.steps > 1 and not self.busy_steps and self.calls:
            names.append("the step loop itself (its calls come outside it)")
        return names


def refilled(call: Call) -> tuple[Region | Event, ...]:
    """The regions that a call writes, or the event that it records."""
    verb = call[0]
    if verb == "record":
        return (call[1],)
    if verb in {"memcpy", "memcpy_async"}:
        return tuple(dst for dst, _src in call[1])
    if verb in {"memset", "memset_async", "write"}:
        return call[1]
    return written(call[4]) if verb in {"launch", "host_func"} else ()


def written(writes: Iterable[tuple[Region, object]]) -> tuple[Region, ...]:
    """The regions of a kernel's writes."""
    return tuple(region for region, _version in writes)
