"""The counterexample as plain data: what every renderer starts from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .objects import Handle

if TYPE_CHECKING:
    from .gpu import Call
    from .where import Where


class Touch(NamedTuple):
    """An access in an event: which region, load or store, the version, and what was expected."""

    region: str
    writes: bool
    version: str
    expected: str | None = None

    @property
    def wrong(self) -> bool:
        """Whether a read found another version than it expects."""
        return self.expected is not None and self.version != self.expected


class Event(NamedTuple):
    """One thing that happens in a counterexample.

    - `number` counts from 1; `lane` is a host thread or a stream, `on_host` which of the two;
    - `verb` is `call` (a host thread makes or finishes a call) or `run` (a stream executes an
      operation); `label` names it, `step` is the step it belongs to;
    - `role` marks the accesses that lack an order: `first`, `second` or None.
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
            "accesses": [
                {
                    "region": touch.region,
                    "mode": "write" if touch.writes else "read",
                    "version": touch.version,
                    "expected": touch.expected,
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
}


def described(call: Call) -> str:
    """A call in the words of the API."""
    verb = call[0]
    if verb in METHODS:
        return METHODS[verb].format(*(part for part in call[1:] if isinstance(part, Handle)))
    if verb == "launch":
        return f"launch({call[2]}, {call[1]})"
    if verb in {"memcpy", "memcpy_async"}:
        dst, src = named(p[0] for p in call[1]), named(p[1] for p in call[1])
        return f"{verb}({dst}, {src}{', ' + call[2].name if verb == 'memcpy_async' else ''})"
    if verb in {"memset", "memset_async"}:
        return (
            f"{verb}({named(call[1])}, {call[2]!r}{', ' + call[3].name if len(call) > 3 else ''})"
        )
    if verb == "write":
        return f"write({named(call[1])}, {call[2]!r})"
    if verb == "read":
        return f"read({named(region for region, _expected in call[1])})"
    return f"{call[1]}.put({call[2]!r})"


def named(regions: Any) -> str:
    """Regions in few words: the buffer where all its parts are meant."""
    listed = list(regions)
    buffer = listed[0].buffer
    whole = len(listed) > 1 and listed == list(buffer.regions)
    return buffer.name if whole else ", ".join(repr(region) for region in listed)
