"""What could be added to mend one missing edge: every kind of addition, most of them wrong.

Each addition is tried by the search; here it only has to be possible. The two accesses are known as
moments: the first was issued before the second, and nothing orders them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..memory import PINNED
from ..trace import described
from .changes import Drop, Early, MoveTo, OwnMemory, Rerecord, Ring, SourceAtCall, Unpin, UsedBy
from .inserts import AwaitPost, EventName, Insert, named_stream
from .program import COPIES, HOST_WAITS, Traced
from .rewrite import on_stream, regions_in, stream_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..calls import Call
    from ..edges import Edge
    from ..host import Node
    from ..memory import Buffer, Region
    from ..recorder import Moment
    from .edits import Edit
    from .places import Span

MOST_EVENTS = 8
"""How many of a program's own events are tried as what a wait could be for."""


class Addition(NamedTuple):
    """One addition: its kind, and the edits that belong together."""

    kind: str
    edits: tuple[Edit, ...]


KINDS = {
    "copy moved": "the copy on the stream of the other access",
    "source at the call": "a copy that has read its source when the call returns",
    "not pinned": "memory that a copy has read when the call returns",
    "more users": "a free that also waits for the other stream",
    "early launch": "an early kernel that waits for the one before it",
    "recorded elsewhere": "the event recorded on the stream that it is to stand for",
    "record renewed": "the event recorded anew, after what it is to stand for",
    "wait for an event": "a stream that waits for an event that is there",
    "event edge": "an event between the two streams",
    "more slots": "one more slot",
    "more events": "one more event",
    "own memory": "memory of its own",
    "pointer re-read": "the pointer re-read",
    "write left out": "a write left out that another one overwrites",
    "kernel moved": "the kernel on the stream of the other access",
    "own stream": "a stream of its own",
    "more room": "one more place in a queue",
    "left out": "a wait left out",
    "called earlier": "a host call made earlier",
    "captured": "the copy captured with its readers",
    "lock": "a lock around what must not interleave",
    "host waits for an event": "a host wait for an event",
    "host waits for a stream": "a host wait for a stream",
    "host waits for a post": "a host wait for a post",
}
"""The kinds of additions in words, in the order in which equally good ones are offered."""


HOST_WAIT = "host wait"


def family(kind: str) -> str:
    """The kind for who compares repairs: a host wait is one, whatever it waits for."""
    return HOST_WAIT if kind.startswith("host waits") else kind


