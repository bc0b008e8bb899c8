"""What could be added where no edge is missing: something is stuck, or an overlap was lost, or a
version is wrong though everything is in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..objects import Handle, Queue
from ..recorder import source_of
from ..trace import described
from .additions import Addition, own_memory
from .changes import Drop, EventRing, OwnStream, Rebind, Room
from .inserts import CalledEarlier, Captured, Insert, Named
from .program import HOST_WAITS, Traced
from .redundant import left_out as all_left_out
from .rewrite import stream_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..memory import Region
    from ..recorder import Moment, Recording
    from ..where import Where
    from .trial import Trouble

LAGS = (0, 1)
"""For how many steps before a ring's waits are tried."""


def other_additions(
    traced: Traced, trouble: Trouble, past: Callable[[Drop], Traced | None]
) -> Iterator[Addition]:
    """Everything that might mend what is wrong, when no edge is missing; `past` traces the program
    with a call left out.
    """
    if trouble.wrong:
        (moment, region, _expected, _found), recording = trouble.wrong[0]
        for user, used in ((moment, region), *copied_from(recording, moment, region)):
            yield from own_memory(traced, user, used)
        yield from reread(traced, moment, region)
        yield from captured(traced, moment, region)
        return
    if trouble.stuck:
        yield from called_earlier(traced, past)
    yield from more_events(traced)
    yield from left_out(traced)
    yield from own_streams(traced)
    yield from more_room(traced)
    yield from host_waits(traced)


def copied_from(
    recording: Recording, moment: Moment, region: Region
) -> list[tuple[Moment, Region]]:
    """The copies that brought what a moment reads, each with the region that it read."""
    return [
        (earlier, source)
        for earlier in recording.moments[: moment.index]
        for written, version in earlier.writes
        for source in [source_of(version)]
        if written.slot == region.slot and source is not None
    ]


def reread(traced: Traced, moment: Moment, region: Region) -> Iterator[Addition]:
    """An access through a pointer from before a free, through that of a later buffer."""
    for buffer in {r.buffer: None for r, _writes in moment.accesses() if r.slot == region.slot}:
        for other in traced.later_alike(buffer) if traced.freed(buffer) else ():
            for node in traced.users(buffer):
                edit = Rebind(traced.spans_inner(node), buffer.name, other.name)
                yield Addition("pointer re-read", (edit,))


def captured(traced: Traced, moment: Moment, region: Region) -> Iterator[Addition]:
    """A copy that was made once, captured with the readers in a graph."""
    call = moment.node.call
    if call is None or call[0] != "graph_launch":
        return
    for node, copy in traced.calls("memcpy", "memcpy_async"):
        if node.depth < moment.node.depth:
            for dst, src in copy[1]:
                if dst.slot == region.slot:
                    target, source = ((end.buffer.name, end.part) for end in (dst, src))
                    span = traced.spans_inner(node)
                    edits = (
                        Captured(call[1].name, target, source, span),
                        Drop(span, (copy[0],), described(copy), silent=True),
                    )
                    yield Addition("captured", edits)


def called_earlier(traced: Traced, past: Callable[[Drop], Traced | None]) -> Iterator[Addition]:
    """What the host does after a wait in which it is stuck, done before it."""
    for node, call in traced.calls(*HOST_WAITS):
        span = traced.spans_inner(node)
        beyond = past(Drop(span, (call[0],), described(call)))
        for later, signal in () if beyond is None else beyond.calls("put", "set_cell"):
            if (
                later.thread == node.thread
                and later.depth >= node.depth
                and node.step == later.step
            ):
                after = beyond.spans_inner(later) if beyond else span
                words = described(signal)
                things = tuple(
                    Named(type(p), p.name) if isinstance(p, Handle) else p for p in signal[1:]
                )
                edits = (
                    CalledEarlier(span, signal[0], things, words, after),
                    Drop(after, (signal[0],), words, silent=True),
                )
                yield Addition("called earlier", edits)


def left_out(traced: Traced) -> Iterator[Addition]:
    """A wait of the host or of a stream left out."""
    seen: set[Where | None] = set()
    for node, call in traced.calls("wait", *HOST_WAITS):
        if node.where in seen:
            continue
        seen.add(node.where)
        yield Addition("left out", (all_left_out(traced, node, call),))


def more_events(traced: Traced) -> Iterator[Addition]:
    """An event that several steps record becomes one a step."""
    for name in traced.events():
        records = [n for n, c in traced.calls("record") if c[1].name == name]
        if any(node.step is not None for node in records):
            for lag in LAGS:
                yield Addition("more events", (EventRing(name, 2, lag),))
            yield Addition("more events", (EventRing(name, None),))


def own_streams(traced: Traced) -> Iterator[Addition]:
    """What others wait for, on a stream of its own."""
    for node, call in traced.calls("write_value"):
        stream = stream_of(call)
        assert stream is not None
        name = traced.free_name(f"{call[2].name}_writer")
        words = f"write_value({name}, {call[2].name}, {call[3]}) on a new stream"
        edit = OwnStream(traced.spans_inner(node), ("write_value",), name, stream.device, words)
        yield Addition("own stream", (edit,))


def more_room(traced: Traced) -> Iterator[Addition]:
    """A bounded queue with one more place."""
    for thing in traced.host.gpu.syncs:
        if isinstance(thing, Queue) and thing.capacity is not None:
            yield Addition("more room", (Room(thing.name, thing.capacity + 1),))


def host_waits(traced: Traced) -> Iterator[Addition]:
    """The host awaits what signals a cell, right after it was issued."""
    for node, call in traced.calls("write_value", "memset"):
        stream = stream_of(call)
        if stream is None:
            continue
        for span in dict.fromkeys(traced.spans(node)):
            one = len(traced.streams_at(node.where)) == 1
            wait = Insert(span, True, "synchronize_stream", None, stream.name if one else None)
            yield Addition("host waits for a stream", (wait,))
