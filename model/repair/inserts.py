"""Calls that a repair adds to a protocol, as data: before or after a span of lines.

Each knows which calls it makes, and how to say itself in the API's own words. Objects are known by
name, since every trace makes its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..memory import Pairs
from ..objects import Event, Handle
from .rewrite import regions_in, stream_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..calls import Call
    from ..where import Where
    from .editor import Editor
    from .places import Span


class Said(NamedTuple):
    """An instruction to the reader: where, and what to write or to remove there."""

    side: str
    """`before`, `after`, `at` or `once` (before everything else)."""
    span: Span | None
    code: str

    @property
    def where(self) -> Where | None:
        """The line that it is about."""
        if self.span is None:
            return None
        return self.span.end if self.side == "after" else self.span.start


class EventName(NamedTuple):
    """An event: one that the protocol has, or a new one, or a new one for each of some buffers."""

    name: str
    existing: bool = False
    buffers: tuple[str, ...] = ()

    @property
    def code(self) -> str:
        """The event as one would write it."""
        return f"{self.name}[{{{'|'.join(self.buffers)}}}]" if self.buffers else self.name

    def made(self) -> list[str]:
        """The names of the new events."""
        if self.existing:
            return []
        return [f"{self.name}[{b}]" for b in self.buffers] or [self.name]

    def meant(self, editor: Editor, calls: list[Call]) -> list[Event]:
        """The events that these calls are about."""
        if self.existing:
            return [editor.find(Event, self.name)]
        if not self.buffers:
            return [editor.made[self.name]]
        touched = {region.buffer.name for call in calls for region in regions_in(call)}
        return [editor.made[f"{self.name}[{b}]"] for b in self.buffers if b in touched]


class Insert(NamedTuple):
    """A call added before or after each execution of a span.

    `verb` is `record`, `wait`, `synchronize_event`, `synchronize_stream`, `acquire` or `release`;
    `stream` is the stream that is recorded, waits, or is awaited (None: that of the call); `only`
    limits it to executions of calls that issue to this stream, where the line serves several.
    """

    span: Span
    after: bool
    verb: str
    event: EventName | None = None
    stream: str | None = None
    only: str | None = None

    @property
    def paired(self) -> bool:
        """Whether it makes no sense by itself."""
        return self.verb in {"acquire", "release"}

    def calls(self, editor: Editor, around: list[Call]) -> Iterator[Call]:
        """The calls to make, given the calls of the span so far."""
        if self.only is not None and all(named_stream(call) != self.only for call in around):
            return
        if self.verb in {"acquire", "release"}:
            yield (self.verb, editor.made["lock"])
            return
        if self.verb == "synchronize_stream":
            given = [editor.stream(self.stream)] if self.stream else map(stream_of, around)
            for stream in dict.fromkeys(given):
                if stream is not None:
                    yield ("synchronize_stream", stream)
            return
        assert self.event is not None
        for event in self.event.meant(editor, around):
            if self.verb == "record":
                yield ("record", event, editor.stream(self.stream), False)
            elif self.verb == "wait":
                yield ("wait", editor.stream(self.stream), event, False)
            else:
                yield ("synchronize_event", event)

    @property
    def code(self) -> str:
        """The call as one would write it."""
        event = self.event.code if self.event else ""
        return {
            "record": f"{event}.record({self.stream})",
            "wait": f"{self.stream}.wait({event})",
            "synchronize_event": f"{event}.synchronize()",
            "synchronize_stream": f"{self.stream or 'its stream'}.synchronize()",
            "acquire": "lock.acquire()",
            "release": "lock.release()",
        }[self.verb]

    def said(self) -> list[Said]:
        """In words."""
        where = f" (for what is issued to {self.only})" if self.only else ""
        return [Said("after" if self.after else "before", self.span, self.code + where)]


class AwaitPost(NamedTuple):
    """The host awaits an agent's post as soon as it is made."""

    span: Span

    def after_call(self, call: Call, _editor: Editor) -> Iterator[Call]:
        """The calls to make after a call at the span."""
        if call[0] == "post":
            yield ("synchronize_event", call[2])

    def said(self) -> list[Said]:
        """In words."""
        return [Said("after", self.span, "synchronize() the event that the post returns")]


class Captured(NamedTuple):
    """A copy is issued when the capture of a graph begins, so that each replay makes it."""

    graph: str
    dst: tuple[str, str]
    src: tuple[str, str]
    span: Span

    def after_call(self, call: Call, editor: Editor) -> Iterator[Call]:
        """The calls to make after a call."""
        if call[0] == "capture" and call[2].name == self.graph:
            pairs = Pairs([(editor.region(*self.dst), editor.region(*self.src))])
            yield ("memcpy_async", pairs, call[1], None)

    def said(self) -> list[Said]:
        """In words."""
        ends = ", ".join(".".join(filter(None, end)) for end in (self.dst, self.src))
        code = f"memcpy_async({ends}, ...) captured first, in its readers' graph {self.graph}"
        return [Said("at", self.span, code)]


class Named(NamedTuple):
    """An object of the protocol by its name."""

    cls: type[Handle]
    name: str

    def meant(self, editor: Editor) -> Handle:
        """The object."""
        return editor.find(self.cls, self.name)


class CalledEarlier(NamedTuple):
    """A host call is made before a span instead of later; `things` are its objects by name."""

    span: Span
    verb: str
    things: tuple[Named | object, ...]
    words: str
    later: Span

    def calls(self, editor: Editor, _around: list[Call]) -> Iterator[Call]:
        """The call."""
        found = [t.meant(editor) if isinstance(t, Named) else t for t in self.things]
        yield (self.verb, *found)

    @property
    def after(self) -> bool:
        """It comes before the span."""
        return False

    def said(self) -> list[Said]:
        """In words."""
        return [
            Said("before", self.span, self.words),
            Said("at", self.later, f"leave out {self.words}"),
        ]


def named_stream(call: Call) -> str | None:
    """The name of the stream that a call issues to."""
    stream = stream_of(call)
    return stream.name if stream is not None else None