class Gap:
    """A missing edge with the program that it was found in."""

    def __init__(self, traced: Traced, edge: Edge) -> None:
        self.traced = traced
        self.edge = edge
        self.first: Moment = edge.pair.first
        self.second: Moment = edge.pair.second
        self.alike = traced.siblings(edge)
        self.buffers = [buffer.name for buffer in self.alike]

    def additions(self) -> Iterator[Addition]:
        """Everything that might mend it."""
        yield from self.moved()
        yield from self.overwritten()
        yield from self.memory()
        yield from self.attributes()
        if self.first.on_host:
            yield from self.locks()
            return
        yield from self.own_events()
        yield from self.new_edges()
        yield from self.host_waits()

    # --- the two ends ---

    @property
    def source(self) -> str | None:
        """The stream of the first access."""
        return named_stream(self.call(self.first))

    @property
    def target(self) -> str | None:
        """The stream of the second access; None where the host or an agent makes it."""
        return None if self.second.on_host else named_stream(self.call(self.second))

    def call(self, moment: Moment) -> Call:
        """The call that a moment belongs to."""
        assert moment.node.call is not None
        return moment.node.call

    def span_pairs(self) -> list[tuple[Span, Span]]:
        """Where to write what comes after the first access and before the second."""
        after, before = (self.traced.spans(m.node) for m in (self.first, self.second))
        return list(dict.fromkeys([(after[0], before[0]), (after[-1], before[-1])]))

    def new_events(self) -> list[EventName]:
        """A new event for the first access; where it is of several buffers, one for each first."""
        name = self.traced.free_name(event_name(self.call(self.first)))
        found = [EventName(name)]
        if len(self.buffers) > 1:
            found.insert(0, EventName(name, buffers=tuple(self.buffers)))
        return found

    # --- orders ---

    def record(self, span: Span, event: EventName) -> Insert:
        """The record after the first access."""
        only = self.traced.only(self.first.node, span)
        return Insert(span, True, "record", event, self.source, only)

    def wait(self, span: Span, event: EventName) -> Insert:
        """The stream's wait before the second access."""
        only = self.traced.only(self.second.node, span)
        return Insert(span, False, "wait", event, self.target, only)

    def new_edges(self) -> Iterator[Addition]:
        """A new event, recorded after the first access and awaited by the second's stream."""
        if self.source is None or self.target is None or self.source == self.target:
            return
        for after, before in self.span_pairs():
            for event in self.new_events():
                edits = (self.record(after, event), self.wait(before, event))
                yield Addition("event edge", edits)

    def host_waits(self) -> Iterator[Addition]:
        """The host waits before the second access, or right after the first."""
        if self.source is None:
            for span in self.traced.spans(self.first.node):
                if self.call(self.first)[0] == "post":
                    yield Addition("host waits for a post", (AwaitPost(span),))
            return
        for after, before in self.span_pairs():
            for event in self.new_events():
                wait = Insert(before, False, "synchronize_event", event)
                yield Addition("host waits for an event", (self.record(after, event), wait))
            for span, late in ((before, False), (after, True)):
                wait = Insert(span, late, "synchronize_stream", None, self.source)
                yield Addition("host waits for a stream", (wait,))

    def own_events(self) -> Iterator[Addition]:
        """The protocol's own events: awaited here too, recorded anew, or on the right stream."""
        names = self.traced.events()[:MOST_EVENTS]
        before = self.traced.spans(self.second.node)
        for name in names:
            event = EventName(name, existing=True)
            if not any(call[1].name == name for _n, call in self.traced.calls("record")):
                continue
            for span in dict.fromkeys(before):
                if self.target is not None:
                    yield Addition("wait for an event", (self.wait(span, event),))
                wait = Insert(span, False, "synchronize_event", event)
                yield Addition("host waits for an event", (wait,))
        yield from self.renewed(names)
        yield from self.recorded_elsewhere()

    def renewed(self, names: list[str]) -> Iterator[Addition]:
        """An event that is awaited, recorded anew after the first access or after a wait for it."""
        awaited = {
            part.name
            for _node, call in self.traced.calls("wait", *HOST_WAITS)
            for part in call[1:3]
            if getattr(part, "name", None) in names
        }
        for name in sorted(awaited):
            event = EventName(name, existing=True)
            for node, call in self.traced.calls("wait"):
                if call[2].name != name:
                    span = self.traced.spans(node)[0]
                    insert = Insert(span, True, "record", event, call[1].name)
                    yield Addition("record renewed", (insert,))
            if self.source is not None:
                for span in dict.fromkeys(self.traced.spans(self.first.node)):
                    yield Addition("record renewed", (self.record(span, event),))

    def recorded_elsewhere(self) -> Iterator[Addition]:
        """A record on another stream than that of the first access, made on that one."""
        for node, call in self.traced.calls("record"):
            if self.source is not None and call[2].name != self.source:
                span = self.traced.spans(node)[0]
                edit = Rerecord(span, call[1].name, self.source)
                yield Addition("recorded elsewhere", (edit,))

    # --- other streams ---

    def moved(self) -> Iterator[Addition]:
        """One of the two, on the stream of the other."""
        for moment, other in ((self.first, self.second), (self.second, self.first)):
            stream = None if other.on_host else named_stream(self.call(other))
            call = self.call(moment)
            if stream is None or stream == named_stream(call) or stream == "NULL":
                continue
            if call[0] in COPIES or call[0] == "launch":
                kind = "copy moved" if call[0] in COPIES else "kernel moved"
                yield Addition(kind, (self.move(moment.node, call, other),))

    def move(self, node: Node, call: Call, other: Moment) -> MoveTo:
        """A call's line, on the stream of another moment's call."""
        stream = stream_of(self.call(other))
        assert stream is not None
        words = self.traced_words(node, on_stream(call, stream))
        return MoveTo(self.traced.spans_inner(node), stream.name, (call[0],), words)

    def traced_words(self, node: Node, call: Call) -> str:
        """A call in words; of a line that copies part by part, with dots for the part."""
        words = described(call)
        for region in {r for r in regions_in(call) if r.part}:
            if len(self.traced.parts_at(node, region.buffer)) > 1:
                words = words.replace(repr(region), f"{region.buffer.name}[...]")
        return words

    def overwritten(self) -> Iterator[Addition]:
        """The first access left out, where it only writes what the second one writes anew."""
        call = self.call(self.first)
        writes_both = all(
            any(
                writes
                for region, writes in m.accesses()
                if region.slot == self.edge.pair.region.slot
            )
            for m in (self.first, self.second)
        )
        only_writes = call[0] == "memset_async" or (call[0] == "launch" and not call[3])
        if writes_both and only_writes:
            span = self.traced.spans_inner(self.first.node)
            yield Addition("write left out", (Drop(span, (call[0],), described(call)),))

    # --- memory ---

    def memory(self) -> Iterator[Addition]:
        """Other memory, of another kind, or more of it."""
        yield from self.slots(self.alike)
        yield from self.unpinned(self.alike)
        for moment in (self.second, self.first):
            yield from own_memory(self.traced, moment, self.edge.pair.region)

    def slots(self, buffers: list[Buffer]) -> Iterator[Addition]:
        """One more slot, where two steps meet in one."""
        steps = {self.first.node.step, self.second.node.step}
        if None in steps or len(steps) == 1:
            return
        shapes = {(b.kind, tuple(b.by_part), b.device) for b in buffers}
        if len(shapes) == 1 and all(b.of is None for b in buffers):
            kind, parts, device = shapes.pop()
            ring = Ring(tuple(self.buffers), len(buffers) + 1, kind, parts, device)
            yield Addition("more slots", (ring,))

    def unpinned(self, buffers: list[Buffer]) -> Iterator[Addition]:
        """A source that is read during the call: pageable, or by an order that says so."""
        copies = [m.node for m in (self.first, self.second) if self.call(m)[0] == "memcpy_async"]
        if copies and all(b.kind == PINNED for b in buffers):
            parts = {tuple(b.by_part) for b in buffers}
            if len(parts) == 1:
                yield Addition("not pinned", (Unpin(tuple(self.buffers), parts.pop()),))
        for node in copies:
            call = node.call
            if call is not None and call[3] in {"stream", "any"}:
                words = f"{described(call)[:-1]}, source='call')"
                edit = SourceAtCall(self.traced.spans_inner(node), words)
                yield Addition("source at the call", (edit,))

    # --- attributes of calls ---

    def attributes(self) -> Iterator[Addition]:
        """A free that waits for one more stream; an early kernel that waits."""
        for moment, other in ((self.first, self.second), (self.second, self.first)):
            call, node = self.call(moment), moment.node
            stream = None if other.on_host else named_stream(self.call(other))
            if call[0] == "free_async" and stream is not None:
                span = self.traced.spans_inner(node)
                yield Addition("more users", (UsedBy(span, call[1].name, stream),))
            if call[0] == "launch" and call[5]:
                span = self.traced.spans_inner(node)
                for value in ("waits", False):
                    yield Addition("early launch", (Early(span, call[2], value),))

    # --- host threads ---

    def locks(self) -> Iterator[Addition]:
        """One lock around both accesses: around these alone, or around all that their functions
        do, for where what is in between belongs to it.
        """
        ends = self.first.node, self.second.node
        if ends[0].thread == ends[1].thread or any(node.where is None for node in ends):
            return
        around = [self.traced.spans_inner(node) for node in ends]
        yield Addition("lock", locked(around))
        wide = [span for span in map(self.traced.function_span, ends) if span is not None]
        if len(wide) == len(ends) and [s[:3] for s in wide] != [s[:3] for s in around]:
            yield Addition("lock", locked(wide))


