"""The editing front: it stands between a protocol and the reading, and changes calls on their way.

It keeps nothing beyond a step: what it adds after a step's last call is added before the step ends,
and whose turn it is follows from the step's number. So a proof of the edited protocol sees all that
the future depends on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ..errors import Unprovable
from ..objects import Handle, Stream
from .edits import make_for
from .inserts import AwaitPost, CalledEarlier, Captured, Insert
from .places import Place, at_line, frames, line_of, place_of
from .rewrite import Unfit

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from ..calls import Call
    from ..gpu import Gpu
    from ..memory import Region
    from .edits import Edit
    from .places import Span


class Execution:
    """One execution of a span: the frame it is in, its calls so far."""

    __slots__ = ("at", "calls", "frame", "inner")

    def __init__(self, frame: FrameType, inner: FrameType | None) -> None:
        self.frame = frame
        self.inner = inner
        self.at = frame.f_lasti
        self.calls: list[Call] = []

    def goes_on(self, frame: FrameType, inner: FrameType | None, *, loop: bool) -> bool:
        """Whether a call in the span belongs to this execution, not to the next one."""
        if frame is not self.frame:
            return False
        if loop or frame.f_lasti > self.at:
            return True
        # The same instruction again is the same execution only while its callee runs on.
        return frame.f_lasti == self.at and inner is not None and inner is self.inner


class Position:
    """Where one host thread is: its step, and the spans whose execution goes on."""

    def __init__(self) -> None:
        self.step: Any = None
        self.active: dict[Span, Execution] = {}


class Editor:
    """The edits of one protocol, carried out on the calls of one `Gpu`."""

    def __init__(self, gpu: Gpu, edits: tuple[Edit, ...]) -> None:
        self.gpu = gpu
        self.edits = edits
        self.spans: dict[Span, list[Insert | AwaitPost | CalledEarlier]] = {}
        for edit in edits:
            if isinstance(edit, (Insert, AwaitPost, CalledEarlier)):
                self.spans.setdefault(edit.span, []).append(edit)
        added = (Insert, AwaitPost, CalledEarlier, Captured)
        self.changes = [edit for edit in edits if not isinstance(edit, added)]
        self.captured = [edit for edit in edits if isinstance(edit, Captured)]
        self.made: dict[str, Any] = {}
        self.positions: WeakKeyDictionary[Any, Position] = WeakKeyDictionary()
        self.here: Place = Place("?", 0)

    # --- what edits ask ---

    @property
    def position(self) -> Position:
        """Where the current host thread is."""
        reading = self.gpu.reading
        found = self.positions.get(reading)
        if found is None:
            found = self.positions[reading] = Position()
        return found

    def find(self, cls: type[Handle], name: str) -> Any:
        """The object of the protocol that has this name; `Unfit` where there is none, or two."""
        found = [t for t in (*self.gpu.cells, *self.gpu.syncs) if type(t) is cls and t.name == name]
        if len(found) != 1:
            raise Unfit(name)
        return found[0]

    def region(self, buffer: str, part: str) -> Region:
        """The region of the protocol that has this name; `Unfit` where there is none, or two."""
        found = [r for r in self.gpu.regions if (r.buffer.name, r.part) == (buffer, part)]
        if len(found) != 1:
            raise Unfit(buffer)
        return found[0]

    def stream(self, name: str | None) -> Stream:
        """The stream of this name, the protocol's own or a new one."""
        return self.made[name] if name in self.made else self.find(Stream, name or "")

    def turn(self, size: int | None, lag: int = 0) -> int:
        """Whose turn it is in a ring; without a size, every step has its own."""
        step = self.position.step
        if size is None:
            if self.gpu.loop is not None:
                raise Unprovable("each step has an event of its own")
            return step or 0
        return 0 if step is None else (step - lag) % size

    # --- the calls ---

    def begin(self) -> None:
        """A run of the protocol begins."""
        self.positions[self.gpu.reading] = Position()
        self.here = place_of(frames())
        self.made = {}  # made anew in each run, which gives each object its identity
        for edit in self.edits:
            make_for(edit, self)

    def step(self, step: object) -> None:
        """A step begins: what is to be added after the last call of the one before comes first."""
        position = self.position
        for span in list(position.active):
            self.leave(position, span)
        position.step = step

    def end(self) -> None:
        """The protocol has returned."""
        self.step(None)

    def call(self, call: Call) -> Any:
        """Carry out one call, edited; its result."""
        stack = frames()
        place, position = place_of(stack), self.position
        entered = self.move_on(position, stack) if self.spans else []
        self.here = place
        for span in entered:
            self.add(span, [call], after=False)
        changed = self.changed(call, place)
        for span in position.active:
            position.active[span].calls.append(call)
        result = None if changed is None else self.gpu.reading.call(changed)
        for span in list(position.active):
            for edit in self.spans[span]:
                if isinstance(edit, AwaitPost):
                    self.make(list(edit.after_call(call, self)))
        for edit in self.captured:
            self.make(list(edit.after_call(call, self)))
        return result

    def changed(self, call: Call, place: Place) -> Call | None:
        """The call with every change that concerns it."""
        changed: Call | None = call
        for change in self.changes:
            span = getattr(change, "span", None)
            if changed is not None and (span is None or any(map(span.covers, place.stack))):
                changed = change.changed(changed, self)
        return changed

    def move_on(self, position: Position, stack: list[FrameType]) -> list[Span]:
        """Leave the spans whose execution is over, enter those in which the next call lies."""
        lines = list(map(line_of, stack))
        now: dict[Span, tuple[FrameType, FrameType | None]] = {}
        for span in self.spans:
            for depth, where in enumerate(lines):
                if span.covers(where):
                    now[span] = stack[depth], (stack[depth + 1] if depth + 1 < len(stack) else None)
                    break
        for span, execution in list(position.active.items()):
            if span not in now or not execution.goes_on(*now[span], loop=span.loop):
                self.leave(position, span)
        entered = [span for span in now if span not in position.active]
        for span, (frame, inner) in now.items():
            execution = position.active.setdefault(span, Execution(frame, inner))
            execution.at, execution.inner = frame.f_lasti, inner
        return entered

    def leave(self, position: Position, span: Span) -> None:
        """A span is over: add what comes after it."""
        self.add(span, position.active.pop(span).calls, after=True)

    def add(self, span: Span, calls: list[Call], *, after: bool) -> None:
        """Add what comes before or after an execution of a span."""
        here, self.here = self.here, at_line(span.end if after else span.start)
        for edit in self.spans[span]:
            if not isinstance(edit, AwaitPost) and edit.after is after:
                self.make(list(edit.calls(self, calls)))
        self.here = here

    def make(self, calls: list[Call]) -> None:
        """Carry out calls that were added."""
        for call in calls:
            self.gpu.reading.call(call)


def edited(body: Callable[[Gpu], None], edits: tuple[Edit, ...]) -> Callable[[Gpu], None]:
    """A protocol's body with edits."""

    def run(gpu: Gpu) -> None:
        editor = gpu.editor
        if not isinstance(editor, Editor):
            editor = gpu.editor = Editor(gpu, edits)
        gpu.attach(gpu.reading)
        editor.begin()
        body(gpu)
        editor.end()

    return run
