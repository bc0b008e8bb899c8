"""Wishes of graphs: captured once, replayed with other contents, from one or two streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Statement = tuple[Any, ...]
Statements = list[Statement]


class Drawing:
    """A graph that is being drawn: its body, the regions that its launches can bind, and what the
    host must do before each replay.

    `result` is what the graph writes last, with its version.
    """

    def __init__(self, make: Any, thread: int) -> None:
        self.make = make
        self.thread = thread
        self.number = make.graphs
        make.graphs += 1
        self.stream = make.stream()
        self.body: Statements = []
        self.setup: Statements = []
        self.sources: list[str] = []
        self.read: list[tuple[str, Any]] = []
        self.result: tuple[str, Any] | None = None

    def kernel(self) -> None:
        """A node that reads what came before, or a buffer filled outside, and writes."""
        make = self.make
        if self.result is None or make.may(0.3):
            name, version = make.buffer("device"), make.new()
            self.setup.append(("memset_async", name, version, self.stream))
        else:
            name, version = self.result
        self.read.append((name, version))
        self.result = make.buffer("device", "pinned"), make.new()
        self.body.append(("launch", self.stream, ((name, None),), (self.result,)))

    def copy(self) -> None:
        """A node that copies from host memory, which the host fills before each replay."""
        make = self.make
        source, target = make.buffer("pinned", "pageable"), make.buffer("device")
        self.sources.append(source)
        self.body.append(("memcpy_async", target, source, self.stream))
        self.result = target, source

    def fill(self) -> None:
        """A node that fills."""
        self.result = self.make.buffer("device"), self.make.new()
        self.body.append(("memset_async", *self.result, self.stream))

    def host(self) -> None:
        """A node that is a host function."""
        name, version = self.make.buffer("pinned", "pageable"), self.make.new()
        self.body.append(("host_func", self.stream, (), ((name, version),)))

    def fork(self) -> None:
        """Another stream joins the capture, works, and joins back."""
        make = self.make
        other = make.stream(but=self.stream)
        out, back = make.events, make.events + 1
        make.events += 2
        name, version = make.buffer("device"), make.new()
        early = self.read[-1:] if self.read and make.may(0.5) else []
        reads = tuple((region, None) for region, _version in early)
        self.body += [
            ("record", out, self.stream),
            ("wait", other, out),
            ("launch", other, reads, ((name, version),)),
        ]
        if make.may(0.5):
            self.kernel()
        self.body += [("record", back, other), ("wait", self.stream, back)]
        self.result = name, version

    def allocation(self) -> None:
        """Memory that the graph allocates, uses and frees."""
        make = self.make
        name, version = make.name("ga"), make.new()
        self.body += [
            ("malloc_async", name, self.stream, None),
            ("launch", self.stream, (), ((name, version),)),
            ("free_async", name, self.stream, ()),
        ]

    def event_nodes(self) -> None:
        """An event that each replay records or waits for."""
        make = self.make
        event, other = make.event(), make.stream(but=self.stream)
        if make.may(0.5):
            self.body.append(("record_node", event, self.stream))
        else:
            name = make.buffer("device")
            self.setup += [
                ("launch", other, (), ((name, 1),)),
                ("record", event, other),
            ]
            self.body += [
                ("wait_node", self.stream, event),
                ("launch", self.stream, ((name, None),), ()),
            ]


def graph(make: Any, thread: int) -> Statements:
    """A graph is captured and replayed, mostly twice."""
    drawing = Drawing(make, thread)
    kinds = ["kernel", "copy", "copy", "fill", "host", "fork", "event_nodes", "event_nodes"]
    wanted = [kind for kind in kinds if make.may(0.3)] or ["kernel"]
    make.rng.shuffle(wanted)
    for kind in wanted[:3]:
        getattr(drawing, kind)()
    if make.may(0.2):
        drawing.allocation()
    captured: Statement = ("capture", drawing.number, drawing.stream, tuple(drawing.body))
    before: Statements = []
    if make.count == 1:
        before = [captured]
    else:
        make.prologue.append(captured)
    replayed = once(make, drawing, drawing.stream)
    make.replayable.append(replayer(make, drawing))
    if make.may(0.5):
        stream = make.stream(but=drawing.stream) if make.may(0.6) else drawing.stream
        joins = make.joined(drawing.stream, stream) if stream != drawing.stream else []
        replayed += [*joins, *once(make, drawing, stream)]
    return [*before, *drawing.setup, *replayed]


def once(make: Any, drawing: Drawing, stream: int) -> Statements:
    """One replay: the sources are filled, the expectations bound, the result read."""
    statements: Statements = []
    filled: dict[str, int] = {}
    for source in drawing.sources:
        filled[source] = make.new()
        statements.append(("write", source, filled[source]))
    bound = [(n, filled.get(v, v)) for n, v in drawing.read if v not in drawing.sources or filled]
    expectations = tuple(dict(bound).items()) if make.may(0.85) else ()
    statements.append(("replay", drawing.number, stream, expectations))
    if drawing.result is not None and make.may(0.6):
        name, version = drawing.result
        version = filled.get(version, version)
        if make.kind(name) == "device":
            statements.append(("launch", stream, ((name, make.expected(version)),), ()))
        else:
            statements += [*make.awaited(stream), ("read", name, make.expected(version))]
    if drawing.sources or make.may(0.3):
        statements += make.awaited(stream)
    return statements


def replayer(make: Any, drawing: Drawing) -> Callable[[int], Statements]:
    """What replays the graph once more, from any thread that may."""

    def replay(thread: int) -> Statements:
        if make.count == 1 or thread == drawing.thread or make.may(make.slip):
            stream = drawing.stream if make.may(0.6) else make.stream()
            ordered = make.joined(drawing.stream, stream) if stream != drawing.stream else []
            return [*ordered, *once(make, drawing, stream)]
        return []

    return replay


def replay(make: Any, thread: int) -> Statements:
    """A graph that was captured before is replayed once more."""
    return make.rng.choice(make.replayable)(thread) if make.replayable else []


WISHES = {"graph": graph, "replay": replay}
