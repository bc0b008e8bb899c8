"""A timed run as a Gantt plot (needs matplotlib: the extra `plot`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model.errors import BadInput, CannotRunHere

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .timeline import Met, Span

COLOURS = {"call": "#7f8c8d", "wait": "#e8d9b5", "kernel": "#2e6f9e", "copy": "#d1762b"}
"""What a bar means."""

OTHER, HAZARD = "#6a4c93", "#c0392b"
MANY = 400
"""From so many bars on a lane they touch: there is no room for edges."""

SUFFIXES = (".png", ".svg")


def pyplot() -> Any:
    """Matplotlib without a display; raises `CannotRunHere` where it is not installed."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise CannotRunHere("plots need matplotlib: pip install 'streamorder[plot]'") from None
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    return plt


def checked_path(path: Path) -> Path:
    """A file that a plot can be written to; raises `BadInput` for another kind."""
    if path.suffix not in SUFFIXES:
        raise BadInput(f"a plot goes to a file that ends with .png or .svg, not {path.name!r}")
    return path


def gantt(
    rows: Sequence[tuple[str, Sequence[Span], Sequence[Met]]],
    path: Path,
    window: tuple[float, float] | None = None,
) -> None:
    """Draw one or several runs under each other, a bar a span, over one axis of time.

    Args:
        rows: a title, the spans and the hazards met of each run.
        path: a `.png` or `.svg` file.
        window: the seconds to show; by default all.
    """
    plt = pyplot()
    lanes = [ordered(spans) for _title, spans, _mets in rows]
    heights = [max(2, len(each)) for each in lanes]
    figure, axes = plt.subplots(
        len(rows), 1, sharex=True, squeeze=False, layout="constrained",
        figsize=(11, 1.2 + 0.55 * sum(heights)), gridspec_kw={"height_ratios": heights},
    )  # fmt: skip
    scale, unit = scale_of(rows, window)
    for axis, (title, spans, mets), own in zip(axes[:, 0], rows, lanes, strict=True):
        axis.set_title(title, loc="left", fontsize=10)
        last = max((span.end for _title, each, _mets in rows for span in each), default=1.0)
        first, last = window or (0.0, last)
        axis.set_xlim(first * scale, last * scale)
        draw(axis, spans, mets, own, scale)
    axes[-1, 0].set_xlabel(f"simulated time ({unit})")
    legend(plt, figure)
    save(plt, figure, path)


def save(plt: Any, figure: Any, path: Path) -> None:
    """Write a figure: the same figure is the same file, whenever it is written."""
    with plt.rc_context({"svg.hashsalt": "streamorder"}):
        metadata = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(path, dpi=130, metadata=metadata)
    plt.close(figure)


def draw(
    axis: Any, spans: Sequence[Span], mets: Sequence[Met], lanes: list[str], scale: float
) -> None:
    """The bars of one run."""
    for at, lane in enumerate(lanes):
        for kind in dict.fromkeys(span.kind for span in spans if span.lane == lane):
            bars = [(span.start * scale, (span.end - span.start) * scale)
                    for span in spans if span.lane == lane and span.kind == kind]  # fmt: skip
            edge = 0.6 if len(bars) < MANY else 0
            colour = COLOURS.get(kind, OTHER)
            axis.broken_barh(
                bars, (at - 0.38, 0.76), facecolor=colour, edgecolor="white", linewidth=edge
            )
        for span in spans:
            if span.lane == lane and span.kind in {"kernel", "copy"}:
                name_bar(axis, span, at, scale)
    for met in mets:
        axis.axvline(met.seconds * scale, color=HAZARD, linewidth=0.9)
    axis.set_yticks(range(len(lanes)), lanes)
    axis.set_ylim(len(lanes) - 0.5, -0.5)
    axis.grid(axis="x", linewidth=0.3)
    axis.set_axisbelow(True)


def name_bar(axis: Any, span: Span, at: int, scale: float) -> None:
    """The kernel's name and step in its bar, if there is room."""
    left, right = axis.get_xlim()
    first, last = max(span.start * scale, left), min(span.end * scale, right)
    name = span.label.partition("(")[2].partition(",")[0] if "(" in span.label else span.label
    text = name if span.step is None else f"{name}, step {span.step}"
    if last - first > (right - left) * len(text) / 150:
        axis.text((first + last) / 2, at, text, ha="center", va="center", fontsize=7, color="white")


def ordered(spans: Sequence[Span]) -> list[str]:
    """Host threads first, then streams as they first appear."""
    lanes = dict.fromkeys(span.lane for span in spans)
    return sorted(lanes, key=lambda lane: not lane.startswith("host"))


def scale_of(
    rows: Sequence[tuple[str, Sequence[Span], Sequence[Met]]], window: tuple[float, float] | None
) -> tuple[float, str]:
    """Units a second, and the unit, for the seconds that are shown."""
    last = max((span.end for _title, spans, _mets in rows for span in spans), default=0.0)
    shown = window[1] - window[0] if window else last
    if shown < 5e-3:
        return 1e6, "µs"
    return (1e3, "ms") if shown < 5 else (1.0, "s")


def legend(plt: Any, figure: Any) -> None:
    """What the colours mean."""
    handles = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in COLOURS.values()]
    handles.append(plt.Line2D([0], [0], color=HAZARD))
    names = ["host call", "host waits", "kernel", "copy", "hazard met"]
    figure.legend(handles, names, loc="outside upper right", ncols=5, fontsize=8, frameon=False)
