"""The staged slots by themselves, over stand-ins: any runtime's events and buffers will do."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from streamorder.model.protocols.staged_slots import StagedSlots

if TYPE_CHECKING:
    from collections.abc import Iterator

Log = list[tuple[object, ...]]


class Noted:
    """An event that notes what is done to it."""

    def __init__(self, name: str, log: Log) -> None:
        self.name = name
        self.log = log

    def record(self, stream: str) -> None:
        """Note it."""
        self.log.append(("record", self.name, stream))

    def synchronize(self) -> None:
        """Note it."""
        self.log.append(("synchronize", self.name))


def test_each_step_awaits_fills_copies_and_records() -> None:
    """In this order, on the slot and the event whose turn it is."""
    log: Log = []
    staging = StagedSlots(["A", "B"], [Noted("a", log), Noted("b", log)], "compute")
    for step in range(3):
        staging.stage(
            step,
            lambda slot, step: log.append(("fill", slot, step)),
            lambda slot: log.append(("copy", slot)),
        )
    assert log == [
        entry
        for step, slot, event in [(0, "A", "a"), (1, "B", "b"), (2, "A", "a")]
        for entry in [
            ("synchronize", event),
            ("fill", slot, step),
            ("copy", slot),
            ("record", event, "compute"),
        ]
    ]


def test_only_the_wait_is_declared() -> None:
    """What the host program counts as intended is the slot's wait, nothing after it."""
    log: Log = []

    @contextmanager
    def declare(_why: str) -> Iterator[None]:
        log.append(("declared",))
        yield
        log.append(("over",))

    staging = StagedSlots(["A"], [Noted("a", log)], "compute", declare)
    staging.stage(0, lambda _slot, _step: log.append(("fill",)), lambda _slot: None)
    assert log == [
        ("declared",),
        ("synchronize", "a"),
        ("over",),
        ("fill",),
        ("record", "a", "compute"),
    ]


def test_a_slot_that_cannot_be_filled_is_not_recorded() -> None:
    """A planner that fails leaves the slot as it was: the next step may use it."""
    log: Log = []
    staging = StagedSlots(["A"], [Noted("a", log)], "compute")

    def refuse(_slot: str, _step: int) -> None:
        raise RuntimeError("no plan for this batch")

    with pytest.raises(RuntimeError, match="no plan"):
        staging.stage(0, refuse, lambda slot: log.append(("copy", slot)))
    assert log == [("synchronize", "a")]


@pytest.mark.parametrize(("slots", "events"), [(0, 0), (2, 1), (1, 2)])
def test_every_slot_needs_its_own_event(slots: int, events: int) -> None:
    """Fewer events than slots, or more, or no slot at all, is refused."""
    noted = [Noted(f"e{i}", []) for i in range(events)]
    with pytest.raises(ValueError, match=f"{slots} slots with {events} events"):
        StagedSlots([f"s{i}" for i in range(slots)], noted, "compute")
