"""What host threads do among themselves, on SimPy's resources and stores.

A lock is a `simpy.Resource` of one, a queue a `simpy.Store`; a join waits for a process. Each
function carries out one verb for a thread and returns its result; `chosen` is the result that an
explorer has decided on, None where time decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import simpy

from ..model.errors import BadProtocol
from ..model.sync import FALSES

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model.objects import Lock, Queue
    from .cursors import Cursor
    from .gpu import SimGpu


def lock_of(sim: SimGpu, lock: Lock) -> simpy.Resource:
    """The resource for a lock."""
    found = sim.locks.get(lock)
    if found is None:
        found = sim.locks[lock] = simpy.Resource(sim.env, capacity=1)
    return found


def queue_of(sim: SimGpu, queue: Queue) -> simpy.Store:
    """The store for a queue."""
    found = sim.queues.get(queue)
    if found is None:
        found = sim.queues[queue] = simpy.Store(sim.env, queue.capacity or float("inf"))
    return found


def happened(sim: SimGpu, cursor: Cursor, result: object = None) -> None:
    """The thread has carried out its call."""
    sim.clock.happened(sim, ("host", cursor.thread, result), cursor)


def choose(sim: SimGpu, cursor: Cursor, chosen: Any) -> Any:
    """One of several options, by its number."""
    if chosen is None:
        chosen = sim.clock.choice(sim, cursor)
    happened(sim, cursor, chosen)
    return chosen
    yield


def query(sim: SimGpu, cursor: Cursor, chosen: Any) -> Any:
    """Whether the work is done. After so many false answers in a row it waits for a true one, as
    everywhere else.
    """
    if chosen is None:
        pending = sim.asked(cursor)
        chosen = not pending or falses(cursor) >= FALSES
        if pending and chosen:
            yield from sim.wait(cursor, pending)
    happened(sim, cursor, chosen)
    return chosen


def falses(cursor: Cursor) -> int:
    """How many queries of this event or stream have answered false in a row, in this step."""
    assert cursor.call is not None
    return cursor.falses.get((cursor.call[1], cursor.step), 0)


def thread(sim: SimGpu, cursor: Cursor, _chosen: Any) -> Any:
    """Start a host thread."""
    happened(sim, cursor)
    sim.begin_thread(cursor.spawn())
    return
    yield


def join(sim: SimGpu, cursor: Cursor, _chosen: Any) -> Any:
    """Wait until a thread has returned."""
    assert cursor.call is not None
    process = sim.processes[cursor.call[1].slot]
    if process.is_alive:
        yield process
    happened(sim, cursor)


def acquire(sim: SimGpu, cursor: Cursor, _chosen: Any) -> Any:
    """Wait until a lock is free, and take it."""
    assert cursor.call is not None
    lock = cursor.call[1]
    request = lock_of(sim, lock).request()
    yield request
    sim.holders[lock] = cursor.thread, request
    happened(sim, cursor)


def release(sim: SimGpu, cursor: Cursor, _chosen: Any) -> Any:
    """Give a lock back."""
    assert cursor.call is not None
    lock = cursor.call[1]
    holder = sim.holders.get(lock)
    if holder is None or holder[0] != cursor.thread:
        raise BadProtocol(
            f"lock {lock.name!r} is released by a thread that does not hold it", str(cursor.where)
        )
    happened(sim, cursor)
    del sim.holders[lock]
    yield lock_of(sim, lock).release(holder[1])


def put(sim: SimGpu, cursor: Cursor, _chosen: Any) -> Any:
    """Append an item once there is room."""
    assert cursor.call is not None
    yield queue_of(sim, cursor.call[1]).put(cursor.call[2])
    happened(sim, cursor)


def get(sim: SimGpu, cursor: Cursor, _chosen: Any) -> Any:
    """Take the oldest item once there is one."""
    assert cursor.call is not None
    item = yield queue_of(sim, cursor.call[1]).get()
    happened(sim, cursor, item)
    return item


def wait_cell(sim: SimGpu, cursor: Cursor, _chosen: Any) -> Any:
    """Spin until a cell is large enough."""
    assert cursor.call is not None
    _verb, cell, value = cursor.call
    while sim.contents.word(cell) < value:
        yield sim.changed(cell)
    happened(sim, cursor)


def concurrent(sim: SimGpu, cursor: Cursor, _chosen: Any) -> Any:
    """A property, and nothing that happens; the engine `order` decides it."""
    happened(sim, cursor)
    return
    yield


CONTROL: dict[str, Callable[[SimGpu, Cursor, Any], Any]] = {
    "choose": choose, "query": query, "thread": thread, "join": join, "acquire": acquire,
    "release": release, "put": put, "get": get, "wait_cell": wait_cell, "concurrent": concurrent,
}  # fmt: skip
"""Verbs that the front end has nothing to do with."""


def results(sim: SimGpu, cursor: Cursor) -> tuple[Any, ...]:
    """The results that a thread's next call can have now; none while it has to wait."""
    call = cursor.call
    assert call is not None
    able = ABLE.get(call[0])
    return (None,) if able is None else able(sim, cursor, *call[1:])


def if_possible(possible: bool) -> tuple[None, ...]:
    """The only result, or none."""
    return (None,) if possible else ()


def answers(sim: SimGpu, cursor: Cursor, _target: object) -> tuple[bool, ...]:
    """True once the work is done; false only while it is not, and not for ever."""
    if not sim.asked(cursor):
        return (True,)
    return (False,) if falses(cursor) < FALSES else ()


ABLE: dict[str, Callable[..., tuple[Any, ...]]] = {
    "choose": lambda _sim, _cursor, count, _names: tuple(range(count)),
    "query": answers,
    "join": lambda sim, _cursor, thread: if_possible(
        thread.slot in sim.threads and sim.threads[thread.slot].call is None
    ),
    "acquire": lambda sim, _cursor, lock: if_possible(lock not in sim.holders),
    "put": lambda sim, _cursor, queue, _item: if_possible(
        len(queue_of(sim, queue).items) < queue_of(sim, queue).capacity
    ),
    "get": lambda sim, _cursor, queue: tuple(queue_of(sim, queue).items[:1]),
    "wait_cell": lambda sim, _cursor, cell, value: if_possible(sim.contents.word(cell) >= value),
}
"""The verbs that can have to wait, or have several results."""
