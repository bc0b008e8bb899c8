"""Who waits for whom where nothing can go on: the cycle, by name.

The graph has an edge from each waiting host thread and pending operation to what it waits for, with
the reason. It is built from a state of the machine or from the end of a schedule, in one form.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from .contract import EITHER
from .effects import bits
from .masking import HELD
from .trace import described

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .contract import Contract
    from .explore import Exploration
    from .host import Host, Node
    from .objects import Cell, Stream
    from .schedule import Schedule

NOBODY = "nobody"

AHEAD = 2_000
"""How many calls of a blocked thread are looked at for the one that would help."""


class Held(NamedTuple):
    """A pending operation: its call, lane, predecessors that are pending, and its cell."""

    node: Node
    lane: Stream
    before: tuple[int, ...]
    awaits: tuple[Cell, int] | None
    sets: tuple[Cell, int] | None


class Stuck(NamedTuple):
    """A state in which nothing can go on.

    - `ops` maps an index to a pending operation; `threads` a thread to where it is, the operations
      that it awaits there, and whether it has not issued anything yet; `shared` what locks and
      queues hold;
    - `running` is the operation that occupies the device where streams are serialised.
    """

    host: Host
    ops: dict[int, Held]
    threads: dict[int, tuple[Node, tuple[int, ...], bool]]
    shared: dict[Any, Any]
    running: int | None


class Wait(NamedTuple):
    """One edge: who waits, for whom, and why."""

    who: str
    whom: str
    why: str

    def __str__(self) -> str:
        return f"{self.who} waits for {self.whom}: {self.why}"


def stuck_state(walk: Exploration) -> Stuck:
    """The first state in which the machine found that nothing can go on."""
    machine, state = walk.machine, walk.deadlocks[0]
    pending = bits(state[1])
    if machine.alone:
        waits = {index: machine.ops[index].before & state[1] for index in pending}
    else:
        waits = dict(zip(pending, state[2], strict=True))
    ops = {}
    for index in pending:
        op = machine.ops[index]
        cell = (op.cell, op.value) if op.cell is not None else None
        ops[index] = Held(
            op.node, op.stream, tuple(bits(waits[index])),
            cell if op.awaits else None, None if op.awaits else cell,
        )  # fmt: skip
    points = [(thread, point) for thread, point in enumerate(state[0]) if point is not None]
    threads = {
        thread: (point[0], tuple(bits(point[2])), point[1] == HELD)
        for thread, point in points
        if point[0].call is not None
    }
    return Stuck(machine.host, ops, threads, dict(state[5]), machine.running(state))


def stuck_schedule(schedule: Schedule) -> Stuck:
    """The end of a recorded schedule in which something is stuck."""
    sink: Any = schedule.sink
    ops: dict[int, Held] = {}
    awaiting: dict[int, int] = getattr(schedule, "awaiting", {})
    pending = getattr(sink, "pending", 0)
    for index in bits(pending):
        op = sink.ops[index]
        node = op.origin[0].node
        ops[index] = Held(node, op.lane, tuple(bits(op.before & pending)), op.awaits, op.sets)
    threads = {}
    for thread, (node, rest) in schedule.points.items():
        awaited = tuple(bits(awaiting.get(thread, 0) & pending))
        at = node.parent if awaited and rest is None else node
        if at is not None and at.call is not None:
            threads[thread] = (at, awaited, getattr(rest, "phase", 0) == HELD)
    return Stuck(schedule.host, ops, threads, dict(schedule.shared), None)


def cycle(stuck: Stuck, contract: Contract) -> tuple[Wait, ...]:
    """The shortest cycle of waits; without one, a chain that ends where nobody is left."""
    graph = Graph(stuck, contract)
    edges = {who: list(graph.waits(who)) for who in graph.everyone()}
    best: list[tuple[Any, Any, str]] | None = None
    for start in edges:
        found = path_back(edges, start)
        if found is not None and (best is None or len(found) < len(best)):
            best = found
    if best is None:
        best = [(who, whom, why) for who in edges for whom, why in edges[who] if whom is None]
    return tuple(Wait(graph.named(who), graph.named(whom), why) for who, whom, why in best)


Edges = dict[Any, list[tuple[Any, str]]]


def path_back(edges: Edges, start: Any) -> list[tuple[Any, Any, str]] | None:
    """The shortest way from a waiter back to itself, breadth first."""
    came: dict[Any, tuple[Any, str]] = {}
    waiting = deque([start])
    while waiting:
        who = waiting.popleft()
        for whom, why in edges.get(who, ()):
            if whom == start:
                steps = [(who, whom, why)]
                while who != start:
                    earlier, reason = came[who]
                    steps.append((earlier, who, reason))
                    who = earlier
                return steps[::-1]
            if whom is not None and whom not in came:
                came[whom] = (who, why)
                waiting.append(whom)
    return None


class Graph:
    """Waiters are ("op", index) and ("thread", number); None stands for nobody."""

    def __init__(self, stuck: Stuck, contract: Contract) -> None:
        self.stuck = stuck
        self.gpu = stuck.host.gpu
        self.calls_wait = False in {getattr(contract, field) for field in EITHER}
        self.queues = contract.masking.queues
        self.after_all = contract.masking.copies_after_all
        self.ring = contract.masking.ring
        self.first_use = contract.masking.first_use_drains
        points = stuck.threads.items()
        self.coming = {thread: list(ahead(stuck.host, point[0])) for thread, point in points}

    def everyone(self) -> Iterator[Any]:
        """Everybody who waits; host threads first."""
        yield from (("thread", thread) for thread in self.stuck.threads)
        yield from (("op", index) for index in self.stuck.ops)

    def named(self, who: Any) -> str:
        """A waiter in words."""
        if who is None:
            return NOBODY
        kind, number = who
        if kind == "op":
            op = self.stuck.ops[number]
            return f"{placed(op.node)} on {op.lane.name}"
        node = self.stuck.threads[number][0]
        name = self.gpu.threads[number].name
        return f"host thread {name} in {placed(node)}"

    def waits(self, who: Any) -> Iterator[tuple[Any, str]]:
        """Whom somebody waits for, and why."""
        kind, number = who
        if kind == "op":
            yield from self.op_waits(number)
        else:
            yield from self.thread_waits(number)

    def op_waits(self, index: int) -> Iterator[tuple[Any, str]]:
        """An operation waits for what it comes after, and for its cell."""
        op = self.stuck.ops[index]
        for other in op.before:
            yield ("op", other), self.reason(op, self.stuck.ops[other])
        running = self.stuck.running
        if running is not None and running != index:
            yield ("op", running), "it occupies the device, where streams are serialised (R1.2)"
        if op.awaits is not None:
            yield from self.setters(*op.awaits)

    def reason(self, op: Held, other: Held) -> str:
        """Why an operation comes after another."""
        if op.lane is other.lane:
            return f"it stands before it in {op.lane.name} (R1.1)"
        queues = [self.queue_of(one.lane) for one in (op, other)]
        if queues[0] is not None and queues[0] == queues[1]:
            return (
                f"it stands before it in the hardware queue that {op.lane.name} and "
                f"{other.lane.name} share (R4.3)"
            )
        call = op.node.call
        if self.after_all and call is not None and call[0].startswith("memcpy"):
            return "copies start after all work issued before"
        return "it comes after it"

    def queue_of(self, lane: Stream) -> int | None:
        """The queue that a stream shares, where it is given one."""
        return next((queue for (name, _number), queue in self.queues if name == lane.name), None)

    def setters(self, cell: Cell, value: int) -> Iterator[tuple[Any, str]]:
        """Who could still set a cell high enough."""
        found = False
        for index, op in self.stuck.ops.items():
            if op.sets is not None and op.sets[0] is cell and op.sets[1] >= value:
                found = True
                yield ("op", index), f"it is to set cell {cell.name!r} to {op.sets[1]}"
        for thread, calls in self.coming.items():
            for node in calls:
                if sets_cell(node, cell, value):
                    found = True
                    yield ("thread", thread), f"it is to call {placed(node)}"
                    break
        if not found:
            yield None, f"nobody is left to set cell {cell.name!r} to {value}"

    def thread_waits(self, thread: int) -> Iterator[tuple[Any, str]]:
        """A host thread waits for operations, a cell, a lock, a queue or another thread."""
        node, awaited, held = self.stuck.threads[thread]
        call = node.call
        assert call is not None
        for index in awaited:
            yield ("op", index), self.awaited(held, call[0])
        if awaited:
            return
        verb, thing = call[0], call[1]
        if verb == "wait_cell":
            yield from self.setters(call[1], call[2])
        elif verb == "acquire":
            yield ("thread", self.stuck.shared[thing]), f"it holds lock {thing.name!r}"
        elif verb == "join":
            yield ("thread", thing.slot), "it has not returned"
        elif verb in {"get", "put"}:
            yield from self.partners(verb, thing)

    def awaited(self, held: bool, verb: str) -> str:
        """Why a host thread awaits an operation."""
        if not held and verb == "memcpy_async" and self.calls_wait:
            return "the call may return only when it is done (R2.6, R2.7)"
        if not held:
            return "the call returns when it is done"
        places = f"a queue with {self.ring} places has none left before it is done (R4.5)"
        drains = "a kernel's first launch waits for the whole device"
        return drains if self.first_use else places

    def partners(self, verb: str, queue: Any) -> Iterator[tuple[Any, str]]:
        """Who could put into an empty queue, or take from a full one."""
        other = "put" if verb == "get" else "get"
        state = "empty" if verb == "get" else "full"
        found = False
        for thread, calls in self.coming.items():
            helps = [n for n in calls if n.call and n.call[0] == other and n.call[1] is queue]
            if helps:
                found = True
                why = f"queue {queue.name!r} is {state}, and it is to {other} ({helps[0].where})"
                yield ("thread", thread), why
        if not found:
            yield None, f"queue {queue.name!r} is {state}, and nobody is left to {other}"


def placed(node: Node) -> str:
    """A call in words, with its source line."""
    assert node.call is not None
    return f"{described(node.call)} ({node.where})"


def sets_cell(node: Node, cell: Cell, value: int) -> bool:
    """Whether a call sets a cell high enough."""
    call = node.call
    if call is None or call[0] not in {"set_cell", "write_value"}:
        return False
    return call[-2] is cell and call[-1] >= value


def ahead(host: Host, node: Node) -> Iterator[Node]:
    """The calls that a blocked thread would make next, and those of threads it would start, up to
    where its way depends on a result.
    """
    waiting = [node]
    for _ in range(AHEAD):
        if not waiting:
            return
        at = waiting.pop()
        if at.call is None:
            continue
        yield at
        if at.call[0] == "thread":
            waiting.append(host.spawn(at))
        if at.call[0] in {"choose", "get"}:
            continue
        waiting.append(host.child(at, True if at.call[0] == "query" else None))
