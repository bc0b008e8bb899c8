"""Figures of simulated runs: tables and data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..sim.device import Device

SIDE_BY_SIDE = 3
"""So many protocols get a column each; more get a line each."""

Figures = dict[str, float]
"""The figures of one run, by the words of the table."""


def table(rows: dict[str, list[Figures]]) -> str:
    """A line a figure, a column a protocol; of two the change, on the same random numbers. Of many
    protocols a line each.
    """
    labels = list(dict.fromkeys(label for runs in rows.values() for run in runs for label in run))
    if len(rows) > SIDE_BY_SIDE:
        labels = [label for label in labels if not label.endswith("busy (%)")]
        lines = wrapped(labels)
        lines += [[name, *shown(runs, labels)] for name, runs in rows.items()]
        return aligned(lines)
    columns = [[name, *shown(runs, labels)] for name, runs in rows.items()]
    if len(rows) == 2:
        first, second = rows.values()
        columns.append(["change", *changes(first, second, labels)])
    return aligned([list(line) for line in zip(["", *labels], *columns, strict=True)])


def wrapped(labels: list[str]) -> list[list[str]]:
    """A head of several lines, so that columns stay narrow; labels end on the last one."""
    from textwrap import wrap

    parts = [wrap(label.strip(), 12, break_long_words=False) for label in labels]
    height = max(map(len, parts))
    padded = [[""] * (height - len(part)) + part for part in parts]
    return [["", *line] for line in zip(*padded, strict=True)]


def shown(runs: list[Figures], labels: list[str]) -> list[str]:
    """The means of figures, with their intervals."""
    from ..sim.replicates import estimate

    return [estimate([run.get(label, 0.0) for run in runs]).shown() for label in labels]


def changes(first: list[Figures], second: list[Figures], labels: list[str]) -> list[str]:
    """Relative changes of figures, with their intervals; none from 0."""
    from ..sim.replicates import change

    found = []
    for label in labels:
        before = [run.get(label, 0.0) for run in first]
        after = [run.get(label, 0.0) for run in second]
        if any(value == 0 for value in before):
            found.append("")
            continue
        by = change(before, after)
        found.append(f"{by.mean:+.2%}" + ("" if by.half is None else f" ± {by.half:.2%}"))
    return found


def aligned(lines: list[list[str]]) -> str:
    """A table: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = []
    for first, *others in lines:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        text.append("  ".join([first.ljust(widths[0]), *cells]).rstrip())
    return "\n".join(text)


def as_data(
    rows: dict[str, list[Figures]], device: Device, seed: int, parameters: dict[str, Any]
) -> dict[str, Any]:
    """Everything as plain data."""
    from ..sim.replicates import estimate

    return {
        "device": device.name,
        "seed": seed,
        "parameters": parameters,
        "protocols": [
            {
                "name": name,
                "runs": [{label.strip(): value for label, value in run.items()} for run in runs],
                "mean": {
                    label.strip(): estimate([run.get(label, 0.0) for run in runs])._asdict()
                    for label in runs[0]
                },
            }
            for name, runs in rows.items()
        ],
    }
