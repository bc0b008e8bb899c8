# ruff: noqa: INP001 - a script, run from a checkout and never installed
"""The plots of docs/simulation.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from serving_cells import PROTOCOLS, SEED, dummy_cells, experiment

from streamorder.sim.gantt import gantt, pyplot, save
from streamorder.sim.serving import serve
from streamorder.sim.serving_model import load_model
from streamorder.sim.timeline import Timeline

if TYPE_CHECKING:
    from pathlib import Path

    from serving_page import Data


def sweep_plot(data: Data, path: Path) -> None:
    """Throughput over clients: published, simulated, interpolated."""
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(8, 4.8), layout="constrained")
    shapes = dict.fromkeys(row["cell"].partition(" @ ")[0] for row in data["real-weights"])
    for shape, colour in zip(shapes, ("#2e6f9e", "#d1762b", "#6a4c93"), strict=True):
        rows = [r for r in data["real-weights"] if r["cell"].startswith(shape)]
        fitted = [r for r in rows if r["fitted"]]
        clients = [r["concurrency"] for r in rows]
        axis.plot(clients, [r["simulated"] for r in rows], color=colour, label=f"{shape} simulated")
        axis.plot([r["concurrency"] for r in fitted], [r["published"] for r in fitted], ":",
                  color=colour, linewidth=1, label="log-linear interpolation")  # fmt: skip
        for row in rows:
            face = colour if row["fitted"] else "white"
            axis.plot(row["concurrency"], row["published"], "o", color=colour, markerfacecolor=face)
    axis.plot([], [], "o", color="black", label="published, fitted")
    axis.plot([], [], "o", color="black", markerfacecolor="white", label="published, predicted")
    axis.set_xscale("log", base=2)
    axis.set_xticks([4, 8, 16, 32, 64, 128, 256], ["4", "8", "16", "32", "64", "128", "256"])
    axis.set_xlabel("clients")
    axis.set_ylabel("output tok/s")
    axis.set_ylim(0)
    axis.grid(linewidth=0.3)
    handles = dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True))
    axis.legend(handles.values(), handles.keys(), fontsize=8)
    save(plt, figure, path)


def opening_plot(path: Path) -> None:
    """How serving opens: a plan update beside the first prefill, unpatched and staged."""
    cell, model = dummy_cells()[1]._replace(prompts=32), load_model("dummy-weights")
    window = (0.335, 0.385)
    rows = []
    for protocol in PROTOCOLS:
        timeline = Timeline(window)
        serve(experiment(cell, model, protocol), SEED, watch=timeline)
        rows.append((protocol, timeline.spans, timeline.mets))
    gantt(rows, path, window)
