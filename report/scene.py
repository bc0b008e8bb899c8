"""A scene: one missing edge as everything that a picture of it needs, worked out once.

Lanes in the order in which they are drawn, the events, the order among them, what memory holds
after each, and the two events that nothing orders. Renderers only place and write it.
"""

from __future__ import annotations

import linecache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.errors import BadInput

if TYPE_CHECKING:
    from ..model.trace import Event
    from ..model.verdict import MissingEdge, Verdict
    from ..model.where import Where

NOTHING = "nothing"
"""What memory holds that no event has written."""


class Lane(NamedTuple):
    """A host thread or a stream."""

    name: str
    on_host: bool


class Memory(NamedTuple):
    """A region: what identifies it, its names (several where an address was used again), and the
    version that it holds before the first event and after each.
    """

    key: Any
    names: tuple[str, ...]
    versions: tuple[str, ...]

    @property
    def name(self) -> str:
        """All its names."""
        return " = ".join(self.names)


class Scene(NamedTuple):
    """One missing edge, ready to be drawn.

    - `title` names protocol, parameters and contract; `number` counts missing edges from 1, `of` is
      how many there are;
    - `edges` are pairs of event numbers on different lanes, the first directly before the second;
    - `ordered` is false where the order among the events is not known: then there are no `edges`;
    - `missing` are the two events that nothing orders, in the order that is missing; None where the
      fault is another; `region` is what they access.
    """

    title: str
    number: int
    of: int
    kind: str
    sentence: str
    consequence: str | None
    lanes: tuple[Lane, ...]
    events: tuple[Event, ...]
    edges: tuple[tuple[int, int], ...]
    ordered: bool
    missing: tuple[int, int] | None
    region: str | None
    memory: tuple[Memory, ...]


def scenes(verdict: Verdict) -> list[Scene]:
    """Every missing edge of a verdict as a scene; none where nothing is refuted."""
    found = verdict.missing_edges
    return [scene(verdict, edge, number) for number, edge in enumerate(found, 1)]


def scene(verdict: Verdict, edge: MissingEdge, number: int) -> Scene:
    """One missing edge as a scene."""
    events = (*edge.counterexample, *edge.aftermath)
    return Scene(
        title=title(verdict),
        number=number,
        of=len(verdict.missing_edges),
        kind=edge.kind,
        sentence=edge.sentence,
        consequence=None if edge.ordered else edge.consequence,
        lanes=lanes(events),
        events=events,
        edges=tuple((before, e.number) for e in events for before in e.after or ()),
        ordered=all(event.after is not None for event in events),
        missing=edge.marks,
        region=edge.region,
        memory=memory(events),
    )


def run_scene(name: str, events: tuple[Event, ...], steps: int) -> Scene:
    """A run in which nothing is wrong, or nothing is said of it."""
    count = f"{steps} step{'s' * (steps > 1)}"
    return Scene(
        title=name,
        number=1,
        of=1,
        kind=f"a run of {count}",
        sentence=(
            "One interleaving that may happen: every operation is carried out as soon as it is "
            "issued. Arrows say what happens before what on another lane."
        ),
        consequence=None,
        lanes=lanes(events),
        events=events,
        edges=tuple((before, e.number) for e in events for before in e.after or ()),
        ordered=True,
        missing=None,
        region=None,
        memory=memory(events),
    )


def title(verdict: Verdict) -> str:
    """Protocol, parameters and contract."""
    given = "".join(f" --{name} {value}" for name, value in verdict.parameters.items())
    return f"{verdict.name}{given} under {verdict.contract}"


def lane_of(event: Event) -> Lane:
    """The lane of an event."""
    return Lane(event.lane, event.on_host)


def lanes(events: tuple[Event, ...]) -> tuple[Lane, ...]:
    """Host threads first, then streams, each in the order of their first events."""
    found = dict.fromkeys(map(lane_of, events))
    return tuple(sorted(found, key=lambda lane: not lane.on_host))


def memory(events: tuple[Event, ...]) -> tuple[Memory, ...]:
    """What each region holds before the first event and after each, in order of first use."""
    names: dict[Any, list[str]] = {}
    for event in events:
        for touch in event.touches:
            known = names.setdefault(key(touch), [])
            if touch.region not in known:
                known.append(touch.region)
    holds = dict.fromkeys(names, NOTHING)
    history = [dict(holds)]
    for event in events:
        holds.update((key(touch), touch.version) for touch in event.touches if touch.writes)
        history.append(dict(holds))
    return tuple(
        Memory(which, tuple(called), tuple(moment[which] for moment in history))
        for which, called in names.items()
    )


def key(touch: Any) -> Any:
    """What identifies the memory of an access."""
    return touch.region if touch.memory < 0 else touch.memory


def source_line(where: Where | None) -> str:
    """The text of a source line; empty where the file is not there any more."""
    return linecache.getline(where.filename, where.line).strip() if where else ""


def readable(one: Scene, *, most_lanes: int, most_events: int, form: str) -> Scene:
    """The scene, if a person could read it; raises `BadInput` with what to narrow if not."""
    advice = "check fewer steps, slots, layers or threads, or use --json or --perfetto"
    if len(one.lanes) > most_lanes:
        raise BadInput(
            f"{one.title}: {len(one.lanes)} lanes are too many for {form} (at most {most_lanes}): "
            f"{advice}"
        )
    if len(one.events) > most_events:
        raise BadInput(
            f"{one.title}: {len(one.events)} events are too many for {form} (at most "
            f"{most_events}): {advice}"
        )
    return one
