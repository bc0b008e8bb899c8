"""A scene as a Mermaid sequence diagram, which GitHub and GitLab draw in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .drawing import accesses
from .scene import lane_of, readable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.trace import Event
    from .scene import Scene

MOST_LANES, MOST_EVENTS = 8, 60
"""Mermaid draws a diagram as wide and as long as it takes: past this nobody reads it."""

RED, AMBER = "rgb(253, 228, 225)", "rgb(255, 241, 214)"


def mermaid(scene: Scene) -> str:
    """The diagram's source.

    Events are notes over their lanes in the order in which they happen, `-->>` what happens before
    what on another lane, `--x` the order that is missing. Raises `BadInput` where it would be too
    large to read.
    """
    readable(scene, most_lanes=MOST_LANES, most_events=MOST_EVENTS, form="a sequence diagram")
    names = {lane: f"lane{at}" for at, lane in enumerate(scene.lanes)}
    lines = ["sequenceDiagram", f"  accTitle: {said(scene.title)}"]
    lines += [f"  participant {name} as {said(lane.name)}" for lane, name in names.items()]
    ends = dict.fromkeys(list(names.values())[:: max(len(names) - 1, 1)])
    name, _under, contract = scene.title.rpartition(" under ")
    head = "<br/>".join(said(part) for part in (name, f"under {contract}: {scene.kind}"))
    lines.append(f"  Note over {','.join(ends)}: {head}")
    by_number = {event.number: names[lane_of(event)] for event in scene.events}
    for event in scene.events:
        lines += [f"  {line}" for line in noted(event, by_number)]
    if scene.missing:
        first, second = scene.missing
        lines.append(
            f"  {by_number[first]}--x{by_number[second]}: "
            f"missing: nothing orders {first} before {second}"
        )
    return "\n".join([*lines, ""])


def noted(event: Event, names: dict[int, str]) -> Iterator[str]:
    """An event as a note, coloured where it matters, after arrows from what is directly before."""
    mine = names[event.number]
    for before in event.after or ():
        yield f"{names[before]}-->>{mine}: {before} before {event.number}"
    touched = accesses(event)
    text = "<br/>".join(said(line) for line in (f"{event.number} {event.label}", *touched))
    note = f"Note over {mine}: {text}"
    if not touched and event.role is None:
        yield note
        return
    yield from (f"rect {RED if event.role else AMBER}", f"  {note}", "end")


def said(text: str) -> str:
    """A text without the characters that Mermaid takes for its own."""
    codes = {"#": "#35;", ";": "#59;", "<": "#lt;", ">": "#gt;", "\n": " "}
    return "".join(codes.get(character, character) for character in text)
