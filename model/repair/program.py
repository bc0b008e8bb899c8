"""What a traced program holds, asked by those who look for repairs: its calls, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..objects import Event, Stream
from .inserts import named_stream
from .places import Span, around, function_of, levels
from .rewrite import regions_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..calls import Call
    from ..edges import Edge
    from ..host import Host, Node
    from ..memory import Buffer, Region
    from ..where import Where

COPIES = frozenset({"memcpy", "memcpy_async", "memset", "memset_async"})
HOST_WAITS = frozenset({"synchronize_event", "synchronize_stream", "synchronize_device", "poll"})


class Traced:
    """The calls of a program: every traced node with a call, in the order of each thread."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.nodes = sorted(
            (node for node in host.nodes() if node.call is not None),
            key=lambda node: (node.thread, node.depth),
        )
        self.lines: dict[Where | None, list[Node]] = {}
        for node in self.nodes:
            self.lines.setdefault(node.where, []).append(node)

    def calls(self, *verbs: str) -> Iterator[tuple[Node, Call]]:
        """The nodes with a call of these verbs, one a source line."""
        seen: set[Any] = set()
        for node in self.nodes:
            call = node.call
            if call is not None and call[0] in verbs:
                key = (
                    node.where,
                    *(part for part in call[1:3] if isinstance(part, (Event, Stream))),
                )
                if key not in seen:
                    seen.add(key)
                    yield node, call

    def repeats(self, node: Node) -> bool:
        """Whether the line of a call is reached again and again within one step and statement."""
        outer = stack_of(node)[0]
        alike = [
            other
            for other in self.lines[node.where]
            if other.step == node.step
            and other.thread == node.thread
            and stack_of(other)[0] == outer
            and on_one_path(other, node)
        ]
        return len(alike) > 1

    def streams_at(self, where: Where | None) -> set[str | None]:
        """The streams that a line issues to."""
        return {named_stream(node.call) for node in self.lines[where] if node.call is not None}

    def spans(self, node: Node) -> list[Span]:
        """The better span of a call and the innermost: the outermost is better for a call that its
        statement repeats, and in a helper of another file, which others share.
        """
        assert node.where is not None
        all_of = levels(node.where)
        shared = all_of[0].filename != all_of[-1].filename
        better = all_of[-1] if shared or self.repeats(node) else all_of[0]
        return list(dict.fromkeys([better, all_of[0]]))

    def spans_inner(self, node: Node) -> Span:
        """The statement of a call itself."""
        assert node.where is not None
        return levels(node.where)[0]

    def function_span(self, node: Node) -> Span | None:
        """From the first of a function's lines with calls to the last: of a step where the call is
        in one, as what comes before the steps is no part of each. None where another function is
        written in between.
        """
        assert node.where is not None
        spans = [
            around(other.where)[0][-1]
            for other in self.nodes
            if other.where is not None
            and same_function(other, node)
            and (other.step is None) == (node.step is None)
        ]
        first, last = min(span.first for span in spans), max(span.last for span in spans)
        whole = Span(node.where.filename, first, last, first, loop=True)
        inside = [other for other in self.nodes if other.where and whole.covers(other.where)]
        return whole if all(same_function(other, node) for other in inside) else None

    def freed(self, buffer: Buffer) -> bool:
        """Whether a buffer is freed."""
        return any(call[1] is buffer for _node, call in self.calls("free", "free_async"))

    def owners(self, region: Region) -> list[Buffer]:
        """The buffers that have had a region's memory, the first owner first."""
        owners = {
            other.buffer: None
            for node in self.nodes
            if node.call is not None
            for other in regions_in(node.call)
            if other.slot == region.slot
        }
        return sorted(owners, key=lambda buffer: buffer.serial)

    def siblings(self, edge: Edge) -> list[Buffer]:
        """The buffers on which an edge is missing, and those of their shape that both its lines
        access as well: the other slots of a ring.
        """
        missing = {region.buffer.name: region.buffer for region in edge.regions}
        shapes = {(b.kind, tuple(b.by_part), b.of) for b in missing.values()}
        first, second = (self.buffers_at(moment.node) for moment in edge.pair[:2])
        for buffer in first:
            shape = buffer.kind, tuple(buffer.by_part), buffer.of
            if buffer in second and shape in shapes:
                missing.setdefault(buffer.name, buffer)
        return sorted(missing.values(), key=lambda buffer: buffer.serial)

    def buffers_at(self, node: Node) -> dict[Buffer, None]:
        """The buffers that a line accesses."""
        calls = [other.call for other in self.lines[node.where]]
        return {r.buffer: None for call in calls if call is not None for r in regions_in(call)}

    def later_alike(self, buffer: Buffer) -> list[Buffer]:
        """The buffers of the same shape that were made later."""
        shape = buffer.kind, tuple(buffer.by_part), buffer.device
        found = {region.buffer: None for region in self.host.gpu.regions}
        return [
            other
            for other in found
            if other.serial > buffer.serial
            and (other.kind, tuple(other.by_part), other.device) == shape
        ]

    def users(self, buffer: Buffer) -> list[Node]:
        """The nodes that access a buffer under its own name, one a line."""
        found: dict[Where | None, Node] = {}
        for node in self.nodes:
            call = node.call
            skipped = call is None or call[0] in {"malloc", "malloc_async", "free", "free_async"}
            if not skipped and any(region.buffer is buffer for region in regions_in(call)):  # type: ignore[arg-type]
                found.setdefault(node.where, node)
        return list(found.values())

    def parts_at(self, node: Node, buffer: Buffer) -> set[str]:
        """The parts of a buffer that a line accesses."""
        return {
            region.part
            for other in self.lines[node.where]
            if other.call is not None
            for region in regions_in(other.call)
            if region.buffer is buffer
        }

    def only(self, node: Node, span: Span) -> str | None:
        """The stream to which an addition at a span is limited: where its line serves several."""
        inner = not span.loop and node.where is not None and span.line == node.where.line
        several = len(self.streams_at(node.where)) > 1
        return named_stream(node.call) if inner and several and node.call is not None else None

    def events(self) -> list[str]:
        """The names of events that only one event has."""
        names = [thing.name for thing in self.host.gpu.cells if isinstance(thing, Event)]
        return [name for name in dict.fromkeys(names) if names.count(name) == 1]

    def free_name(self, wanted: str) -> str:
        """A name that no object of the program has."""
        taken = {thing.name for thing in (*self.host.gpu.cells, *self.host.gpu.syncs)}
        name, number = wanted, 2
        while name in taken:
            name, number = f"{wanted}{number}", number + 1
        return name

    def touching(self, buffers: Iterable[str]) -> list[Node]:
        """The nodes whose calls access one of these buffers."""
        wanted = set(buffers)
        return [
            n for n in self.nodes if n.call and wanted & {r.buffer.name for r in regions_in(n.call)}
        ]


def stack_of(node: Node) -> tuple[Where, ...]:
    """The lines that led to a call, outermost first."""
    assert node.where is not None
    return getattr(node.where, "stack", (node.where,))


def on_one_path(first: Node, second: Node) -> bool:
    """Whether two calls of one thread can both be made in one run."""
    if first.depth > second.depth:
        first, second = second, first
    node: Node | None = second
    while node is not None and node.depth > first.depth:
        node = node.parent
    return node is first


def same_function(node: Node, other: Node) -> bool:
    """Whether two calls stand in one function."""
    assert other.where is not None
    if node.where is None or node.where.filename != other.where.filename:
        return False
    return function_of(node.where) == function_of(other.where)
