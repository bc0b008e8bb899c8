"""What host threads share: locks, queues and joins; and which results a call can have.

The state is a dict from the object to its content: a held lock to the thread that holds it, a
queue that is not empty to the tuple of its items. A lock or queue that is absent is free or empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import BadProtocol
from .objects import Handle, Queue

if TYPE_CHECKING:
    from collections.abc import Callable

    from .calls import Call

Shared = dict[Handle, Any]

FALSES = 2
"""How many queries of one event or stream in a row may answer false to a thread, in one step and
with nothing else done to it: a loop around `query` is bounded so, which is stated with the
verdict; `poll()` has no such bound."""

CONTROL = frozenset({"choose", "thread", "join", "acquire", "release", "put", "get"})
"""Verbs that only host threads are concerned with."""


def results(call: Call, shared: Shared, ended: Callable[[int], bool]) -> tuple[Any, ...]:
    """The results that a control call can have now; none while it must wait."""
    verb = call[0]
    if verb == "choose":
        return tuple(range(call[1]))
    if verb == "acquire":
        return () if call[1] in shared else (None,)
    if verb == "get":
        return (shared[call[1]][0],) if call[1] in shared else ()
    if verb == "put":
        return () if is_full(call[1], shared) else (None,)
    if verb == "join":
        return (None,) if ended(call[1].slot) else ()
    return (None,)


def is_full(queue: Queue, shared: Shared) -> bool:
    """Whether a bounded queue holds as many items as it may."""
    return queue.capacity is not None and len(shared.get(queue, ())) >= queue.capacity


def carry_out(call: Call, thread: int, shared: Shared) -> None:
    """Change the shared state as the call does; the call must be able to go on (see `results`)."""
    verb = call[0]
    if verb == "acquire":
        shared[call[1]] = thread
    elif verb == "release":
        if shared.get(call[1]) != thread:
            raise BadProtocol(
                f"lock {call[1].name!r} is released by a thread that does not hold it"
            )
        del shared[call[1]]
    elif verb == "put":
        shared[call[1]] = (*shared.get(call[1], ()), call[2])
    elif verb == "get":
        rest = shared[call[1]][1:]
        if rest:
            shared[call[1]] = rest
        else:
            del shared[call[1]]


def answers(falses: int, done: bool) -> tuple[bool, ...]:
    """What a query can answer: true when (or once) the work is done, false while it is not."""
    if done:
        return (True,)
    return (True, False) if falses < FALSES else (True,)
