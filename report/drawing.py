"""A scene as SVG: lanes side by side, time downwards, the two accesses and the missing edge in red.

Every element carries a class, and every event its number, so that the stepper's page can show and
hide parts of the same drawing.
"""

from __future__ import annotations

from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from .lanes import Row, access, fold, place
from .scene import lane_of, readable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.trace import Event
    from .scene import Lane, Memory, Scene

MOST_LANES, MOST_EVENTS, MOST_ROWS = 9, 400, 70
"""What fits on a screen: a picture with more is refused."""

CHARACTER = 6.7
"""Pixels a character of the 11-pixel monospaced face takes; a little more than any face does."""

ROW, BOX, GUTTER, TOP = 30, 22, 64, 26
NARROWEST, WIDEST, NARROWEST_PICTURE = 110, 330, 420.0
MOST_MEMORIES = 4
HELD = (70, 160)
"""The narrowest and the widest column of versions."""

STYLE = """
svg.scene { font: 11px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
.scene .paper { fill: #ffffff; }
.scene .lane { stroke: #d5dbe3; stroke-width: 1; }
.scene .head { font-weight: bold; fill: #1d2733; }
.scene .number, .scene .times { fill: #6b7785; }
.scene .memory-head { fill: #44505c; }
.scene .held { fill: #6b7785; }
.scene .held.changed { fill: #1d2733; font-weight: bold; }
.scene .event rect { fill: #eef2f7; stroke: #b3bfcc; }
.scene .event.run rect { fill: #e3f1e7; stroke: #8fbf9f; }
.scene .event text { fill: #1d2733; }
.scene .event.marked rect { fill: #fde4e1; stroke: #c62828; stroke-width: 1.6; }
.scene .event.wrong rect { fill: #fff1d6; stroke: #b26a00; stroke-width: 1.6; }
.scene .event .touch { fill: #8e1c1c; }
.scene .event.wrong .touch { fill: #7a4900; }
.scene .before { fill: none; stroke: #9aa7b5; stroke-width: 1; }
.scene .missing { fill: none; stroke: #c62828; stroke-width: 2; stroke-dasharray: 6 4; }
.scene .missing-word { fill: #c62828; font-weight: bold; }
.scene .said { fill: #1d2733; }
""".strip()

ARROWS = (
    '<defs><marker id="grey{0}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" '
    'markerHeight="6" orient="auto"><path d="M0 0 8 4 0 8z" fill="#9aa7b5"/></marker>'
    '<marker id="red{0}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" '
    'orient="auto"><path d="M0 0 8 4 0 8z" fill="#c62828"/></marker></defs>'
)


