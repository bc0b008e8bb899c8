"""Calls that a repair changes or leaves out, as data: other memory, streams, events, order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..objects import Event, Queue
from .inserts import Said
from .rewrite import on_stream, refuse_pageable, regions_in, with_object, with_regions

if TYPE_CHECKING:
    from ..calls import Call
    from ..memory import Buffer, Region
    from .editor import Editor
    from .places import Span


class Drop(NamedTuple):
    """Calls of one verb at a span are left out; `instead` says what they are in words."""

    span: Span
    verbs: tuple[str, ...]
    words: str
    silent: bool = False

    def changed(self, call: Call, _editor: Editor) -> Call | None:
        """No call."""
        return None if call[0] in self.verbs else call

    def said(self) -> list[Said]:
        """In words."""
        if self.silent:
            return []
        return [Said("at", self.span, f"leave out {self.words}")]


class MoveTo(NamedTuple):
    """What a span issues goes to another stream; `only` limits it to one verb."""

    span: Span
    stream: str
    verbs: tuple[str, ...]
    words: str

    def changed(self, call: Call, editor: Editor) -> Call:
        """The call on the other stream."""
        return on_stream(call, editor.stream(self.stream)) if call[0] in self.verbs else call

    def said(self) -> list[Said]:
        """In words."""
        return [Said("at", self.span, self.words)]


class OwnStream(NamedTuple):
    """What a span issues goes to a new stream of its own."""

    span: Span
    verbs: tuple[str, ...]
    name: str
    device: int
    words: str

    def changed(self, call: Call, editor: Editor) -> Call:
        """The call on the new stream."""
        return on_stream(call, editor.made[self.name]) if call[0] in self.verbs else call

    def said(self) -> list[Said]:
        """In words."""
        return [Said("at", self.span, self.words)]


class Rerecord(NamedTuple):
    """A record at a span is made on another stream."""

    span: Span
    event: str
    stream: str

    def changed(self, call: Call, editor: Editor) -> Call:
        """The record on the other stream."""
        if call[0] != "record" or call[1].name != self.event:
            return call
        return (call[0], call[1], editor.stream(self.stream), call[3])

    def said(self) -> list[Said]:
        """In words."""
        return [Said("at", self.span, f"{self.event}.record({self.stream})")]


class Ring(NamedTuple):
    """Some buffers become a ring of `size`, one a step; the first are the protocol's own."""

    buffers: tuple[str, ...]
    size: int
    kind: str
    parts: tuple[str, ...]
    device: int

    def names(self) -> list[str]:
        """The names of the buffers of the ring."""
        return [f"{self.buffers[0]}/{i}" for i in range(self.size)]

    def changed(self, call: Call, editor: Editor) -> Call:
        """The call on the buffer whose turn it is."""
        if all(region.buffer.name not in self.buffers for region in regions_in(call)):
            return call
        ring = editor.made[f"{self.names()[editor.turn(self.size)]}"]
        return with_regions(call, lambda region: self.taken(region, ring))

    def taken(self, region: Region, ring: Buffer) -> Region:
        """The region of the ring for one of the protocol's."""
        return ring.regions[region.index] if region.buffer.name in self.buffers else region

    def said(self) -> list[Said]:
        """In words."""
        name = self.buffers[0] if len(self.buffers) == 1 else f"{{{'|'.join(self.buffers)}}}"
        more = "one more slot" if self.size == len(self.buffers) + 1 else "more slots"
        return [
            Said(
                "once", None, f"{more} for {name}: {self.size} buffers, step n uses n % {self.size}"
            )
        ]


class OwnMemory(NamedTuple):
    """A buffer gets memory of its own, everywhere or for what one span issues."""

    buffer: str
    kind: str
    parts: tuple[str, ...]
    device: int
    span: Span | None = None

    @property
    def name(self) -> str:
        """The name of the new buffer."""
        return f"{self.buffer}'"

    def changed(self, call: Call, editor: Editor) -> Call | None:
        """The call on memory of its own."""
        if all(region.buffer.name != self.buffer for region in regions_in(call)):
            return call
        own = editor.made[self.name]
        if call[0] in {"malloc", "malloc_async"} and self.span is None:
            return None  # what it waits for, and that it leaves nothing written, is gone with it
        changed = with_regions(call, lambda region: self.taken(region, own))
        refuse_pageable(changed)
        return changed

    def taken(self, region: Region, own: Buffer) -> Region:
        """The region of the new buffer for one of the old."""
        return own.regions[region.index] if region.buffer.name == self.buffer else region

    def said(self) -> list[Said]:
        """In words."""
        if self.span is None:
            return [Said("once", None, f"{self.buffer} gets memory of its own")]
        return [Said("at", self.span, f"memory of its own in the place of {self.buffer}")]


