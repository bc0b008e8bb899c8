"""The order of host calls, call by call: what each comes after, and what could begin a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from streamorder import CUDA, Outcome, check
from streamorder.model.again import from_the_start
from streamorder.model.host import Host
from streamorder.model.host_order import (
    Footprint,
    HostOrder,
    HostStep,
    dependent,
    merge,
    own_footprint,
)
from streamorder.model.search import Search, initials
from streamorder.model.tree import schedule_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Gpu, Stream
    from streamorder.model.calls import Call
    from streamorder.model.schedule import Schedule

NOTHING: Footprint = frozenset()
WRITES: Footprint = frozenset({("tail", True)})
READS: Footprint = frozenset({("tail", False)})


class Thing(NamedTuple):
    """A stand-in for a lock, a queue or a host thread."""

    name: str
    slot: int = 0
    capacity: int | None = None


class Log:
    """A schedule that is written down call by call."""

    def __init__(self) -> None:
        self.order = HostOrder()
        self.count = 0

    def add(self, thread: int, *call: object, touches: Footprint = NOTHING) -> dict[int, int]:
        """Add a thread's next call; what happened before it, itself included."""
        issued: Call | None = call or None
        own = own_footprint(issued) if issued else NOTHING
        step = HostStep(self.count, thread, issued, touches | own)
        self.count += 1
        return self.order.add(step)


@pytest.fixture
def log() -> Log:
    """An empty schedule."""
    return Log()


def test_a_thread_comes_after_itself(log: Log) -> None:
    """`past` counts a thread's calls by their place in the schedule, plus one."""
    assert log.add(0) == {0: 1}
    assert log.add(1) == {1: 2}
    assert log.add(0) == {0: 3}
    assert log.order.past == {0: {0: 3}, 1: {1: 2}}


@pytest.mark.parametrize(
    ("first", "second", "ordered"),
    [
        (WRITES, WRITES, True),
        (WRITES, READS, True),
        (READS, WRITES, True),
        (READS, READS, False),
        (WRITES, frozenset({("event", True)}), False),
        (WRITES, NOTHING, False),
    ],
)
def test_dependent_calls_are_ordered(
    first: Footprint, second: Footprint, ordered: bool, log: Log
) -> None:
    """Two calls on one thing, one of which changes it, in the order in which they come."""
    log.add(0, touches=first)
    assert log.add(1, touches=second) == ({0: 1, 1: 2} if ordered else {1: 2})
    assert dependent(first, second) == dependent(second, first) == ordered


def test_rivals_are_the_last_dependent_calls(log: Log) -> None:
    """For a reader the last write; for a writer each thread's last read since as well."""
    log.add(0, touches=WRITES)
    log.add(1, touches=READS)
    log.add(2, touches=READS)
    log.add(1, touches=READS)
    order = log.order
    assert [(thread, at) for thread, at, _known in order.rivals(READS)] == [(0, 0)]
    assert {(thread, at) for thread, at, _known in order.rivals(WRITES)} == {(0, 0), (1, 3), (2, 2)}
    log.add(3, touches=WRITES)
    assert [(thread, at) for thread, at, _known in order.rivals(WRITES)] == [(3, 4)]
    assert not list(order.rivals(frozenset({("other", True)})))


def test_what_is_known_is_handed_on(log: Log) -> None:
    """A write, its reader, and who depends on the reader: the first comes before the last."""
    log.add(0, touches=WRITES)
    log.add(1, touches=READS | frozenset({("event", True)}))
    assert log.add(2, touches=frozenset({("event", False)})) == {0: 1, 1: 2, 2: 3}


def test_release_and_acquire(log: Log) -> None:
    """An acquire comes after the last release, not merely after the last acquire."""
    lock = Thing("lock")
    assert log.add(0, "acquire", lock) == {0: 1}
    log.add(0)
    log.add(0, "release", lock)
    log.add(0)
    assert log.add(1, "acquire", lock) == {0: 3, 1: 5}
    assert log.add(2, "acquire", Thing("other")) == {2: 6}


def test_a_release_alone_orders_nobody(log: Log) -> None:
    """A release and another thread's call on something else have no order."""
    log.add(0, "release", Thing("lock"))
    assert log.add(1, "release", Thing("other")) == {1: 2}


def test_put_and_get(log: Log) -> None:
    """Each get comes after the put of its own item, and after the gets before it."""
    queue = Thing("queue")
    log.add(0, "put", queue)
    log.add(0, "put", queue)
    assert log.add(1, "get", queue) == {0: 1, 1: 3}
    assert log.add(2, "get", queue) == {0: 2, 1: 3, 2: 4}
    assert log.add(0, "put", queue) == {0: 5}, "a queue without bound makes nobody wait"


@pytest.mark.parametrize(("capacity", "known"), [(1, {0: 3, 1: 2}), (2, {0: 3})])
def test_a_bounded_put_comes_after_the_get_that_made_room(
    capacity: int, known: dict[int, int], log: Log
) -> None:
    """The put number k + capacity after the get number k; before the queue was full after none."""
    queue = Thing("queue", capacity=capacity)
    log.add(0, "put", queue)
    log.add(1, "get", queue)
    assert log.add(0, "put", queue) == known
    if capacity == 2:
        assert log.add(0, "put", queue) == {0: 4, 1: 2}


def test_two_puts_are_ordered_as_they_came(log: Log) -> None:
    """One end of a queue is one thing: the order of two puts decides who gets what."""
    queue = Thing("queue")
    log.add(0, "put", queue)
    assert log.add(1, "put", queue) == {0: 1, 1: 2}
    assert log.add(2, "get", queue) == {0: 1, 2: 3}


