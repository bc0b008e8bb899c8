"""A plan for the eye: figures about it, a text for the terminal, a picture for a report.

Thread groups are the lines, work items stand on them in the order they run, and their length
is the number of keys they read. Every cluster repeats the same lines for other heads, so only
the first is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING, NamedTuple

from ..model.errors import CannotRunHere

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .planner import Plan

BAR = 24
"""Characters of the longest bar in the text."""

PANEL = 56
"""Thread groups that stand under each other in a picture before the next panel begins."""

HUES = ("#1f6fb4", "#e07b1a", "#2f9a4c", "#c2385d", "#7a58b8", "#8a6a4f", "#159a9c", "#a0a024")
"""Colours of the batch rows; the ninth row has the first one again."""


class Item(NamedTuple):
    """One line of `work_info`, named: tile `tile` of row `row`, counted by query."""

    row: int
    tile: int
    queries: int
    partial: int | None
    pages: int
    head: int

    @property
    def label(self) -> str:
        """`row.tile`, and `*n` for a piece that writes partial tile n."""
        return f"{self.row}.{self.tile}" + ("" if self.partial is None else f"*{self.partial}")


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """A plan read back from its arrays.

    `work` holds each thread group's items. `partials` counts partial tiles, which all heads
    share; `merges` counts the tiles that the reduce kernel puts together.
    """

    work: list[list[Item]]
    heads: int
    tiles: int
    split: int
    partials: int
    merges: int

    @property
    def clusters(self) -> int:
        """Sets of thread groups that work alike, each for its own heads."""
        return gcd(self.heads, len(self.work)) if self.heads else 1

    @property
    def cluster(self) -> list[list[Item]]:
        """The thread groups of the first cluster."""
        return self.work[: len(self.work) // self.clusters]

    @property
    def loads(self) -> list[int]:
        """Keys (pages) that each thread group reads."""
        return [sum(item.pages for item in items) for items in self.work]

    @property
    def balance(self) -> float:
        """Mean load over greatest load: 1 when no group waits for another."""
        loads = self.loads
        return sum(loads) / len(loads) / max(loads) if any(loads) else 1.0


def summarise_plan(plan: Plan) -> PlanSummary:
    """Read a plan's arrays back into work items and counts."""
    bounds: list[int] = plan["work_indptr"].tolist()
    info: list[list[int]] = plan["work_info"][: bounds[-1]].tolist()
    slots = {loc: n for n, loc in enumerate(sorted({line[1] for line in info} - {-1}))}
    starts: dict[int, list[int]] = {}
    for row, start in sorted({(line[0], line[2]) for line in info}):
        starts.setdefault(row, []).append(start)
    number = {(row, start): n for row, own in starts.items() for n, start in enumerate(own)}
    words = sorted({line[7] for line in info}, key=lambda word: word & 0xFFFF)
    heads = {word: n for n, word in enumerate(words)}
    items = [
        Item(
            row,
            number[row, start],
            end - start,
            slots.get(loc),
            max(0, kv_end - kv_start),
            heads[word],
        )
        for row, loc, start, end, kv_start, kv_end, _, word in info
    ]
    return PlanSummary(
        work=[items[lo:hi] for lo, hi in pairwise(bounds)],
        heads=len(heads),
        tiles=len(number),
        split=len({(item.row, item.tile) for item in items if item.partial is not None}),
        partials=len(slots),
        merges=len({*plan["reduce_indptr"].tolist()}) - 1,
    )


def describe_plan(plan: Plan, *, limit: int = 40) -> str:
    """Describe a plan in text: its size, its load balance, and each thread group's work.

    Shows up to `limit` groups of the first cluster, and of a group the items of one head.
    """
    summary = summarise_plan(plan)
    shown = summary.cluster[:limit]
    lines = [*_headings(summary), "", f"{'group':>7} {'pages':>11}  work"]
    longest = max(summary.loads, default=0) or 1
    for group, items in enumerate(shown):
        load = summary.loads[group]
        bar = "#" * round(BAR * load / longest)
        labels = " ".join(item.label for item in items if item.head == items[0].head)
        lines.append(f"{group:>7} {load:>11,}  {bar:<{BAR}}  {labels}".rstrip())
    if rest := len(summary.cluster) - len(shown):
        lines.append(f"        and {rest} more groups")
    return "\n".join(lines)


