# ruff: noqa: INP001 - scripts, run from a checkout and never installed
"""The comparison with other checkers as Markdown."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from table import table

if TYPE_CHECKING:
    from collections.abc import Iterator

Row = dict[str, Any]
HEAD = (
    "steps", "order", "whole command", "pan (tcc)", "SPIN with tcc", "pan (gcc)", "SPIN with gcc",
    "machine", "TLC", "minicheck", "SPIN / command",
)  # fmt: skip
MEMORY = ("steps", "order", "SPIN", "machine", "TLC", "minicheck", "states: SPIN", "machine", "TLC")


def markdown(results: dict[str, Any]) -> str:
    """Every figure of a run, in one page."""
    return "\n".join(lines(results)) + "\n"


def lines(results: dict[str, Any]) -> Iterator[str]:
    """The page line by line."""
    at = results["machine"]
    yield "# Beside other checkers"
    yield ""
    yield f"{at['date']}, {at['cpu']}, {at['cores']} cores, {at['system']}, {at['python']}."
    if at.get("load") is not None:
        yield f"Load average when it began: {at['load']:.1f}."
    yield f"Seconds; `> n` ran out of its {results['limit']:g} s (or of 8 GB), `-` was not run"
    yield "because it had run out with fewer steps. README.md says what each column is."
    yield ""
    yield from table(("start-up alone", "seconds"), start_rows(results["start"]))
    yield ""
    yield from summary(results["cells"])
    for (queues, threads, layers), group in groupby(results["cells"], key=series):
        rows = list(group)
        yield from ("", f"## {title(queues, threads, layers)}", "")
        yield from table(HEAD, (times(row) for row in rows))
        yield ""
        yield "Peak MB, and states:"
        yield ""
        yield from table(MEMORY, (sizes(row) for row in rows))


def start_rows(start: dict[str, float | None]) -> Iterator[tuple[str, str]]:
    """What starting costs."""
    for name, seconds in start.items():
        yield name, "not here" if seconds is None else f"{seconds:.3f}"


def series(row: Row) -> tuple[str, int, int]:
    """All but the steps."""
    return row["queues"], row["threads"], row["layers"]


def title(queues: str, threads: int, layers: int) -> str:
    """A series in words."""
    if threads == 1:
        where = "1 host thread"
    else:
        own = "own hardware queues" if queues == "own" else "one hardware queue"
        where = f"{threads} host threads, {own}"
    return f"{where}, {layers} layer{'s' * (layers > 1)}"


def times(row: Row) -> tuple[str, ...]:
    """The seconds of a size."""
    return (
        str(row["steps"]),
        shown(row["order"]),
        "> limit" if row["command"] is None else f"{row['command']:.3f}",
        shown(row["spin-tcc"], "search"),
        shown(row["spin-tcc"]),
        shown(row["spin-gcc"], "search"),
        shown(row["spin-gcc"]),
        shown(row["machine"]),
        shown(row["tlc"]),
        shown(row["minicheck"]),
        ratio(row),
    )


def sizes(row: Row) -> tuple[str, ...]:
    """The memory and the states of a size."""
    tools = ("order", "spin-tcc", "machine", "tlc", "minicheck")
    memory = tuple(
        f"{row[tool]['peak_mb']:.0f}" if row[tool].get("peak_mb") else "-" for tool in tools
    )
    counts = tuple(
        f"{row[tool]['count']:,}" if row[tool]["outcome"] == "HOLDS" else "-"
        for tool in ("spin-tcc", "machine", "tlc")
    )
    return (str(row["steps"]), *memory, *counts)


def shown(one: Row, what: str = "seconds") -> str:
    """A figure, or that there is none."""
    if one["outcome"] == "HOLDS":
        return f"{one[what]:.4f}" if one[what] < 0.1 else f"{one[what]:.3f}"
    if one["outcome"] == "NOT RUN":
        return "-"
    if one["outcome"] == "REFUSED":
        return "queue > 255"
    return f"> {one.get(what, one['seconds']):.0f}"


def ratio(row: Row) -> str:
    """How many times longer SPIN's pipeline with tcc takes than our whole command."""
    spin, command = row["spin-tcc"], row["command"]
    if command is None or spin["outcome"] in {"NOT RUN", "REFUSED"}:
        return "-"
    sign = "" if spin["outcome"] == "HOLDS" else "> "
    return f"{sign}{spin['seconds'] / command:.2f}"


def summary(rows: list[Row]) -> Iterator[str]:
    """Whether the engine is faster than pan at every size, and where the command is than SPIN."""
    both = [row for row in rows if row["order"]["outcome"] == "HOLDS"]
    compared = [row for row in both if row["spin-tcc"]["outcome"] not in {"NOT RUN", "REFUSED"}]
    slower = [row for row in compared if not faster(row)]
    yield (
        f"`order` decides faster than pan alone at {len(compared) - len(slower)} of "
        f"{len(compared)} sizes at which pan was run (from tcc, and from gcc -O2 where that was)."
    )
    for row in slower:
        where = title(*series(row))
        yield f"- slower: {where}, {row['steps']} steps: {shown(row['order'])} s"
    undecided = [row for row in rows if row["order"]["outcome"] != "HOLDS"]
    yield f"Sizes that `order` did not decide in time: {len(undecided)} of {len(rows)}."
    yield ""
    yield "The whole command takes less time than SPIN's pipeline with tcc:"
    yield ""
    for key, group in groupby(rows, key=series):
        yield f"- {title(*key)}: {crossover(list(group))}"


def faster(row: Row) -> bool:
    """Whether the engine took less time than each pan."""
    pans = [row[tool] for tool in ("spin-tcc", "spin-gcc") if row[tool].get("search") is not None]
    return all(row["order"]["seconds"] < pan["search"] for pan in pans)


def crossover(rows: list[Row]) -> str:
    """From how many steps on the command is faster, with the ratios."""
    known = [
        row
        for row in rows
        if row["command"] is not None and row["spin-tcc"]["outcome"] not in {"NOT RUN", "REFUSED"}
    ]
    ratios = ", ".join(f"{row['steps']}: {ratio(row)}" for row in known)
    wins = [row["spin-tcc"]["seconds"] > row["command"] for row in known]
    if not known:
        return "SPIN was not run"
    if not wins[-1]:
        return f"at no size measured (steps: ratio - {ratios})"
    first = len(wins) - next((at for at, win in enumerate(wins[::-1]) if not win), len(wins))
    return f"from {known[first]['steps']} steps on (steps: ratio - {ratios})"
