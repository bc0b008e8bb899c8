"""The staged slots: hand data from the host to a stream without waiting for the stream's work.

Written over four things only, so that the code that is checked is the code that ships: an event
with `synchronize()` and `record(stream)`, a function that fills a slot, one that copies a slot to
the device on the stream, and (optionally) how the host program declares a wait as intended.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

Slot = TypeVar("Slot")
Stream = TypeVar("Stream")
StreamT_contra = TypeVar("StreamT_contra", contravariant=True)

WHY = "the slot's previous copies must have read it"


class CopyEvent(Protocol[StreamT_contra]):
    """The part of an event that is needed here; one never recorded counts as complete."""

    def record(self, stream: StreamT_contra, /) -> None:
        """Take a snapshot of what was issued to the stream so far."""

    def synchronize(self) -> None:
        """Block the host until that is done."""


class StagedSlots(Generic[Slot, Stream]):
    """Page-locked host slots, used in turn, each with the event that says when it is free again.

    Step n uses slot n modulo their number. The stream must be the one whose work reads the copies:
    its own order then protects the device side, and the event protects the slot.
    """

    def __init__(
        self,
        slots: Sequence[Slot],
        copied: Sequence[CopyEvent[Stream]],
        stream: Stream,
        declare: Callable[[str], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        if not slots or len(slots) != len(copied):
            raise ValueError(f"{len(slots)} slots with {len(copied)} events: each needs its own")
        self.slots = tuple(slots)
        self.copied = tuple(copied)
        self.stream = stream
        self.declare = declare

    def stage(
        self, step: int, fill: Callable[[Slot, int], None], copy: Callable[[Slot], None]
    ) -> None:
        """Fill the step's slot and copy it, once the copies that used the slot last are done."""
        turn = step % len(self.slots)
        slot, copied = self.slots[turn], self.copied[turn]
        with self.declare(WHY):
            copied.synchronize()
        fill(slot, step)
        copy(slot)
        copied.record(self.stream)
