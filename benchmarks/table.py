# ruff: noqa: INP001 - scripts, run from a checkout and never installed
"""The results as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Row = Iterable[object]


def markdown(results: dict[str, Any]) -> str:
    """Every figure of a run, in one page."""
    return "\n".join(lines(results)) + "\n"


def lines(results: dict[str, Any]) -> Iterator[str]:
    """The page line by line."""
    at = results["machine"]
    yield "# Benchmark results"
    yield ""
    yield (
        f"{at['date']}, {at['cpu']}, {at['cores']} cores, {at['system']}, {at['python']}"
        + (", small sizes only" if results["quick"] else "")
        + ". Medians; see README.md for what each figure is."
    )
    yield from ("", "## Start-up", "")
    yield from table(
        ("`streamorder ...`", "seconds", "fastest", "CPU seconds", "peak MB"),
        (
            (
                one["command"],
                f"{one['seconds']:.3f}",
                f"{one['fastest']:.3f}",
                f"{one['cpu_seconds']:.3f}",
                mb(one),
            )
            for one in results["start-up"]
        ),
    )
    sections = dict.fromkeys(one["section"] for one in results["decisions"])
    for section in sections:
        chosen = [one for one in results["decisions"] if one["section"] == section]
        unit = chosen[0]["unit"]
        yield from ("", f"## {section[0].upper()}{section[1:]}: {unit} a second", "")
        yield from table(
            ("program", "steps", unit, "seconds", "a second", "a CPU second", "ratio", "peak MB"),
            rows(chosen),
        )


def rows(chosen: list[dict[str, Any]]) -> Iterator[Row]:
    """The decisions of a section; where only the size has grown, the ratio of the rates."""
    above: dict[str, Any] | None = None
    for one in chosen:
        grown = above is not None and above["title"] == one["title"]
        ratio = f"{one['cpu_rate'] / above['cpu_rate']:.2f}" if above is not None and grown else ""
        yield (
            one["title"], one["steps"], f"{one['count']:,}", f"{one['seconds']:.4f}",
            f"{one['rate']:,.0f}", f"{one['cpu_rate']:,.0f}", ratio, mb(one),
        )  # fmt: skip
        above = one


def mb(one: dict[str, Any]) -> str:
    """Peak memory."""
    return f"{one['peak_mb']:.1f}"


def table(head: tuple[str, ...], body: Iterable[Row]) -> Iterator[str]:
    """A table: the first column to the left, the others to the right."""
    yield "| " + " | ".join(head) + " |"
    yield "|---|" + "---:|" * (len(head) - 1)
    for row in body:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"
