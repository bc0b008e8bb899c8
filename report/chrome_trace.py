"""Counterexamples in Chrome's Trace Event Format, which Perfetto and chrome://tracing open.

A process a missing edge, a thread a lane; below them a thread for each region, whose slices are the
versions that it holds. Arrows are what happens before what on another lane. A counterexample has no
times: an event takes ten microseconds, in the order in which they happen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .scene import NOTHING, lane_of, scenes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..model.trace import Event
    from ..model.verdict import Verdict
    from .scene import Scene

LENGTH, GAP = 10, 2
"""Microseconds from one event to the next, and how much of it is left free."""

Slice = dict[str, Any]


def chrome_trace(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The trace as data for JSON (the format's object form)."""
    told = [one for verdict in verdicts for one in scenes(verdict)]
    return {
        "traceEvents": [each for at, one in enumerate(told, 1) for each in traced(one, at)],
        "displayTimeUnit": "ns",
        "otherData": {"made by": "streamorder", "time": "order only: an event takes 10 us"},
    }


def traced(one: Scene, process: int) -> Iterator[Slice]:
    """One missing edge as a process."""
    count = f" ({one.number} of {one.of})" if one.of > 1 else ""
    yield from named(process, None, "process", f"{one.title}: {one.kind}{count}", process)
    threads = {lane: at for at, lane in enumerate(one.lanes, 1)}
    for lane, thread in threads.items():
        yield from named(process, thread, "thread", lane.name, thread)
    places = {event.number: threads[lane_of(event)] for event in one.events}
    for event in one.events:
        yield ran(event, process, places[event.number])
    for at, (first, second) in enumerate(one.edges):
        yield from arrow("before", f"{process}.{at}", process, places, (first, second))
    if one.missing:
        first, second = sorted(one.missing)
        yield from arrow("missing", f"{process}.missing", process, places, (first, second))
    for at, memory in enumerate(one.memory, len(threads) + 1):
        yield from named(process, at, "thread", f"memory: {memory.name}", at)
        yield from held(memory.versions, process, at)


def named(process: int, thread: int | None, what: str, name: str, order: int) -> Iterator[Slice]:
    """What a process or a thread is called, and where it is sorted."""
    place = {"ph": "M", "pid": process, "tid": thread or 0, "ts": 0}
    yield {**place, "name": f"{what}_name", "args": {"name": name}}
    yield {**place, "name": f"{what}_sort_index", "args": {"sort_index": order}}


def ran(event: Event, process: int, thread: int) -> Slice:
    """An event as a slice."""
    wrong = any(touch.wrong for touch in event.touches)
    marked = {"cname": "terrible" if event.role else "bad"} if event.role or wrong else {}
    return {
        "name": event.label,
        "cat": ",".join([event.verb, *(["marked"] if event.role else [])]),
        "ph": "X",
        "pid": process,
        "tid": thread,
        "ts": event.number * LENGTH,
        "dur": LENGTH - GAP,
        "args": {k: v for k, v in event.as_data().items() if k not in {"label", "lane", "verb"}},
        **marked,
    }


def arrow(
    what: str, name: str, process: int, places: dict[int, int], ends: tuple[int, int]
) -> Iterator[Slice]:
    """An arrow from the end of one event to the start of another."""
    for phase, number, at in (("s", ends[0], LENGTH - GAP - 1), ("f", ends[1], 1)):
        yield {
            "name": what,
            "cat": what,
            "ph": phase,
            "id": name,
            "pid": process,
            "tid": places[number],
            "ts": number * LENGTH + at,
            **({"bp": "e"} if phase == "f" else {}),
        }


def held(versions: Sequence[str], process: int, thread: int) -> Iterator[Slice]:
    """The versions of a region as slices, each until the next."""
    changes = [at for at in range(len(versions)) if at == 0 or versions[at] != versions[at - 1]]
    for start, end in zip(changes, [*changes[1:], len(versions)], strict=True):
        if versions[start] != NOTHING:
            yield {
                "name": versions[start],
                "cat": "memory",
                "ph": "X",
                "pid": process,
                "tid": thread,
                "ts": start * LENGTH + (LENGTH - GAP),
                "dur": (end - start) * LENGTH,
                "args": {},
            }
