"""Swim lanes for a terminal: one column a host thread or stream, one line an event.

Runs of like events are folded: a group of lines that repeats is shown once, with how often.
"""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, NamedTuple

from .colour import Paint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model.trace import Event, Touch

NUMBER = re.compile(r"\d+")
LONGEST_PERIOD = 12
NARROWEST = 18
MOST_LANES = 8


class Row(NamedTuple):
    """An event; of several like groups of events, the first, with how often the group repeats.

    `place` is the row's place in its group: `only`, `first`, `middle` or `last`.
    """

    event: Event
    times: int
    place: str


def swim_lanes(
    events: Sequence[Event], *, paint: Paint | None = None, width: int | None = None
) -> str:
    """A counterexample as text.

    Args:
        events: the counterexample.
        paint: colours; none by default.
        width: columns available; the terminal's by default, at most 120.
    """
    paint = paint or Paint(False)
    lanes = list(dict.fromkeys(event.lane for event in sorted(events, key=lambda e: not e.on_host)))
    if len(lanes) > MOST_LANES:
        return (
            f"({len(lanes)} lanes are too many to draw: check fewer steps or threads, or use "
            "--format json)"
        )
    width = width or min(shutil.get_terminal_size((110, 24)).columns, 120)
    rows = fold(events)
    cells = column_widths(rows, lanes, width - 12)
    lines = [
        paint.dim("         # " + "  ".join(lane.ljust(cells[lane]) for lane in lanes).rstrip())
    ]
    lines += [line(row, lanes, cells, paint) for row in rows]
    return "\n".join(lines)


def column_widths(rows: list[Row], lanes: list[str], width: int) -> dict[str, int]:
    """Each lane as wide as its widest label, the widest ones cut to what the others leave."""
    needs = {lane: len(lane) for lane in lanes}
    for row in rows:
        if not speaks(row.event):
            needs[row.event.lane] = max(needs[row.event.lane], len(row.event.label))
    cells: dict[str, int] = {}
    left = width
    for lane in sorted(lanes, key=lambda lane: needs[lane]):
        share = max(NARROWEST, left // (len(lanes) - len(cells)) - 2)
        cells[lane] = min(needs[lane], share)
        left -= cells[lane] + 2
    return cells


def line(row: Row, lanes: list[str], cells: dict[str, int], paint: Paint) -> str:
    """One event in its lane; the two accesses that lack an order are marked."""
    event = row.event
    before = "".join(" " * (cells[lane] + 2) for lane in lanes[: lanes.index(event.lane)])
    text = label(event)
    if speaks(event):
        # Such an event says what it accesses: the last text of its line, it may run on.
        mark = "!" if event.role else "✗"
        return f"{paint.red(f'    {mark}')}{event.number:5d} {before}{paint.red(text)}"
    if len(text) > cells[event.lane]:
        text = text[: cells[event.lane] - 1] + "…"
    return f"{paint.dim(gutter(row))}{event.number:5d} {before}{text}"


def speaks(event: Event) -> bool:
    """Whether an event says what it accesses: it lacks an order, or reads a wrong version."""
    return event.role is not None or any(touch.wrong for touch in event.touches)


def gutter(row: Row) -> str:
    """How often a group of lines repeats, and which lines belong to it."""
    times = f"{row.times}×" if row.times > 1 and row.place in {"only", "first"} else ""
    bracket = {"only": " ", "first": "┌", "middle": "│", "last": "└"}[row.place]
    return f"{times:>4}{bracket if row.times > 1 else ' '}"


def label(event: Event) -> str:
    """An event in words; what it reads and writes when it is one of the two accesses."""
    if not speaks(event):
        return event.label
    wanted = [touch for touch in event.touches if touch.wrong] or list(event.touches)
    said = "; ".join(access(touch) for touch in wanted[:2])
    more = f"; +{len(wanted) - 2} more" if len(wanted) > 2 else ""
    return f"{event.label}: {said}{more}" if said else event.label


def access(touch: Touch) -> str:
    """An access in words."""
    if touch.writes:
        return f"writes {touch.region} = {touch.version}"
    expects = f", expects {touch.expected}" if touch.wrong else ""
    return f"reads {touch.region} = {touch.version}{expects}"


def fold(events: Sequence[Event]) -> list[Row]:
    """Fold groups of lines that repeat at once after themselves."""
    keys = [(e.lane, e.verb, e.where, words(e.label), e.role) for e in events]
    rows: list[Row] = []
    at = 0
    while at < len(events):
        period, times = repetition(keys, at)
        group = events[at : at + period]
        rows += [Row(event, times, place(i, period)) for i, event in enumerate(group)]
        at += period * times
    return rows


def words(label: str) -> tuple[str, str]:
    """A label without its arguments and numbers: like events differ in these only."""
    return NUMBER.sub("", label.partition("(")[0]), label.rpartition(")")[2]


def place(index: int, period: int) -> str:
    """Where in its group a row stands."""
    if period == 1:
        return "only"
    return {0: "first", period - 1: "last"}.get(index, "middle")


def repetition(keys: Sequence[object], at: int) -> tuple[int, int]:
    """The (period, times) that folds most lines from here; (1, 1) for none."""
    best = (1, 1)
    for period in range(1, min(LONGEST_PERIOD, (len(keys) - at) // 2) + 1):
        group = keys[at : at + period]
        times = 1
        while keys[at + period * times : at + period * (times + 1)] == group:
            times += 1
        if times > 1 and (times - 1) * period > (best[1] - 1) * best[0]:
            best = (period, times)
    return best