class Rebind(NamedTuple):
    """What a span accesses in one buffer it accesses in another one of the protocol."""

    span: Span
    buffer: str
    other: str

    def changed(self, call: Call, editor: Editor) -> Call:
        """The call on the other buffer."""
        return with_regions(call, lambda region: self.taken(region, editor))

    def taken(self, region: Region, editor: Editor) -> Region:
        """The region of the other buffer for one of the old."""
        if region.buffer.name != self.buffer:
            return region
        return editor.region(self.other, region.part)

    def said(self) -> list[Said]:
        """In words."""
        return [Said("at", self.span, f"{self.other} in the place of {self.buffer}")]


class Unpin(NamedTuple):
    """Pinned buffers become pageable: a copy has read them when its call returns."""

    buffers: tuple[str, ...]
    parts: tuple[str, ...]

    def changed(self, call: Call, editor: Editor) -> Call:
        """The call on pageable memory."""
        if all(region.buffer.name not in self.buffers for region in regions_in(call)):
            return call
        changed = with_regions(call, lambda region: self.taken(region, editor))
        refuse_pageable(changed)
        return changed

    def taken(self, region: Region, editor: Editor) -> Region:
        """The pageable region for a pinned one."""
        if region.buffer.name not in self.buffers:
            return region
        return editor.made[f"{region.buffer.name} (pageable)"].regions[region.index]

    def said(self) -> list[Said]:
        """In words."""
        made = ", ".join(f'gpu.pageable("{name}")' for name in self.buffers)
        return [Said("once", None, f"not pinned: {made}")]


class SourceAtCall(NamedTuple):
    """A copy that reads its source later is told to read it during the call."""

    span: Span
    words: str

    def changed(self, call: Call, _editor: Editor) -> Call:
        """The copy with its order of access stated."""
        return (*call[:3], "call") if call[0] == "memcpy_async" else call

    def said(self) -> list[Said]:
        """In words."""
        return [Said("at", self.span, self.words)]


class UsedBy(NamedTuple):
    """A stream-ordered free also waits for another stream's work so far."""

    span: Span
    buffer: str
    stream: str

    def changed(self, call: Call, editor: Editor) -> Call:
        """The free with one more user."""
        if call[0] != "free_async":
            return call
        return (*call[:3], (*call[3], editor.stream(self.stream)))

    def said(self) -> list[Said]:
        """In words."""
        return [Said("at", self.span, f"free_async({self.buffer}, ..., used_by=[{self.stream}])")]


class Early(NamedTuple):
    """An early kernel waits for the one before it, or is not launched early."""

    span: Span
    kernel: str
    value: str | bool

    def changed(self, call: Call, _editor: Editor) -> Call:
        """The launch, less early."""
        return (*call[:5], self.value) if call[0] == "launch" and call[5] else call

    def said(self) -> list[Said]:
        """In words."""
        return [Said("at", self.span, f"launch({self.kernel}, ..., early={self.value!r})")]


class EventRing(NamedTuple):
    """An event becomes one a step, in turn; waits are for that of `lag` steps before. Without a
    size, each step has a new one.
    """

    event: str
    size: int | None
    lag: int = 0

    def names(self, editor: Editor) -> list[str]:
        """The names of the events."""
        size = editor.gpu.step_count if self.size is None else self.size
        return [f"{self.event}/{i}" for i in range(size)]

    def changed(self, call: Call, editor: Editor) -> Call:
        """The call with the event whose turn it is."""
        for part in call[1:]:
            if isinstance(part, Event) and part.name == self.event:
                lag = 0 if call[0] == "record" else self.lag
                turn = editor.turn(self.size, lag)
                return with_object(call, part, editor.made[f"{self.event}/{turn}"])
        return call

    def said(self) -> list[Said]:
        """In words."""
        if self.size is None:
            return [Said("once", None, f"a new event in each step for {self.event}")]
        before = f"; a wait in step n is for event (n - {self.lag}) % {self.size}"
        code = f"{self.size} events in turn for {self.event}, step n uses n % {self.size}"
        return [Said("once", None, code + (before if self.lag else ""))]


class Room(NamedTuple):
    """A bounded queue gets one more place."""

    queue: str
    capacity: int

    def changed(self, call: Call, editor: Editor) -> Call:
        """The call on the larger queue."""
        for part in call[1:]:
            if isinstance(part, Queue) and part.name == self.queue:
                return with_object(call, part, editor.made[f"{self.queue}+"])
        return call

    def said(self) -> list[Said]:
        """In words."""
        return [Said("once", None, f"one more place in queue {self.queue}: {self.capacity}")]