def _headings(summary: PlanSummary) -> list[str]:
    clusters, loads = summary.clusters, summary.loads
    heads = _count(summary.heads // clusters, "head")
    alike = "" if clusters == 1 else " each; all work alike, the first is shown"
    work = (
        f"{_count(sum(map(len, summary.work)), 'item')} for {_count(summary.heads, 'head')} "
        f"on {_count(len(loads), 'thread group')}"
    )
    tiles = (
        f"{summary.tiles:,} (row.tile), {summary.split:,} of them split "
        f"into {_count(summary.partials, 'partial')} (row.tile*partial)"
    )
    load = (
        f"{min(loads):,} to {max(loads):,} pages of keys a group, "
        f"{summary.balance:.1%} balanced, {loads.count(0)} idle"
    )
    groups = f"{_count(clusters, 'cluster')} of {len(loads) // clusters} with {heads}{alike}"
    return [f"work    {work}", f"groups  {groups}", f"tiles   {tiles}", f"load    {load}"]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def draw_plan(plan: Plan, path: str | Path, *, title: str = "") -> None:
    """Draw a plan to a file; its suffix (.png, .svg, .pdf) says the format.

    A row of the batch has a hue and its tiles are shades of it. Hatched items are pieces of
    split tiles, and a diamond is an item without keys.

    Raises:
        CannotRunHere: When matplotlib is missing.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise CannotRunHere(
            "a picture of a plan needs matplotlib: pip install 'streamorder[plot]'"
        ) from error
    summary = summarise_plan(plan)
    panels = -(-len(summary.cluster) // PANEL)
    lines = -(-len(summary.cluster) // panels)
    width = 12 if panels == 1 else 4 * panels
    figure = Figure(figsize=(width, 0.25 * lines + 2.2), dpi=130, layout="constrained")
    for panel, axes in enumerate(figure.subplots(1, panels, sharex=True, squeeze=False)[0]):
        shown = range(panel * lines, min((panel + 1) * lines, len(summary.cluster)))
        _draw_panel(axes, summary, shown, inches=0.93 * width / panels)
    _decorate(figure, summary, title)
    figure.savefig(path)


def _draw_panel(axes: Axes, summary: PlanSummary, shown: range, *, inches: float) -> None:
    """Draw the thread groups `shown`, on axes so many inches wide."""
    longest = max(summary.loads) or 1
    placed = list(_place(summary, shown))
    for group, left, item in placed:
        if item.pages / longest * inches > 0.062 * (len(item.label) + 1):
            _draw_label(axes, left + item.pages / 2, group, item)
        if not item.pages:
            axes.plot(left, group, "D", color=_shade(item.row, 1), markersize=4, zorder=3)
    for split in (False, True):
        chosen = [place for place in placed if split == (place[2].partial is not None)]
        _draw_boxes(axes, chosen, _tallies(summary), split=split)
    axes.set_xlim(0, longest * 1.01)
    axes.set_ylim(shown.start + max(len(shown), 1) - 0.4, shown.start - 0.6)
    axes.set_xlabel("pages of keys, in working order")
    axes.spines[["top", "right"]].set_visible(False)


def _place(summary: PlanSummary, shown: range) -> Iterator[tuple[int, int, Item]]:
    """Yield each item with its group and the pages its group reads before it."""
    for group in shown:
        left = 0
        for item in summary.cluster[group]:
            yield group, left, item
            left += item.pages


def _draw_boxes(
    axes: Axes, placed: list[tuple[int, int, Item]], tallies: dict[int, int], *, split: bool
) -> None:
    """Draw the pieces of split tiles, or whole tiles, as one collection: it is much faster."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    axes.add_collection(
        PatchCollection(
            [Rectangle((left, group - 0.42), item.pages, 0.84) for group, left, item in placed],
            facecolor=[
                _shade(item.row, item.tile / max(tallies[item.row] - 1, 1)) for *_, item in placed
            ],
            edgecolor="#222222" if split else "white",
            hatch="////" if split else None,
            linewidth=0.5,
        )
    )


def _draw_label(axes: Axes, x: float, group: int, item: Item) -> None:
    plate = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85}
    axes.text(x, group, item.label, ha="center", va="center", fontsize=7, bbox=plate)


def _decorate(figure: Figure, summary: PlanSummary, title: str) -> None:
    from matplotlib.patches import Patch

    lines = [*([title] if title else []), *_headings(summary)]
    figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=9, family="monospace")
    figure.supylabel("thread group", fontsize=9)
    rows = sorted(_tallies(summary))
    patches = [Patch(color=_shade(row, 0.3), label=f"row {row}") for row in rows[: len(HUES)]]
    if len(rows) > len(HUES):
        patches = [Patch(color="none", label=f"{len(rows)} rows, hues repeat")]
    label = "piece of a split tile"
    patches.append(Patch(facecolor="white", edgecolor="#222222", hatch="////", label=label))
    figure.legend(handles=patches, loc="outside lower center", ncols=len(patches), fontsize=8)


def _tallies(summary: PlanSummary) -> dict[int, int]:
    """Tiles of each row."""
    tallies: dict[int, int] = {}
    for items in summary.cluster:
        for item in items:
            tallies[item.row] = max(tallies.get(item.row, 0), item.tile + 1)
    return tallies


def _shade(row: int, depth: float) -> tuple[float, float, float]:
    """Return the hue of a row, paler for its first tiles; `depth` runs from 0 to 1."""
    hue = HUES[row % len(HUES)]
    pale = 0.65 * (1 - depth)
    red, green, blue = (int(hue[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return (red + (1 - red) * pale, green + (1 - green) * pale, blue + (1 - blue) * pale)
