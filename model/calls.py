"""Calls as plain data, and who carries them out.

A call is a tuple of its verb and its objects:

    ("launch", stream, kernel, reads, writes, early)  ("host_func", stream, name, reads, writes)
    ("memcpy", pairs, NULL stream)                    ("memcpy_async", pairs, stream, source)
    ("memset", regions, value, NULL stream)           ("memset_async", regions, value, stream)
    ("write", regions, value)                         ("read", reads)
    ("record", event, stream, external)               ("wait", stream, event, external)
    ("synchronize_event", event)                      ("synchronize_stream", stream)
    ("synchronize_device", device)                    ("query", event or stream)
    ("poll", event)                                   ("destroy", stream)
    ("capture", stream, graph)                        ("end_capture", stream, graph)
    ("graph_launch", graph, stream, reads)            ("post", agent, event, reads, writes)
    ("malloc", buffer, of)                            ("free", buffer)
    ("malloc_async", buffer, of, stream)              ("free_async", buffer, stream, used_by)
    ("write_value", stream, cell, value)              ("wait_value", stream, cell, value)
    ("set_cell", cell, value)                         ("wait_cell", cell, value)
    ("choose", number of options, their names)         ("concurrent", op, op)
    ("thread", thread, fn, args)                      ("join", thread)
    ("acquire", lock)                                 ("release", lock)
    ("put", queue, item)                              ("get", queue)

`reads` is a tuple of (region, expected version or None); `writes` of (region, version), where a
region as the version means "what that region holds"; `pairs` of (destination, source).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .memory import Region
    from .where import Where

Call = tuple[Any, ...]
Reads = tuple[tuple["Region", Any], ...]

OPERATIONS = frozenset({"launch", "host_func", "memcpy_async", "memset_async", "graph_launch"})
"""Verbs whose result is the operation that they issued."""


class Reading(Protocol):
    """Who carries out the calls. One host thread has one reading at a time.

    `thread` is the host thread's index and `made` counts the objects that it has created: together
    they give an object the same identity in every trace.
    """

    thread: int
    made: int
    allowed: str | None

    def call(self, call: Call) -> Any:
        """Carry out one call and return its result."""

    def mark(self, what: str, value: object) -> None:
        """Note something that is not a call: a step begins, waits are allowed or no longer."""


class Editor(Protocol):
    """Who changes the calls of a protocol on their way to the reading (see `repair`)."""

    @property
    def here(self) -> Where:
        """Where the call stands that is carried out."""
        ...

    def call(self, call: Call) -> Any:
        """Carry out one call, edited; its result."""

    def step(self, step: object) -> None:
        """A step begins, or the loop has ended (None)."""

    def end(self) -> None:
        """The host thread returns."""
