"""Rules of graphs (R5.*): capture keeps calls as nodes, a launch instantiates them.

A node holds addresses, never versions: contents are read anew at each replay (R5.3), and what a
reader must find is bound by the launch. While a stream is captured its frontier, and that of each
stream and event that joined, is a set of node numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from .allocation import FREED, filled, root
from .errors import BadProtocol, NotModelled
from .memory import PAGEABLE, PINNED, POISON, UNINITIALISED
from .objects import DESTROYED
from .signals import Signals
from .trace import described

if TYPE_CHECKING:
    from .calls import Call, Reads
    from .objects import Event, Graph, Handle, Stream
    from .streams import Await

F = TypeVar("F")
Nodes = frozenset[int]


class Captured(NamedTuple):
    """A stream or event that belongs to a capture: its graph and its frontier in it."""

    graph: Graph
    front: Nodes


class GraphNode(NamedTuple):
    """An operation of a graph: the stream it was issued to, what it comes after, its accesses.

    `label` is the captured call in words. `event` makes it an event node: `records` says whether it
    records or waits. `stages` marks a copy from pageable memory.
    """

    label: str
    stream: Stream
    after: Nodes
    reads: Reads
    writes: Reads
    event: Event | None = None
    records: bool = False
    stages: bool = False


class Graphs(Signals[F]):
    """Capture and replay."""

    # --- capture ---

    def capture(self, call: Call) -> None:
        """R5.5: from here on the stream's calls become nodes."""
        _verb, stream, graph = call
        if self.usable(stream).is_null:
            raise BadProtocol("the NULL stream cannot be captured")
        if stream in self.notes:
            raise BadProtocol(f"stream {stream.name!r} is being captured already")
        self.touch(stream)
        self.notes[graph] = ()
        self.notes[stream] = Captured(graph, frozenset())

    def end_capture(self, call: Call) -> None:
        """R5.5: every captured stream must have joined back into the first one."""
        _verb, stream, graph = call
        self.touch(stream)
        note = self.notes[stream]
        reached = closure(self.notes[graph], note.front)
        for thing, other in list(self.notes.items()):
            if isinstance(other, Captured) and other.graph is graph:
                if isinstance(thing, type(stream)) and not other.front <= reached:
                    raise BadProtocol(
                        f"stream {thing.name!r} was captured into {graph.name!r} and never joined "
                        f"back: record an event on it and let {stream.name!r} wait for it"
                    )
                if isinstance(thing, type(stream)):
                    del self.notes[thing]

    def enqueue_noted(self, stream: Stream, reads: Reads, writes: Reads) -> F:
        """A call to a captured stream becomes a node."""
        note = self.notes[stream]
        if note is DESTROYED:
            raise self.gone(stream)
        self.touch(stream)
        self.issued = None  # type: ignore[assignment] - a node is no operation yet
        if any(expected is not None for _region, expected in reads):
            raise BadProtocol(
                "inside a capture reads take no versions, the node is made once: bind them at "
                "graph.launch(stream, reads={...})"
            )
        self.add(note, stream, GraphNode(self.captured, stream, note.front, reads, writes))
        return self.sink.empty

    def add(self, note: Captured, thing: Handle, node: GraphNode) -> None:
        """Append a node; the captured thing's frontier is that node."""
        nodes = self.notes[note.graph]
        self.notes[note.graph] = (*nodes, node)
        self.notes[thing] = Captured(note.graph, frozenset({len(nodes)}))

    def memcpy_async(self, call: Call) -> Await[F] | None:
        """R5.4: in a capture, a copy node; R5.4, U3 for pageable memory."""
        _verb, pairs, stream, source = call
        note = self.notes.get(stream)
        if not isinstance(note, Captured):
            return super().memcpy_async(call)
        if pairs.dst == PAGEABLE or (pairs.dst == PINNED and pairs.src in {PINNED, PAGEABLE}):
            raise NotModelled(
                "a graph node that copies to pageable or between host memories is not modelled"
            )
        if source not in {None, "stream"}:
            raise NotModelled(f"a graph node with source={source!r} is not modelled")
        self.captured = described(call)
        staged = pairs.src == PAGEABLE and source is None
        node = GraphNode(self.captured, stream, note.front, pairs.reads, pairs, stages=staged)
        self.add(note, stream, node)
        return None

    def memset_async(self, call: Call) -> Await[F] | None:
        """R2.10: in a capture, a node that fills."""
        if not isinstance(self.notes.get(call[3]), Captured):
            return super().memset_async(call)
        if call[1][0].kind == PINNED and self.contract.memset_pinned_by_cpu:
            raise NotModelled(
                "a graph node that fills page-locked memory is not modelled under HIP"
            )
        self.captured = described(call)
        self.enqueue(call[3], (), self.filled(call))
        return None

    def free_async(self, call: Call) -> None:
        """R5.7: in a capture, a node that frees; so are the streams it also waits for."""
        _verb, buffer, stream, used_by = call
        note = self.notes.get(stream)
        if not isinstance(note, Captured):
            super().free_async(call)
            return
        front = note.front
        for user in used_by:
            other = self.notes.get(user)
            if not isinstance(other, Captured) or other.graph is not note.graph:
                raise BadProtocol(
                    f"stream {user.name!r} is not in the capture of {note.graph.name!r}"
                )
            front |= other.front
        writes = filled(buffer, POISON)
        self.add(note, stream, GraphNode(described(call), stream, front, (), writes))

    def destroy(self, call: Call) -> Await[F] | None:
        """R1.7, R5.5: not while the stream is captured."""
        if isinstance(self.notes.get(call[1]), Captured):
            raise BadProtocol(f"stream {call[1].name!r} is being captured and cannot be destroyed")
        return super().destroy(call)

    def awaited(self, event: Event) -> None:
        """R5.5: an event that was recorded in a capture has no snapshot to wait for."""
        note = self.notes.get(event)
        if isinstance(note, Captured):
            raise BadProtocol(
                f"event {event.name!r} was recorded inside the capture of {note.graph.name!r} and "
                "means nothing outside it: record it anew"
            )

    def synchronize_event(self, call: Call) -> Await[F]:
        """R3.6: return when the snapshot that the event holds now is done."""
        self.awaited(call[1])
        return super().synchronize_event(call)

    poll = synchronize_event

    def record(self, call: Call) -> None:
        """R5.5: in a capture, an event holds a place in the graph; R3.9: or is a node of it."""
        _verb, event, stream, external = call
        note = self.notes.get(stream)
        if not isinstance(note, Captured):
            self.notes.pop(event, None)
            super().record(call)
        elif external:
            self.event_node(note, stream, event, records=True)
        else:
            self.touch(event)
            self.notes[event] = note

    def wait(self, call: Call) -> None:
        """R5.5: a stream that waits for a captured event joins the capture."""
        _verb, stream, event, external = call
        if stream.is_null and self.notes:
            self.refuse_in_capture(("a call on the NULL stream",))
        note, known = self.notes.get(self.usable(stream)), self.notes.get(event)
        self.touch(stream)
        if isinstance(known, Captured):
            if not self.capturing(known.graph):
                self.awaited(event)
            if isinstance(note, Captured) and note.graph is not known.graph:
                raise BadProtocol(
                    f"event {event.name!r} would merge the captures of {known.graph.name!r} and "
                    f"{note.graph.name!r}"
                )
            front = note.front if isinstance(note, Captured) else frozenset()
            self.notes[stream] = Captured(known.graph, front | known.front)
        elif isinstance(note, Captured):
            if not external:
                raise BadProtocol(
                    f"stream {stream.name!r} is being captured and cannot wait for event "
                    f"{event.name!r}, which was recorded outside the capture"
                )
            self.event_node(note, stream, event, records=False)
        else:
            super().wait(call)

    def event_node(self, note: Captured, stream: Stream, event: Event, *, records: bool) -> None:
        """R3.9: an event recorded or awaited by a node, at each replay."""
        if not self.contract.event_nodes:
            raise BadProtocol(f"event nodes do not exist under {self.contract.name}")
        self.add(note, stream, GraphNode(event.name, stream, note.front, (), (), event, records))

    def gather(self, null: Stream, tail: F) -> F:
        """R1.3; R5.5: no call may use the NULL stream while a capture is open."""
        if self.notes:
            self.refuse_in_capture(("a call on the NULL stream",))
        return super().gather(null, tail)

    def capturing(self, graph: Graph) -> bool:
        """Whether a graph's capture is still open."""
        return any(
            isinstance(note, Captured) and note.graph is graph and hasattr(thing, "blocking")
            for thing, note in self.notes.items()
        )

    def refuse_in_capture(self, call: Call) -> None:
        """R5.5: host syncs, queries, NULL-stream calls and plain allocation break a capture."""
        for thing, note in self.notes.items():
            if isinstance(note, Captured) and hasattr(thing, "blocking"):
                verb, *rest = call
                what = described(call) if rest else verb
                raise BadProtocol(
                    f"{what} is not allowed while {note.graph.name!r} is being captured: the "
                    "runtime invalidates the capture"
                )

    # --- replay ---

    def graph_launch(self, call: Call) -> None:
        """R5.1, R5.2: all nodes, after the stream's earlier work and, under CUDA, after the
        graph's earlier launches; what comes later in the stream waits for all of them.
        """
        _verb, graph, stream, _expected = call
        nodes = self.notes.get(graph)
        if nodes is None or self.capturing(graph):
            raise BadProtocol(f"{graph.name!r} cannot be launched: its capture has not ended")
        if self.usable(stream) in self.notes:
            raise NotModelled("launching a graph inside a capture (a child graph) is not modelled")
        self.check_launch(graph, nodes, call[3])
        before = self.before(stream)
        if self.contract.graph_launches_ordered:
            before = self.sink.join(before, self.cells[graph.slot])
        held = self.stage_nodes(nodes)
        fronts: list[F] = []
        for number, node in enumerate(nodes):
            fronts.append(self.instantiate(node, number, held, fronts, before, call))
        tail = before
        for front in fronts:
            tail = self.sink.join(tail, front)
        self.cells[graph.slot] = self.issued = tail
        self.advance(stream, tail)

    def check_launch(self, graph: Graph, nodes: tuple[GraphNode, ...], expected: Reads) -> None:
        """R5.3: a version is bound to a region that a node reads; R5.7: what a graph allocates and
        does not free must be freed before it is launched again.
        """
        read = {region.slot for node in nodes for region, _none in node.reads}
        for region, _version in expected:
            if region.slot not in read:
                raise BadProtocol(
                    f"no node of {graph.name!r} reads {region!r}: nothing can expect it"
                )
        kept = {r.buffer for node in nodes for r, v in node.writes if v is UNINITIALISED}
        kept -= {r.buffer for node in nodes for r, v in node.writes if v is POISON}
        held = [buffer for buffer in kept if self.notes.get(root(buffer)) != FREED]
        launched = self.hidden("launched", graph)
        if held and self.notes.get(launched):
            raise BadProtocol(
                f"{graph.name!r} allocates {held[0].name!r} and does not free it: it cannot be "
                "launched again before that is freed"
            )
        self.notes[launched] = True

    def stage_nodes(self, nodes: tuple[GraphNode, ...]) -> dict[int, tuple[Any, ...]]:
        """R5.4: HIP reads a copy node's pageable source within the launch call."""
        staged = [number for number, node in enumerate(nodes) if node.stages]
        if not staged or not self.promised("graph_pageable_staged"):
            return {}
        sources = {n: tuple(region for region, _none in nodes[n].reads) for n in staged}
        held = self.sink.stage(tuple(region for n in staged for region in sources[n]))
        counts = [len(sources[n]) for n in staged]
        starts = [sum(counts[:i]) for i in range(len(counts))]
        return {
            n: held[at : at + count] for n, at, count in zip(staged, starts, counts, strict=True)
        }

    def instantiate(
        self,
        node: GraphNode,
        number: int,
        held: dict[int, tuple[Any, ...]],
        fronts: list[F],
        before: F,
        call: Call,
    ) -> F:
        """R5.2: a node after its own predecessors; a root after what the launch is after."""
        _verb, graph, stream, expected = call
        start = before
        for at in sorted(node.after):
            start = self.sink.join(start, fronts[at])
        if node.event is not None:
            if node.records:
                self.notes.pop(node.event, None)
                self.cells[node.event.slot] = start
                return start
            return self.sink.join(start, self.cells[node.event.slot])
        lane = self.hidden(f"{stream.name} ({graph.name})", stream, graph, node.stream)
        if number in held:
            pairs = zip(node.writes, held[number], strict=True)
            writes = tuple((dst, version) for (dst, _src), version in pairs)
            return self.sink.op(lane, start, (), writes)
        bound = {region.slot: version for region, version in expected}
        reads = tuple((region, bound.get(region.slot)) for region, _none in node.reads)
        return self.sink.op(lane, start, reads, node.writes)


def closure(nodes: tuple[GraphNode, ...], front: Nodes) -> Nodes:
    """A frontier's nodes and everything before them."""
    reached: set[int] = set()
    waiting = list(front)
    while waiting:
        at = waiting.pop()
        if at not in reached:
            reached.add(at)
            waiting += nodes[at].after
    return frozenset(reached)
