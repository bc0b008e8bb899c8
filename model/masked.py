"""The front end of a runtime: the contract's rules with a masking's order added.

Every packet passes through its queue: it starts after what stands there before it, and what comes
later starts after it. The queues' ends are cells like the streams' tails, so that every engine
sees which calls depend on which. What the host awaits on top goes around the call: `held` before
it issues anything, `after_issue` after.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from .errors import NotModelled
from .frontend import Frontend
from .masking import COPIES, ENGINE, FILLS, GRAPHS, HELD, KERNELS, LARGE, OWN, QUEUE, VALUES
from .memory import DEVICE, MANAGED, PAGEABLE, PINNED

if TYPE_CHECKING:
    from collections.abc import Callable

    from .calls import Call, Reads
    from .contract import Contract
    from .gpu import Gpu
    from .graphs import GraphNode
    from .masking import Lane
    from .memory import Pairs
    from .objects import Cell, Stream
    from .streams import Await, Sink

F = TypeVar("F")
Rule = TypeVar("Rule", bound="Callable[..., Any]")

CLASS_OF = {
    "launch": KERNELS, "memcpy": COPIES, "memcpy_async": COPIES, "memset": FILLS,
    "memset_async": FILLS, "write_value": VALUES, "wait_value": VALUES, "graph_launch": GRAPHS,
}  # fmt: skip


class Queued:
    """The sink behind the queues: issues what the front end hands it as packets."""

    def __init__(self, front: Masked[Any], sink: Sink[Any]) -> None:
        self.front = front
        self.sink = sink
        self.empty = sink.empty

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sink, name)

    def op(self, stream: Stream, before: Any, reads: Reads, writes: Reads) -> Any:
        """Issue an operation."""
        return self.front.packet(stream, before, lambda b: self.sink.op(stream, b, reads, writes))

    def signal(self, stream: Stream, before: Any, cell: Cell, value: int) -> Any:
        """Issue an operation that stores into a cell."""
        return self.front.packet(stream, before, lambda b: self.sink.signal(stream, b, cell, value))

    def await_cell(self, stream: Stream, before: Any, cell: Cell, value: int) -> Any:
        """Issue an operation that is not done before the cell is at least this value."""
        return self.front.packet(
            stream, before, lambda b: self.sink.await_cell(stream, b, cell, value)
        )


class Held:
    """The rest of a call that has issued nothing yet: a phase of its own."""

    phase = HELD

    def __init__(self, front: Masked[Any], rule: Callable[..., Any]) -> None:
        self.front = front
        self.rule = rule

    def __call__(self, call: Call) -> Any:
        """Go on, if there is a place now."""
        return self.front.go_on(self.rule, call)


def through_queues(rule: Rule) -> Rule:
    """A rule whose call issues packets: the host may wait before and after."""

    def carried_out(self: Masked[Any], call: Call) -> Any:
        return self.begin(rule, call)

    carried_out.__doc__ = rule.__doc__
    return cast("Rule", carried_out)


class Masked(Frontend[F]):
    """Every rule of the API, and a masking's order.

    - `way` is how the copy that is being issued goes, None for anything else;
    - `branch` is the lane of the graph node that is being issued, and its device;
    - `outside` says that what is being issued takes no place in a queue, as nothing does that is on
      a lane of its own, such as an agent's post;
    - `packets` counts the packets that the call has issued.
    """

    def __init__(
        self, gpu: Gpu, contract: Contract, sink: Sink[F], uncertain: tuple[str, ...] = ()
    ) -> None:
        super().__init__(gpu, contract, sink, uncertain)
        self.sink = cast("Any", Queued(self, sink))
        self.masking = contract.masking
        self.may_hold = self.masking.ring is not None or self.masking.first_use_drains
        self.queue_of = dict(self.masking.queues)
        self.way: str | None = None
        self.branch: tuple[Lane, int] | None = None
        self.outside = False
        self.packets = 0

    # --- packets ---

    def packet(self, stream: Stream, before: F, issue: Callable[[F], F]) -> F:
        """R4.3: issue an operation into its queue, after everything there."""
        if self.outside or (self.branch is None and stream not in self.gpu.streams):
            return issue(before)
        lane, device = self.branch or (self.lane(stream), stream.device)
        if self.way is not None and self.masking.copies_after_all:
            before = self.sink.join(before, self.whole_device(device))
        place = self.place(lane, device)
        after = issue(self.sink.join(before, self.cells[place.slot]))
        self.push(lane, device, place, after)
        return after

    def push(self, lane: Lane, device: int, place: Stream, after: F) -> None:
        """A packet is the last of its queue."""
        self.cells[place.slot] = after
        self.packets += 1
        ring = self.masking.ring
        if ring is not None:
            counter = self.hidden("packets in", place)
            number = self.notes.get(counter, 0)
            self.notes[counter] = number + 1
            self.cells[self.hidden("packet", place, number % ring).slot] = after
        self.gpu.queue_lanes.setdefault(lane, [device, 0])
        if self.masking.counts and place.name != ENGINE:
            counter = self.hidden("packets of", lane)
            number = self.notes[counter] = self.notes.get(counter, 0) + 1
            seen = self.gpu.queue_lanes[lane]
            seen[1] = max(seen[1], number)

    def place(self, lane: Lane, device: int) -> Stream:
        """R4.2, R4.4: the queue that a lane's next packet goes to."""
        if self.way is not None and self.way != QUEUE:
            own = self.masking.engines == OWN
            return self.hidden(ENGINE, lane if own else self.way, device)
        queue = self.queue_of.get((lane, None))
        if queue is None and self.masking.counts:
            number = self.notes.get(self.hidden("packets of", lane), 0)
            queue = self.queue_of.get((lane, number))
        return self.hidden(QUEUE, lane if queue is None else queue, device)

    def lane(self, stream: Stream) -> Lane:
        """The lane of a stream: its name, numbered where several have one name."""
        same = [other for other in self.gpu.streams if other.name == stream.name]
        number = same.index(stream) + 1
        return stream.name if number == 1 else f"{stream.name}#{number}"

    # --- before and after a call ---

    def begin(self, rule: Callable[..., Any], call: Call) -> Await[F] | None:
        """Carry a rule out once the host may issue what it issues."""
        held = self.held(call)
        if held != self.sink.empty:
            return held, Held(self, rule)
        return self.carry_out(rule, call)

    def go_on(self, rule: Callable[..., Any], call: Call) -> Await[F] | None:
        """The same after a wait: another thread may have taken the place meanwhile."""
        held = self.space(call)
        if held != self.sink.empty and not self.sink.passed(held):
            return held, Held(self, rule)
        return self.carry_out(rule, call)

    def carry_out(self, rule: Callable[..., Any], call: Call) -> Await[F] | None:
        """The rule itself, then what the host awaits on top."""
        self.packets = 0
        return self.after_issue(call, rule(self, call))

    def after_issue(self, call: Call, waits: Await[F] | None) -> Await[F] | None:
        """R4.6, R2.7: what the call awaits, with what the masking makes it await."""
        if waits is not None and waits[1] is not None:
            rest = waits[1]
            return waits[0], lambda call: self.carry_out(lambda _self, call: rest(call), call)
        if not self.packets or not self.awaits(call):
            return waits
        before = self.sink.empty if waits is None else waits[0]
        return self.sink.join(before, self.issued), None

    def awaits(self, call: Call) -> bool:
        """Whether the host awaits what this call has issued."""
        if CLASS_OF.get(call[0]) in self.masking.awaits:
            return True
        if call[0] != "memcpy_async":
            return False
        if call[1].dst == PAGEABLE and self.masking.downloads_awaited:
            return True
        limit = self.masking.pageable_limit
        return limit is not None and call[1].src == PAGEABLE and self.large(call[1], limit)

    # --- what the host waits for before it can issue ---

    def held(self, call: Call) -> F:
        """R4.5: places in the queues; and before a kernel's first launch, the whole device."""
        held = self.space(call)
        if self.masking.first_use_drains and call[0] == "launch" and call[1] not in self.notes:
            known = self.hidden("kernel", call[2])
            if known not in self.notes:
                self.touch(known)
                self.notes[known] = True
                held = self.sink.join(held, self.whole_device(call[1].device))
        return held

    def space(self, call: Call) -> F:
        """R4.5: what must be done before the call's packets have a place."""
        if self.masking.ring is None:
            return self.sink.empty
        places: dict[Stream, int] = {}
        for place in self.places(call):
            places[place] = places.get(place, 0) + 1
        held = self.sink.empty
        for place, wanted in places.items():
            held = self.sink.join(held, self.room(place, wanted, self.masking.ring))
        return held

    def room(self, place: Stream, wanted: int, ring: int) -> F:
        """R4.5: what must be done before a queue has so many places free: what stands now in the
        place that the last one gets, if anything.
        """
        if wanted > ring:
            raise NotModelled(f"a graph of {wanted} packets for a queue with {ring} places")
        self.touch(place)
        last = self.notes.get(self.hidden("packets in", place), 0) + wanted - 1
        return self.cells[self.hidden("packet", place, last % ring).slot]

    def places(self, call: Call) -> list[Stream]:
        """The queues that a call's packets go to, one a packet."""
        verb = call[0]
        if verb == "graph_launch":
            nodes = [node for node in self.notes.get(call[1], ()) if node.event is None]
            return [self.place(*self.node_lane(call, node)) for node in nodes]
        first = dict.fromkeys(("launch", "host_func", "write_value", "wait_value", "wait"), 1)
        at = first.get(verb, 2 if verb in {"record", "memcpy", "memcpy_async"} else 3)
        if call[at] in self.notes or self.without_packets(call):
            return []
        self.way = self.way_of(call[1]) if verb in {"memcpy", "memcpy_async"} else None
        stream = self.runs_on(call, call[at])
        place = self.place(self.lane(stream), stream.device)
        self.way = None
        return [place]

    def without_packets(self, call: Call) -> bool:
        """Whether a call issues no packet: what the CPU copies or fills (R2.8, R2.10), a record
        that is none, and a wait by which a stream joins a capture.
        """
        verb, promised = call[0], self.contract
        if verb in {"memcpy", "memcpy_async"}:
            return promised.host_copies_by_cpu and {call[1].dst, call[1].src} <= {PINNED, PAGEABLE}
        if verb in {"memset", "memset_async"}:
            return promised.memset_pinned_by_cpu and call[1][0].kind == PINNED
        if verb == "record":
            return not self.masking.records_queue
        return verb == "wait" and call[2] in self.notes

    def runs_on(self, call: Call, stream: Stream) -> Stream:
        """R2.9: the stream whose queue a call's packets go to."""
        if call[0] not in {"memcpy", "memcpy_async"} or not self.contract.peer_copies_on_null:
            return stream
        device = call[1].device
        return stream if device == stream.device else self.gpu.null(device)

    # --- how copies go ---

    def way_of(self, pairs: Pairs) -> str:
        """R2.12: a kernel on the compute queue within a device and for small copies, else an
        engine, by direction.
        """
        ends = {pairs.dst, pairs.src} & {DEVICE, MANAGED}
        inside = not {pairs.dst, pairs.src} - {DEVICE, MANAGED}
        limit = self.masking.copy_limit
        if limit is None or inside or not self.large(pairs, limit):
            return QUEUE
        if not ends:
            return QUEUE
        return "up" if pairs.dst in ends else "down"

    def large(self, pairs: Pairs, limit: int) -> bool:
        """Whether a copy is larger than this; every copy is larger than nothing."""
        size = pairs.nbytes if limit else 1
        if size is None:
            self.gpu.sizes_missing = True
            return self.masking.unsized == LARGE
        return size > limit

    def moving(self, pairs: Pairs, move: Callable[[], F]) -> F:
        """Issue a copy on its way."""
        self.way = self.way_of(pairs)
        try:
            return move()
        finally:
            self.way = None

    def copy(self, stream: Stream, pairs: Pairs) -> F:
        """R2.12: on its way."""
        return self.moving(pairs, lambda: super(Masked, self).copy(stream, pairs))

    def upload(self, stream: Stream, pairs: Pairs) -> F:
        """R2.12: on its way."""
        return self.moving(pairs, lambda: super(Masked, self).upload(stream, pairs))

    def copy_any_time(self, stream: Stream, pairs: Pairs) -> F:
        """R2.12: on its way; what reads the source early stands in no queue."""
        return self.moving(pairs, lambda: super(Masked, self).copy_any_time(stream, pairs))

    # --- markers ---

    def wait(self, call: Call) -> None:
        """R4.3: a stream's wait stands in its queue and holds up everybody behind it."""
        super().wait(call)
        stream = call[1]
        if stream not in self.notes:
            lane = self.lane(stream)
            place = self.place(lane, stream.device)
            after = self.sink.join(self.cells[place.slot], self.cells[stream.slot])
            self.cells[stream.slot] = after  # the marker is the last thing of its stream
            self.push(lane, stream.device, place, after)

    def record(self, call: Call) -> None:
        """R3.1, R4.3: a record that is a packet stands for everything before it in its queue."""
        super().record(call)
        _verb, event, stream, _external = call
        if self.masking.records_queue and stream not in self.notes:
            lane = self.lane(stream)
            place = self.place(lane, stream.device)
            after = self.sink.join(self.cells[event.slot], self.cells[place.slot])
            self.cells[event.slot] = self.cells[stream.slot] = after
            self.push(lane, stream.device, place, after)

    # --- what takes no place, or another lane's ---

    def malloc_async(self, call: Call) -> None:
        """R6.3: bookkeeping in stream order, no packet."""
        self.in_no_queue(super().malloc_async, call)

    def free_async(self, call: Call) -> None:
        """R6.3: bookkeeping in stream order, no packet."""
        self.in_no_queue(super().free_async, call)

    def in_no_queue(self, rule: Callable[[Call], None], call: Call) -> None:
        """Issue what takes no place in a queue."""
        self.outside = True
        try:
            rule(call)
        finally:
            self.outside = False

    def early(self, call: Call) -> None:
        """R8.4: alone in its queue an early kernel is as ever."""
        lane = self.lane(call[1])
        if any(known == lane for known, _number in self.queue_of):
            raise NotModelled("an early launch on a hardware queue that streams share")
        self.gpu.queue_lanes.setdefault(lane, [call[1].device, 1])
        super().early(call)

    def instantiate(
        self,
        node: GraphNode,
        number: int,
        held: dict[int, tuple[Any, ...]],
        fronts: list[F],
        before: F,
        call: Call,
    ) -> F:
        """R5.2: a branch of a graph is a lane of its own; the first is the launch stream's."""
        self.branch = self.node_lane(call, node)
        try:
            return super().instantiate(node, number, held, fronts, before, call)
        finally:
            self.branch = None

    def node_lane(self, call: Call, node: GraphNode) -> tuple[Lane, int]:
        """R5.2: the lane of a node at a launch, and the device that it was captured on."""
        _verb, graph, stream, _expected = call
        first = self.notes[graph][0].stream
        name = self.lane(stream)
        if node.stream is first:
            return name, node.stream.device
        return f"{name}/{graph.name}/{self.lane(node.stream)}", node.stream.device

    launch = through_queues(Frontend.launch)
    host_func = through_queues(Frontend.host_func)
    memcpy = through_queues(Frontend.memcpy)
    memcpy_async = through_queues(Frontend.memcpy_async)
    memset = through_queues(Frontend.memset)
    memset_async = through_queues(Frontend.memset_async)
    write_value = through_queues(Frontend.write_value)
    wait_value = through_queues(Frontend.wait_value)
    graph_launch = through_queues(Frontend.graph_launch)
    wait = through_queues(wait)
    record = through_queues(record)