class Box(NamedTuple):
    """Where an event is drawn."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """Half-way down."""
        return self.y + self.height / 2


class Drawing:
    """One scene, placed.

    Args:
        scene: what to draw; refused with `BadInput` where nobody could read it.
        folded: groups of events that repeat are drawn once, with how often.
        words: the title above the lanes and the sentences below them.
        widest: pixels that the labels of a lane take at most; a marked access may take more.
    """

    def __init__(
        self, scene: Scene, *, folded: bool = True, words: bool = True, widest: int = WIDEST
    ) -> None:
        readable(scene, most_lanes=MOST_LANES, most_events=MOST_EVENTS, form="a picture")
        self.scene = scene
        self.words = words
        self.widest = widest
        self.rows = fold(scene.events) if folded else [Row(e, 1, "only") for e in scene.events]
        if folded:
            kept = scene._replace(events=tuple(row.event for row in self.rows))
            readable(kept, most_lanes=MOST_LANES, most_events=MOST_ROWS, form="a picture")
        self.drawn = shown_as(scene.events, self.rows)
        self.columns = self.place_lanes()
        self.memories = self.place_memories() if words else {}
        self.boxes: dict[int, Box] = {}
        self.place_rows()

    # --- places ---

    def place_lanes(self) -> dict[Lane, tuple[float, float]]:
        """Each lane's left edge and width: as wide as its labels, within limits."""
        placed: dict[Lane, tuple[float, float]] = {}
        x = float(GUTTER)
        for lane in self.scene.lanes:
            mine = [row.event for row in self.rows if lane_of(row.event) == lane]
            labels = max([len(lane.name) + 2, *(len(event.label) for event in mine)])
            touches = max(len(line) for event in mine for line in accesses(event) or [""])
            wanted = [min(labels * CHARACTER, self.widest), min(touches * CHARACTER, WIDEST)]
            width = max(*wanted, NARROWEST) + 14
            placed[lane] = (x, width)
            x += width + 34
        self.right = x - 34
        return placed

    def place_memories(self) -> dict[Memory, tuple[float, float]]:
        """Each column of versions: its left edge and width."""
        placed: dict[Memory, tuple[float, float]] = {}
        x = self.right + 24
        for memory in interesting(self.scene):
            needs = max(map(len, (memory.name, *memory.versions)))
            width = min(max(needs * CHARACTER + 20, HELD[0]), HELD[1])
            placed[memory] = (x, width)
            x += width
            self.right = x
        return placed

    def place_rows(self) -> None:
        """Each row's box, below one another."""
        y = float(TOP + 22 * self.words + 16)
        for row in self.rows:
            event = row.event
            x, width = self.columns[lane_of(event)]
            height = BOX + 13 * len(accesses(event))
            self.boxes[event.number] = Box(x, y, width, height)
            y += height + ROW - BOX
        self.bottom = y

    # --- the whole ---

    def svg(self, *, name: str = "", style: bool = True) -> str:
        """The picture as one `<svg>` element; `name` tells several on one page apart."""
        body = [*self.lane_lines(), *self.arrows(name), *self.events(), *self.held()]
        width = max(self.right + 24, NARROWEST_PICTURE)
        below = self.below(width) if self.words else []
        height = self.bottom + 16 * len(below) + 12
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="scene" role="img" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}">'
        )
        said = escape(f"{self.scene.title}: {self.scene.kind}", quote=False)
        parts = [head, f"<title>{said}</title>", f"<desc>{escape(self.scene.sentence)}</desc>"]
        parts += [f"<style>{STYLE}</style>"] if style else []
        parts += [ARROWS.format(name), f'<rect class="paper" width="{width:.0f}" height="100%"/>']
        if self.words:
            parts.append(words(14, 22, f"{self.scene.title}: {self.scene.kind}", "head"))
        for at, (kind, line) in enumerate(below):
            parts.append(words(14, self.bottom + 14 + 16 * at, line, kind))
        return "\n".join([*parts, *body, "</svg>", ""])

    def below(self, width: float) -> list[tuple[str, str]]:
        """The sentences under the lanes: each line with its class."""
        room = int((width - 28) / CHARACTER)
        legend = "- - ▶ the order that is missing" if self.scene.missing else ""
        said = [self.scene.sentence]
        said += [f"so {self.scene.consequence}"] if self.scene.consequence else []
        lines = [("missing-word", legend)] if legend else []
        return lines + [("said", line) for sentence in said for line in wrap(sentence, room)]

    # --- parts ---

    def lane_lines(self) -> Iterator[str]:
        """Each lane's name, and the line that its events stand on."""
        top = TOP + 22 * self.words
        for lane, (x, width) in self.columns.items():
            yield words(x + 7, top, lane.name, "head")
            middle = x + width / 2
            yield (
                f'<line class="lane" x1="{middle:.1f}" x2="{middle:.1f}" y1="{top + 8}" '
                f'y2="{self.bottom:.1f}"/>'
            )

    def events(self) -> Iterator[str]:
        """A box a row, its label and, where it matters, its accesses."""
        for row in self.rows:
            event, box = row.event, self.boxes[row.event.number]
            kinds = ["event", event.verb]
            kinds += ["marked"] if event.role else []
            kinds += ["wrong"] if not event.role and accesses(event) else []
            yield f'<g class="{" ".join(kinds)}" data-event="{event.number}">'
            yield f"<title>{escape(whole(event), quote=False)}</title>"
            yield (
                f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
                f'height="{box.height:.1f}" rx="4"/>'
            )
            lines = [event.label, *accesses(event)]
            for at, line in enumerate(lines):
                kind = "touch" if at else "label"
                yield words(box.x + 7, box.y + 15 + 13 * at, cut(line, box.width), kind)
            yield "</g>"
            yield words(30, box.y + 15, str(event.number), "number", "end")
            if row.times > 1:
                yield words(36, box.y + 15, repeats(row), "times")

    def arrows(self, name: str) -> Iterator[str]:
        """What is directly before what on other lanes; and the edge that is missing."""
        pairs = {(self.drawn[a], self.drawn[b]): None for a, b in self.scene.edges}
        for first, second in pairs:
            if first == second or self.boxes[first].y > self.boxes[second].y:
                continue
            yield (
                f'<path class="before" data-from="{first}" data-to="{second}" '
                f'd="{curve(self.boxes[first], self.boxes[second])}" '
                f'marker-end="url(#grey{name})"/>'
            )
        if self.scene.missing:
            first, second = (self.boxes[self.drawn[end]] for end in self.scene.missing)
            yield f'<path class="missing" d="{curve(first, second)}" marker-end="url(#red{name})"/>'

    def held(self) -> Iterator[str]:
        """What the regions that matter hold after each row, where a version changes."""
        top = TOP + 22 * self.words
        shows = {first: number for number, first in self.drawn.items()}
        for memory, (x, width) in self.memories.items():
            yield words(x, top, cut(memory.name, width), "memory-head")
            last = None
            for row in self.rows:
                held = memory.versions[shows[row.event.number]]
                kind = "held changed" if held != last else "held"
                yield words(x, self.boxes[row.event.number].y + 15, cut(held, width), kind)
                last = held


