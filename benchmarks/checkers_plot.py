# ruff: noqa: INP001 - scripts, run from a checkout and never installed
"""The comparison with other checkers as a picture: small multiples, seconds over steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checkers_page import series, title

if TYPE_CHECKING:
    from pathlib import Path

CURVES = (
    ("order", "order", "seconds", "#0b6e4f", "-"),
    ("whole command", "command", "seconds", "#0b6e4f", "--"),
    ("pan (gcc -O2)", "spin-gcc", "search", "#b3391f", "-"),
    ("SPIN with tcc", "spin-tcc", "seconds", "#b3391f", "--"),
    ("SPIN with gcc -O2", "spin-gcc", "seconds", "#b3391f", ":"),
    ("TLC", "tlc", "seconds", "#3a5a98", "-"),
    ("machine", "machine", "seconds", "#8a6d00", "-"),
    ("minicheck", "minicheck", "seconds", "#777777", "-"),
)
"""A curve's name, the tool, which of its figures, colour and dash."""


def draw(results: dict[str, Any], path: Path) -> None:
    """Write the picture."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    keys = list(dict.fromkeys(series(row) for row in results["cells"]))
    layers = sorted({key[2] for key in keys})
    settings = list(dict.fromkeys(key[:2] for key in keys))
    figure, axes = plt.subplots(
        len(layers), len(settings), figsize=(3.1 * len(settings) + 1, 2.6 * len(layers) + 1.2),
        sharex=True, sharey=True, squeeze=False,
    )  # fmt: skip
    for at, layer in enumerate(layers):
        for column, setting in enumerate(settings):
            rows = [row for row in results["cells"] if series(row) == (*setting, layer)]
            panel(axes[at][column], rows, title(*setting, layer), results["limit"])
    for axis in axes[-1]:
        axis.set_xlabel("steps")
    for line in axes:
        line[0].set_ylabel("seconds")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=len(CURVES) // 2, frameon=False)
    figure.tight_layout(rect=(0, 0.11, 1, 1))
    figure.savefig(path)
    plt.close(figure)


def panel(axis: Any, rows: list[dict[str, Any]], name: str, limit: float) -> None:
    """One series; a cross marks where a tool has run out of time or memory."""
    axis.set_title(name, fontsize=8)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.axhline(limit, color="#cccccc", linewidth=0.8)
    axis.tick_params(labelsize=7)
    for label, tool, figure, colour, dash in CURVES:
        points = [point(row, tool, figure) for row in rows]
        kept = [(row["steps"], p) for row, p in zip(rows, points, strict=True) if p is not None]
        axis.plot(
            [x for x, _y in kept], [y for _x, y in kept], dash, color=colour, label=label,
            linewidth=1.3, marker=".", markersize=4,
        )  # fmt: skip
        out = [row["steps"] for row in rows if tool != "command" and ran_out(row[tool])]
        axis.plot(out, [limit] * len(out), "x", color=colour, markersize=6)


def point(row: dict[str, Any], tool: str, figure: str) -> float | None:
    """A figure to draw."""
    one = row[tool]
    if tool == "command":
        return one
    return one[figure] if one["outcome"] == "HOLDS" else None


def ran_out(one: dict[str, Any]) -> bool:
    """Whether a tool ran out here."""
    return one["outcome"] in {"UNDETERMINED", "REFUSED"}
