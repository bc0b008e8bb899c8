"""Small programs in which one thing alone tells two states apart: forget it, and the counts differ.

Random programs meet these seldom. Each is compared with the machine, and its count is pinned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder import CUDA

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Gpu


def carried_versions(gpu: Gpu) -> None:
    """A staged copy took the old version or the new one; memory holds the new one in both cases."""
    table, source = gpu.device("table"), gpu.pageable("source")
    gpu.host_func("fill", gpu.stream("left"), writes={source: 1})
    gpu.memcpy_async(table, source, gpu.stream("right"), source="call")


def order_in_a_queue(gpu: Gpu) -> None:
    """Two producers have put their items, in one order or the other."""
    queue = gpu.queue()
    threads = [gpu.thread(queue.put, name) for name in ("first", "second")]
    for thread in threads:
        thread.join()
    if queue.get() == "first":
        gpu.launch("kernel", gpu.stream("s"))


def order_of_graph_nodes(gpu: Gpu) -> None:
    """Two threads issue into one capture: which node is which depends on who came first."""
    origin, branch, memory = gpu.stream("origin"), gpu.stream("branch"), gpu.device("memory")
    fork, join = gpu.event("fork"), gpu.event("join")

    def other() -> None:
        gpu.launch("left", branch, writes={memory: 1})

    with gpu.capture(origin) as graph:
        fork.record(origin)
        branch.wait(fork)
        thread = gpu.thread(other)
        gpu.launch("right", origin)
        thread.join()
        join.record(branch)
        origin.wait(join)
    graph.launch(origin)


def two_snapshots_awaited(gpu: Gpu) -> None:
    """One thread waits for an event that another records anew meanwhile."""
    stream, event = gpu.stream("s"), gpu.event("e")
    gpu.launch("a", stream)
    event.record(stream)
    thread = gpu.thread(event.synchronize)
    gpu.launch("b", stream)
    event.record(stream)
    thread.join()


def three_false_answers(gpu: Gpu) -> None:
    """After two false answers in a row the third is true."""
    stream = gpu.stream("s")
    gpu.launch("a", stream)
    for _ in range(4):
        if stream.query():
            break


def equal_writes(gpu: Gpu) -> None:
    """Writers of one version need no order; a third that writes another one does."""
    memory = gpu.device("memory")
    for name, version in (("a", 1), ("b", 1), ("c", 2)):
        stream = gpu.stream(name)
        gpu.launch(name, stream, writes={memory: gpu.idempotent(version)})


def words_of_cells(gpu: Gpu) -> None:
    """A cell that is set back: an operation that could have gone on can no longer."""
    cell, stream = gpu.cell("cell"), gpu.stream("s")
    gpu.wait_value(stream, cell, 1)
    cell.set(1)
    cell.set(0)


def rest_of_a_call(gpu: Gpu) -> None:
    """Freeing waits for the device first; the write of poison is a step of its own."""
    memory, stream = gpu.malloc("memory"), gpu.stream("s")
    gpu.launch("use", stream, writes={memory: 1})

    def other() -> None:
        gpu.launch("late", gpu.stream("t"), reads=[memory])

    thread = gpu.thread(other)
    gpu.free(memory)
    thread.join()


def locks_and_room(gpu: Gpu) -> None:
    """A queue of one place, and a lock that one of two threads holds."""
    queue, lock = gpu.queue(capacity=1), gpu.lock()

    def put() -> None:
        with lock:
            queue.put(1)

    threads = [gpu.thread(put), gpu.thread(put)]
    queue.get()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize(
    ("body", "states"),
    [
        (carried_versions, 9),
        (order_in_a_queue, 17),
        (order_of_graph_nodes, 25),
        (two_snapshots_awaited, 25),
        (three_false_answers, 10),
        (equal_writes, 18),
        (words_of_cells, 6),
        (rest_of_a_call, 23),
        (locks_and_room, 28),
    ],
)
def test_states(body: Callable[[Gpu], None], states: int, both: Callable[..., Any]) -> None:
    """As many as the machine has."""
    kept = CUDA.readings()[0]._replace(free_awaits=True)
    machine, simulator = both(body, 1, kept)
    assert simulator == machine
    assert simulator.states == states


def test_equal_writes_do_not_race(both: Callable[..., Any]) -> None:
    """Only the writer of another version is in a race."""

    def alike(gpu: Gpu) -> None:
        memory = gpu.device("memory")
        for name in ("a", "b"):
            gpu.launch(name, gpu.stream(name), writes={memory: gpu.idempotent(1)})

    machine, simulator = both(alike, 1, CUDA.readings()[0])
    assert simulator == machine
    assert simulator.holds
    assert not both(equal_writes, 1, CUDA.readings()[0])[1].holds