def locked(spans: list[Span]) -> tuple[Insert, ...]:
    """The same lock held around each of some spans."""
    ends = ((False, "acquire"), (True, "release"))
    return tuple(Insert(span, *end) for span in dict.fromkeys(spans) for end in ends)


def own_memory(traced: Traced, moment: Moment, region: Region) -> Iterator[Addition]:
    """Memory of its own for whoever was handed memory that another still uses."""
    touched = {r.buffer for r, _writes in moment.accesses() if r.slot == region.slot}
    owners = traced.owners(region)
    for buffer in owners:
        shape = (buffer.name, buffer.kind, tuple(buffer.by_part), buffer.device)
        if buffer.of is not None:
            yield Addition("own memory", (OwnMemory(*shape),))
        elif buffer in touched and (len(owners) > 1 or traced.freed(buffer)):
            for node in traced.users(buffer):
                yield Addition("own memory", (OwnMemory(*shape, traced.spans_inner(node)),))


def event_name(call: Call) -> str:
    """A name for the event that stands for a call's work."""
    verb = call[0]
    if verb in {"launch", "host_func"}:
        return f"{call[2]}_done"
    if verb == "graph_launch":
        return f"{call[1].name}_done"
    touched = next(regions_in(call), None)
    name = touched.buffer.name if touched else "work"
    return f"{name}_{'copied' if 'memcpy' in verb else 'done'}"
