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


IDLE_LOOP = "the step loop itself (its calls come outside it)"


class Reuse:
    """Follows which regions and events are used in one step only.

    What is made inside the loop counts by its name: a temporary that every step makes anew is used
    again, a ring that is made on the way is not.
    """

    def __init__(self) -> None:
        self.step: int | None = None
        self.alike: dict[Region | Event, Region | Event] = {}
        self.by_name: dict[str, Region | Event] = {}
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
        elif what == "made" and isinstance(value, (Buffer, Event)):
            for thing in value.regions if isinstance(value, Buffer) else (value,):
                if self.step is not None:
                    self.alike[thing] = self.by_name.setdefault(repr(thing), thing)

    def note(self, call: Call, step: int | None = None) -> None:
        """Follow one call, in the current step or the one given."""
        step = self.step if step is None else step
        if step is not None:
            for each in refilled(call):
                thing = self.alike.get(each, each) if self.alike else each
                if thing not in self.again and self.first.setdefault(thing, step) != step:
                    self.again.add(thing)

    def once(self) -> list[str]:
        """The names of what was filled or recorded in a single step, buffers whole where all of it
        was.
        """
        left = {thing: None for thing in self.first if thing not in self.again}
        names = {shown(thing, left): None for thing in left}
        if self.whole_loop_idle:
            names[IDLE_LOOP] = None
        return list(names)

    @property
    def whole_loop_idle(self) -> bool:
        """Whether no step of the loop issued a call, though the protocol did."""
        return self.steps > 1 and not self.busy_steps and self.calls > 0


def shown(thing: Region | Event, left: dict[Region | Event, None]) -> str:
    """A region or event by name; the buffer where all of its regions are left."""
    if isinstance(thing, Region) and all(region in left for region in thing.buffer.regions):
        return repr(thing.buffer)
    return repr(thing)


def refilled(call: Call) -> Iterable[Region | Event]:
    """The regions that a call writes, or the event that it records."""
    verb = call[0]
    if verb == "record":
        return (call[1],)
    if verb in {"memcpy", "memcpy_async"}:
        return [dst for dst, _src in call[1]]
    if verb in {"memset", "memset_async", "write"}:
        return call[1]
    return [region for region, _version in call[4]] if verb in {"launch", "host_func"} else ()
