"""What a scene says of the order, of memory, and of what nobody could read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from streamorder import BadInput, catalogue, check
from streamorder.report.drawing import Drawing
from streamorder.report.mermaid import mermaid
from streamorder.report.page import page
from streamorder.report.scene import lane_of, scenes

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Verdict
    from streamorder.report.scene import Scene


def before(scene: Scene) -> dict[int, set[int]]:
    """For each event those that happen before it: by its lane, by the edges, and by theirs."""
    found: dict[int, set[int]] = {}
    last: dict[object, int] = {}
    for event in scene.events:
        direct = {first for first, second in scene.edges if second == event.number}
        lane = lane_of(event)
        direct |= {last[lane]} if lane in last else set()
        found[event.number] = direct.union(*(found[one] for one in direct))
        last[lane] = event.number
    return found


REFUTED = [name for name, entry in catalogue().items() if entry.expects.get("cuda") == "REFUTED"]


@pytest.mark.parametrize("name", REFUTED)
def test_the_marked_accesses_are_not_ordered_and_need_the_rest(name: str) -> None:
    """Neither marked access happens before the other; edges say nothing that others say already;
    every edge leads forward, between lanes.
    """
    for scene in scenes(check(catalogue()[name], "cuda")):
        known = before(scene)
        lanes = {event.number: lane_of(event) for event in scene.events}
        if scene.missing:
            first, second = scene.missing
            assert first not in known[second]
            assert second not in known[first]
        for first, second in scene.edges:
            assert first < second
            assert lanes[first] != lanes[second]
            others = {one for one, two in scene.edges if two == second and one != first}
            assert not any(first in known[other] for other in others)


def test_order_by_hand(verdict: Callable[..., Verdict]) -> None:
    """`torn`: calls before the operations that they issue, the record before what waits for it."""
    (scene,) = scenes(verdict("torn-copy"))
    assert [(event.number, event.lane, event.label) for event in scene.events] == [
        (1, "host", "write(src, 1)"),
        (2, "host", "memcpy_async(d.head, src.head, s)"),
        (3, "s", "memcpy_async(d.head, src.head, s)"),
        (4, "host", "half.record(s)"),
        (5, "host", "memcpy_async(d.tail, src.tail, s)"),
        (6, "host", "t.wait(half)"),
        (7, "host", "launch(use, t)"),
        (8, "t", "use"),
        (9, "s", "memcpy_async(d.tail, src.tail, s)"),
    ]
    assert scene.edges == ((2, 3), (3, 8), (7, 8), (5, 9))
    assert scene.missing == (9, 8)


def test_memory_by_hand(verdict: Callable[..., Verdict]) -> None:
    """What each region holds before the first event and after each of six."""
    (scene,) = scenes(verdict("slot-reuse"))
    assert {memory.name: memory.versions for memory in scene.memory} == {
        "slot": ("nothing", "0", "0", "0", "1", "1", "1"),
        "d": ("nothing", "nothing", "nothing", "nothing", "nothing", "1", "1"),
    }
    assert scene.missing == (5, 4)
    assert [touch.wrong for touch in scene.events[-1].touches] == [True]


def test_one_address_is_one_memory(verdict: Callable[..., Verdict]) -> None:
    """A buffer that reuses an address holds what the other holds."""
    scene = scenes(verdict("reused-address"))[0]
    assert [memory.name for memory in scene.memory] == ["new = old"]


def test_the_machines_own_path_has_accesses_but_no_order(verdict: Callable[..., Verdict]) -> None:
    """Where a wait for a cell was seen to pass, clocks cannot tell what is before what."""
    (scene,) = scenes(verdict("behind-a-flag"))
    assert not scene.ordered
    assert scene.edges == ()
    assert scene.missing is not None
    last = scene.events[-2:]
    assert [event.role for event in last] == ["first", "second"]
    assert {touch.region for event in last for touch in event.touches} == {"table"}


def test_too_many_lanes_are_refused(verdict: Callable[..., Verdict]) -> None:
    """One line that says how many there are, how many would do, and what to narrow."""
    wide = verdict("report/programs.py:wide")
    for render in (lambda: Drawing(scenes(wide)[0]), lambda: page([wide])):
        with pytest.raises(BadInput, match=r"13 lanes are too many .*at most 9.*fewer steps"):
            render()
    with pytest.raises(BadInput, match=r"13 lanes are too many for a sequence diagram"):
        mermaid(scenes(wide)[0])


def test_too_many_events_are_refused(verdict: Callable[..., Verdict]) -> None:
    """A picture of a hundred rows is none; a page that steps through them is one."""
    (scene,) = scenes(verdict("report/programs.py:long"))
    with pytest.raises(BadInput, match=r"\d+ events are too many for a picture \(at most 70\)"):
        Drawing(scene)
    with pytest.raises(BadInput, match=r"events are too many for a sequence diagram"):
        mermaid(scene)
    assert page([verdict("report/programs.py:long")])
