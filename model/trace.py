"""The counterexample as plain data: what every renderer starts from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .objects import Handle

if TYPE_CHECKING:
    from collections.abc import Callable

    from .calls import Call
    from .where import Where


class Touch(NamedTuple):
    """An access in an event: which region, load or store, the version, and what was expected.

    `memory` is a number that regions of one address share, whatever their names.
    """

    region: str
    writes: bool
    version: str
    expected: str | None = None
    memory: int = -1

    @property
    def wrong(self) -> bool:
        """Whether a read found another version than it expects."""
        return self.expected is not None and self.version != self.expected


class Lanes:
    """The names of the host threads and streams of one counterexample, in the order in which they
    are met: a number tells those of one name apart, which would look like one.
    """

    def __init__(self) -> None:
        self.names: dict[Handle, str] = {}

    def name(self, lane: Handle) -> str:
        """The name of a host thread or a stream."""
        if lane not in self.names:
            same = sum(
                type(other) is type(lane) and other.name == lane.name for other in self.names
            )
            self.names[lane] = f"{lane.name}#{same + 1}" if same else lane.name
        return self.names[lane]


class Event(NamedTuple):
    """One thing that happens in a counterexample.

    - `number` counts from 1; `lane` is a host thread or a stream, `on_host` which of the two;
    - `verb` is `call` (a host thread makes or finishes a call) or `run` (a stream executes an
      operation); `label` names it, `step` is the step it belongs to;
    - `role` marks the accesses that lack an order: `first`, `second` or None;
    - `after` numbers the events that happen directly before it on other lanes: together with the
      order of each lane they are the happens-before order. None where the machine's own path is
      shown, whose order is not known beyond that it can happen so.
    """

    number: int
    lane: str
    on_host: bool
    verb: str
    label: str
    step: int | None
    touches: tuple[Touch, ...]
    where: Where | None
    role: str | None = None
    after: tuple[int, ...] | None = None

    def as_data(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return {
            "index": self.number,
            "lane": self.lane,
            "verb": self.verb,
            "label": self.label,
            "step": self.step,
            "file": self.where.file if self.where else None,
            "line": self.where.line if self.where else None,
            "role": self.role,
            "after": None if self.after is None else list(self.after),
            "accesses": [
                {
                    "region": touch.region,
                    "mode": "write" if touch.writes else "read",
                    "version": touch.version,
                    "expected": touch.expected,
                    "memory": touch.memory,
                }
                for touch in self.touches
            ],
        }


METHODS = {
    "record": "{0}.record({1})",
    "wait": "{0}.wait({1})",
    "synchronize_event": "{0}.synchronize()",
    "synchronize_stream": "{0}.synchronize()",
    "synchronize_device": "gpu.synchronize()",
    "query": "{0}.query()",
    "poll": "{0}.poll()",
    "destroy": "{0}.destroy()",
    "thread": "start {0}",
    "join": "{0}.join()",
    "acquire": "{0}.acquire()",
    "release": "{0}.release()",
    "get": "{0}.get()",
    "choose": "choose",
    "concurrent": "concurrent",
    "capture": "capture({0}) as {1}",
    "end_capture": "end of capture({0}) as {1}",
    "graph_launch": "{0}.launch({1})",
    "malloc": "malloc({0})",
    "free": "free({0})",
    "malloc_async": "malloc_async({0})",
    "free_async": "free_async({0}, {1})",
}


def described(call: Call, result: object = None) -> str:
    """A call in the words of the API, with the result of a choice or a query if it is known."""
    verb = call[0]
    if verb == "choose" and result is not None:
        return f"choose → {call[2][result]!r}"
    if verb == "query" and result is not None:
        return f"{call[1]}.query() → {result}"
    if verb in METHODS:
        handles = [part for part in call[1:] if isinstance(part, Handle)]
        return METHODS[verb].format(*handles)
    return WORDS[verb](call)


def copied(call: Call) -> str:
    """A copy: what it moves, and on which stream."""
    dst, src = named(p[0] for p in call[1]), named(p[1] for p in call[1])
    return f"{call[0]}({dst}, {src}{', ' + call[2].name if call[0] == 'memcpy_async' else ''})"


def filled(call: Call) -> str:
    """A fill: what it writes, and on which stream."""
    stream = f", {call[3].name}" if call[0] == "memset_async" else ""
    return f"{call[0]}({named(call[1])}, {call[2]!r}{stream})"


def posted(call: Call) -> str:
    """A post of an agent."""
    touched = [region for region, _version in (*call[3], *call[4])]
    return f"{call[1]}.{'write' if call[4] else 'read'}({named(touched)})"


WORDS: dict[str, Callable[[Call], str]] = {
    "launch": lambda call: f"launch({call[2]}, {call[1]})",
    "host_func": lambda call: f"host_func({call[2]}, {call[1]})",
    "memcpy": copied,
    "memcpy_async": copied,
    "memset": filled,
    "memset_async": filled,
    "write": lambda call: f"write({named(call[1])}, {call[2]!r})",
    "read": lambda call: f"read({named(region for region, _expected in call[1])})",
    "put": lambda call: f"{call[1]}.put({call[2]!r})",
    "write_value": lambda call: f"write_value({call[1]}, {call[2]}, {call[3]})",
    "wait_value": lambda call: f"wait_value({call[1]}, {call[2]}, {call[3]})",
    "set_cell": lambda call: f"{call[1]}.set({call[2]})",
    "wait_cell": lambda call: f"{call[1]}.wait({call[2]})",
    "post": posted,
}


def named(regions: Any) -> str:
    """Regions in few words: the buffer where all its parts are meant."""
    listed = list(regions)
    buffer = listed[0].buffer
    whole = len(listed) > 1 and listed == list(buffer.regions)
    return buffer.name if whole else ", ".join(repr(region) for region in listed)