def test_start_and_join(log: Log) -> None:
    """A thread begins with what its starter knew; who joins it knows all that it did."""
    other = Thing("other", slot=1)
    log.add(0)
    log.add(0, "thread", other)
    log.add(0)
    assert log.add(1) == {0: 2, 1: 4}
    log.add(1)
    assert log.add(0, "join", other) == {0: 6, 1: 5}
    assert log.add(2) == {2: 7}


@pytest.mark.parametrize(
    ("call", "footprint"),
    [
        (("acquire", "lock"), {("lock", True)}),
        (("release", "lock"), set()),
        (("put", "queue"), {(("put", "queue"), True)}),
        (("get", "queue"), {(("get", "queue"), True)}),
        (("set_cell", "cell", 1), {("cell", True)}),
        (("wait_cell", "cell", 1), {("cell", False)}),
        (("write_value", "s", "cell", 1), {("cell", True)}),
        (("wait_value", "s", "cell", 1), {("cell", False)}),
        (("write", "p", 1), set()),
    ],
)
def test_what_a_call_touches_itself(call: Call, footprint: set[object]) -> None:
    """A lock, an end of a queue, a cell; memory is no dependence."""
    assert own_footprint(call) == footprint


def test_merge_keeps_the_later() -> None:
    """Lane by lane, in place."""
    into = {0: 3, 1: 1}
    merge(into, {0: 1, 1: 2}, {2: 5})
    assert into == {0: 3, 1: 2, 2: 5}


@pytest.mark.parametrize(
    ("events", "threads"),
    [
        ([], []),
        ([(4, 1, {})], [1]),
        ([(4, 1, {}), (5, 2, {})], [1, 2]),
        ([(4, 1, {1: 5}), (5, 2, {1: 5, 2: 6})], [1]),
        ([(4, 1, {1: 5}), (5, 2, {1: 4, 2: 6})], [1, 2]),
        ([(4, 1, {1: 5}), (5, 1, {1: 6}), (6, 2, {2: 7})], [1, 2]),
        ([(4, 1, {1: 5}), (5, 2, {2: 6}), (6, 3, {2: 6, 3: 7})], [1, 2]),
        ([(4, 1, {1: 5}), (5, 2, {1: 5, 2: 6}), (6, 2, {2: 7})], [1]),
    ],
)
def test_initials(events: list[tuple[int, int, dict[int, int]]], threads: list[int]) -> None:
    """The threads whose first event comes after none of the others."""
    assert initials(events) == threads


# --- what it means for a search -----------------------------------------------------------------


def side_by_side(gpu: Gpu, shared: bool = False) -> None:
    """Two threads, each with its own lock and its own stream, and two calls under the lock."""
    one = gpu.lock("one")

    def worker(number: int) -> None:
        lock = one if shared else gpu.lock("own")
        stream = gpu.stream(f"s{number}")
        with lock:
            gpu.launch("k", stream)
            gpu.launch("l", stream)

    threads = [gpu.thread(worker, number) for number in range(2)]
    for thread in threads:
        thread.join()


def test_threads_that_share_nothing_need_one_schedule() -> None:
    """No order of their calls is worth a second look."""
    verdict = check(side_by_side)
    assert verdict.outcome is Outcome.HOLDS
    assert verdict.executions == 1


def test_threads_that_share_a_lock_need_two() -> None:
    """Either is first."""
    assert check(side_by_side, shared=True).executions == 2


def captured_launch(gpu: Gpu) -> None:
    """Another thread's launch may fall into a capture, and is then no launch but a node."""
    s, d = gpu.stream("s"), gpu.device("d")

    def other() -> None:
        gpu.launch("other", s, writes={d: 2})

    thread = gpu.thread(other)
    with gpu.capture(s) as graph:
        gpu.launch("node", s, writes={d: 1})
    thread.join()
    graph.launch(s)
    gpu.launch("use", s, reads={d: 1})


def memory_handed_on(gpu: Gpu) -> None:
    """Another thread's free may come before the memory is handed out again, or after."""
    s, d = gpu.stream("s"), gpu.malloc("d")
    thread = gpu.thread(gpu.free, d)
    e = gpu.malloc("e", of=d)
    gpu.launch("fill", s, writes={e: 1})
    gpu.launch("use", s, reads={e: 1})
    thread.join()


@pytest.mark.parametrize("body", [captured_launch, memory_handed_on])
def test_calls_that_only_note_something_have_an_order(body: Callable[[Gpu], None]) -> None:
    """A capture and a free issue nothing, and still the order of the threads' calls matters: what
    the search by happens-before finds is what the machine finds.
    """
    order, machine = (check(body, steps=1, engine=engine) for engine in ("order", "machine"))
    assert order.outcome is machine.outcome is Outcome.REFUTED
    assert order.executions > 1
    sentences = {edge.sentence for edge in order.missing_edges}
    assert sentences == {edge.sentence for edge in machine.missing_edges}


def independent(gpu: Gpu, threads: int = 3, calls: int = 3) -> None:
    """Threads that have nothing to do with one another."""

    def worker(stream: Stream) -> None:
        for _ in range(calls):
            gpu.launch("k", stream)

    streams = [gpu.stream(f"s{i}") for i in range(threads)]
    started = [gpu.thread(worker, stream) for stream in streams]
    for thread in started:
        thread.join()


def test_nothing_is_begun_that_need_not_be_looked_at() -> None:
    """Sleep sets alone would still begin schedules that they then cut off."""
    host, begun = Host(independent, 1), []

    def start() -> Schedule:
        begun.append(schedule_of(host, CUDA.readings()[0], ()))
        return begun[-1]

    def search() -> int:
        begun.clear()
        return sum(1 for _schedule in Search(start))

    assert from_the_start(search) == 1
    assert len(begun) == 1
