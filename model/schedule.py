"""One host schedule, carried out call by call on vector clocks.

A schedule is a list of (thread, result): which host thread's next call (or the rest of a call, once
what it awaits is done) is carried out, and with which result. Device operations are not scheduled:
the clocks decide all their interleavings at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import sync
from .calls import OPERATIONS
from .errors import BadProtocol
from .frontend import Frontend, front_end
from .host_order import Cells
from .news import News, lanes_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from .calls import Call
    from .clocks import Clock, Clocks, Frontier
    from .contract import Contract
    from .host import Host, Node

Step = tuple[int, Any]


class Schedule:
    """A run of all host threads under one contract.

    - `points[thread]` is where a thread is: its node, and the rest of a call that it has begun;
    - `steps` is the schedule so far;
    - `broken` lists the `concurrent` properties that failed, as nodes.
    """

    def __init__(
        self, host: Host, contract: Contract, uncertain: tuple[str, ...], clocks: Clocks
    ) -> None:
        self.host = host
        self.clocks = clocks
        self.sink = self.make_sink()
        self.front: Frontend[Any] = front_end(host.gpu, contract, self.sink, uncertain)
        self.points: dict[int, tuple[Node, Any]] = {0: (host.root, None)}
        self.shared: sync.Shared = self.front.notes
        self.steps: list[Step] = []
        self.broken: list[Node] = []
        self.issued: dict[Node, Any] = {}
        self.known: dict[object, list[Clock]] = {}
        self.cells = self.front.cells = Cells(self.front.cells)
        self.news = News(self.clocks)
        self.waits = 0
        self.at_step: int | None = None
        self.on_wait: Callable[[Node], None] | None = None

    def make_sink(self) -> Any:
        """Where effects go: the clocks themselves."""
        return self.clocks

    # --- what can come next ---

    def options(self) -> list[Step]:
        """Every (thread, result) that can come next."""
        return [(thread, result) for thread in self.points for result in self.results_of(thread)]

    def results_of(self, thread: int) -> tuple[Any, ...]:
        """The results that a thread's next call can have now."""
        node, rest = self.points[thread]
        if rest is not None:
            return (None,)
        if node.call is None:
            return ()
        verb = node.call[0]
        if verb == "query":
            self.front.grow()
            self.clocks.enter(thread)
            falses = node.falses.get((node.call[1], node.step), 0)
            return sync.answers(falses, self.known_done(self.front.query(node.call)[0]))
        if verb in sync.CONTROL:
            return sync.results(node.call, self.shared, self.ended)
        return (None,)

    def known_done(self, frontier: Any) -> bool:
        """Whether the work is done for certain: the thread knows, or another has waited for it."""
        found = self.clock_frontier(frontier)
        return found is not None and (self.clocks.covered(found) or self.news.done(found))

    def clock_frontier(self, frontier: Any) -> Frontier | None:
        """A frontier as the clocks know it; None for one that is not done."""
        return frontier

    def ended(self, thread: int) -> bool:
        """Whether a thread has returned."""
        return thread in self.points and self.points[thread][0].call is None

    def blocked(self) -> list[Node]:
        """The threads that have not returned, where they are."""
        return [node for node, _rest in self.points.values() if node.call is not None]

    def hung(self) -> list[Any]:
        """Operations that are never done; without cells there are none."""
        return []

    @property
    def undecided(self) -> bool:
        """Whether clocks cannot decide this schedule; without cells they can."""
        return False

    # --- carrying out ---

    def take(self, thread: int, result: object) -> None:
        """Carry out one step."""
        self.steps.append((thread, result))
        node, rest = self.points[thread]
        assert node.call is not None
        self.front.grow()
        self.clocks.enter(thread)
        self.learn_returns(node, rest, thread)
        if rest is None and node.call[0] == "query":
            self.learn_answer(node.call, result)
        self.begin(node, rest)
        self.news.before = None
        try:
            awaits = rest(node.call) if rest else self.first(node, thread, result)
        except BadProtocol as error:
            error.where = error.where or str(node.where)
            raise
        if node.call[0] in OPERATIONS and self.front.issued is not None:
            self.issued[node] = self.front.issued
        if awaits is not None:
            frontier, rest = awaits
            self.count_wait(node, frontier)
            self.await_frontier(thread, frontier)
        self.news.spread(self.cells.touched)
        rests = awaits is not None and rest is not None
        self.points[thread] = (node, rest) if rests else (self.host.child(node, result), None)

    def await_frontier(self, thread: int, frontier: Any) -> None:
        """The thread has waited for everything in the frontier."""
        self.news.awaits(thread, frontier)
        self.clocks.await_(frontier)

    def learn_returns(self, node: Node, rest: object, thread: int) -> None:
        """A wait has returned once its thread goes on, or has been joined."""
        assert node.call is not None
        threads = [thread]
        if rest is None and node.call[0] == "join":
            threads.append(node.call[1].slot)
        for other in threads:
            frontier = self.news.returned(other)
            found = None if frontier is None else self.clock_frontier(frontier)
            if found is not None:
                self.cells.touched.update((("done", lane), False) for lane in self.news.tell(found))

    def learn_answer(self, call: Call, answer: object) -> None:
        """False is only answered once the work was issued: the thread learns of the calls that
        did; true and false exclude what other threads know to be done.
        """
        frontier = self.front.query(call)[0]
        if answer is False:
            self.news.learn(self.cells.touched)
        found = self.clock_frontier(frontier)
        if found is not None and not self.clocks.covered(found):
            self.cells.touched.update((("done", lane), True) for lane in lanes_of(found))

    def count_wait(self, node: Node, frontier: Any) -> None:
        """Count the host waits of the last step."""
        if node.step is not None and node.step != self.at_step:
            self.at_step, self.waits = node.step, 0
        if frontier != self.sink.empty:
            self.waits += 1
            if self.on_wait is not None:
                self.on_wait(node)

    def begin(self, node: Node, rest: object) -> None:
        """A hook for those who record: this call, or the rest of it, is carried out next."""

    def first(self, node: Node, thread: int, result: object) -> Any:
        """The first phase of a call; what it awaits."""
        call = node.call
        assert call is not None
        if call[0] in sync.CONTROL:
            self.control(node, call, thread)
            return None
        if call[0] == "concurrent":
            if self.clocks.ordered(self.frontier_of(call[1]), self.frontier_of(call[2])):
                self.broken.append(node)
            return None
        if call[0] == "query":
            return self.front.query(call) if result else None
        return self.front.call(call)

    def frontier_of(self, node: Node) -> Any:
        """The clocks' frontier of a call's operation; refuses a call that issued none."""
        if node not in self.issued:
            raise BadProtocol(
                "concurrent() takes operations of streams: this call was captured, or the CPU "
                "itself carried it out"
            )
        return self.issued[node]

    def control(self, node: Node, call: Call, thread: int) -> None:
        """Host threads among themselves: what one knew, the other learns."""
        verb, clocks = call[0], self.clocks
        if verb == "thread":
            clocks.hosts[call[1].slot] = clocks.release()
            self.points[call[1].slot] = (self.host.spawn(node), None)
        elif verb == "join":
            clocks.acquire(clocks.hosts[call[1].slot])
        elif verb in {"acquire", "get"}:
            self.learn(verb, call[1])
        elif verb == "put":
            self.learn_space(call[1])
        sync.carry_out(call, thread, self.shared)
        if verb in {"release", "put", "get"}:
            self.known.setdefault((verb, call[1]), []).append(clocks.release())

    def learn(self, verb: str, thing: Any) -> None:
        """Release → acquire (the last one); put → get (the same item)."""
        if verb == "acquire":
            for known in self.known.get(("release", thing), ())[-1:]:
                self.clocks.acquire(known)
        else:
            taken = len(self.known.get(("get", thing), ()))
            self.clocks.acquire(self.known["put", thing][taken])

    def learn_space(self, queue: Any) -> None:
        """Get k → put k + capacity: a bounded queue orders the put after the get that made room."""
        if queue.capacity is not None:
            room = len(self.known.get(("put", queue), ())) - queue.capacity
            if room >= 0:
                self.clocks.acquire(self.known["get", queue][room])