def shown_as(events: tuple[Event, ...], rows: list[Row]) -> dict[int, int]:
    """For each event's number, that of the event by which a fold shows it."""
    shown: dict[int, int] = {}
    at = 0
    while at < len(rows):
        period = next(
            size
            for size in range(1, len(rows) - at + 1)
            if rows[at + size - 1].place == place(size - 1, size)
        )
        group = rows[at : at + period]
        for again in range(group[0].times):
            for offset, row in enumerate(group):
                number = events[len(shown)].number
                assert again or number == row.event.number, offset
                shown[number] = row.event.number
        at += period
    return shown


def repeats(row: Row) -> str:
    """How often the group of a row repeats, at its first row; a line beside the others."""
    return f"{row.times}×" if row.place in {"only", "first"} else "┆"


def interesting(scene: Scene) -> list[Memory]:
    """The regions whose versions tell the story: the one that is raced for, and wrong reads'."""
    names = {} if scene.region is None else {scene.region: None}
    for event in scene.events:
        names.update({touch.region: None for touch in event.touches if touch.wrong})
    called = {name: memory for memory in scene.memory for name in memory.names}
    return list(dict.fromkeys(called[name] for name in names if name in called))[:MOST_MEMORIES]


def accesses(event: Event) -> list[str]:
    """What an event accesses, in words, where a reader must know."""
    wrong = [touch for touch in event.touches if touch.wrong]
    if event.role is None and not wrong:
        return []
    said = [access(touch) for touch in (wrong or event.touches)]
    return said if len(said) <= 3 else [*said[:2], f"and {len(said) - 2} more"]


def whole(event: Event) -> str:
    """An event in full, for a tooltip."""
    said = "; ".join(access(touch) for touch in event.touches)
    step = "" if event.step is None else f", step {event.step}"
    return f"{event.label} ({event.where}{step})" + (f": {said}" if said else "")


def cut(text: str, width: float) -> str:
    """A text that fits."""
    room = int((width - 12) / CHARACTER)
    return text if len(text) <= room else text[: room - 1] + "…"


def words(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    """A line of text."""
    end = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{end}>{escape(text, quote=False)}</text>'


def curve(first: Box, second: Box) -> str:
    """A line from one box to another: from side to side, or around on one lane."""
    a, b = first.middle, second.middle
    if first.x == second.x:
        x = first.x + first.width
        return f"M{x:.1f} {a:.1f} C{x + 26:.1f} {a:.1f} {x + 26:.1f} {b:.1f} {x:.1f} {b:.1f}"
    right = first.x < second.x
    x1 = first.x + first.width if right else first.x
    x2 = second.x if right else second.x + second.width
    bend = min(abs(x2 - x1) / 2, 60) * (1 if right else -1)
    return f"M{x1:.1f} {a:.1f} C{x1 + bend:.1f} {a:.1f} {x2 - bend:.1f} {b:.1f} {x2:.1f} {b:.1f}"
