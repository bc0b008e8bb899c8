"""Whether results came out as the model says: each thing that did not, in a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .unseen import left_out

if TYPE_CHECKING:
    from collections.abc import Iterator

MUST_BREAK = {"unpatched", "graph", "staged-no-wait"}
"""Modes of the reproducer that the model refutes and the delay forces."""

MUST_HOLD = {"staged", "staged-five"}
"""Modes that the model proves."""


def surprises(results: dict[str, Any]) -> list[str]:
    """What is not as the model says; a fault and an experiment that did not run are, too."""
    found: list[str] = []
    for part, rows in results["parts"].items():
        found += [f"{part} {row['name']}: {row['fault']}" for row in rows if row["fault"]]
        data = [row["data"] for row in rows if row["data"] is not None]
        lost = [row["name"] for row in rows if row["data"] is None and not row["fault"]]
        found += [f"{part} {name}: nothing came of it" for name in lost]
        found += [f"{part}: nothing ran"] * (not rows)
        found += CHECKS[part](data)
    return found


def reproducer(data: list[dict[str, Any]]) -> Iterator[str]:
    """Wrong attention where the model proves it, and right where it is forced to be wrong."""
    for each in data:
        mode = each["mode"]
        for kind in ("delayed", "free"):
            wrong = each[kind]["wrong"]
            if not each[kind]["runs"]:
                yield f"{mode}, {kind}: nothing ran"
            if mode in MUST_HOLD and wrong:
                yield f"{mode}, {kind}: {wrong} of {each[kind]['runs']} runs are wrong"
        right = each["delayed"]["runs"] - each["delayed"]["wrong"]
        if mode in MUST_BREAK and right:
            yield f"{mode}, delayed: {right} of {each['delayed']['runs']} runs are right"


def plans(data: list[dict[str, Any]]) -> Iterator[str]:
    """Plans that did not come through."""
    for each in data:
        if not each["rows"]:
            yield "no plan was compared"
        for row in each["rows"]:
            if not row["identical"]:
                yield f"plan {row['lengths']} by {row['way']}: {', '.join(row['differing'])} differ"


def sync_free(data: list[dict[str, Any]]) -> Iterator[str]:
    """Waits that torch refused, or a check that refuses nothing."""
    for each in data:
        if not each["steps"]:
            yield "the staged path did not run"
        if each["refused"]:
            yield f"the staged path waits: {each['refused']}"
        if not each["item_refused"]:
            yield "torch's sync debug mode did not refuse .item(): it says nothing"
        if not each["outputs_match"]:
            yield "outputs of the sync-free run do not match the reference"


def overhead(data: list[dict[str, Any]]) -> Iterator[str]:
    """Nothing measured. What the figures are is no surprise: they are the machine's affair."""
    for each in data:
        if not each["runs"] or not each["rows"]:
            yield "no way of publishing was timed"


def mutants(data: list[Any]) -> Iterator[str]:
    """Mutants that did not show, controls that went wrong; what did not run, unless it needs what
    is known not to be there.
    """
    for each in data:
        if isinstance(each, list):
            yield from controls(each)
            continue
        yield from idle(each)
        hung, runs = hangs(each)
        if hung and not each.get("hang"):
            yield f"{each['name']} hung in {hung} of {runs} runs, and no interleaving hangs"
        for hazard in each["hazards"]:
            if hazard["forceable"] and not 0 < hazard["replays"] == hazard["shown"]:
                yield (
                    f"{each['name']}: {hazard['shown']} of {hazard['replays']} replays showed "
                    f"{hazard['first']} against {hazard['second']}"
                )
    rows = [row for each in data for row in (each if isinstance(each, list) else [each])]
    if rows and all("not_run" in row for row in rows):
        yield "of mutants and controls nothing ran"


def hangs(row: dict[str, Any]) -> tuple[int, int]:
    """In how many of how many runs that nothing directed a protocol hung."""
    loose = [row[kind] for kind in ("free", "jittered") if kind in row]
    return sum(each["hung"] for each in loose), sum(each["runs"] for each in loose)


def idle(row: dict[str, Any]) -> Iterator[str]:
    """What did not run, for no reason that is known beforehand."""
    if "not_run" in row and not left_out(row):
        yield f"{row['name']} did not run: {row['not_run']}"


def controls(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Safe protocols that went wrong, and those of which nothing was seen."""
    for row in rows:
        yield from idle(row)
        if row.get("hung"):
            yield f"{row['name']} is safe and hung in {row['hung']} of {row['runs']} runs"
        elif "runs" in row and row["runs"] == row.get("unfinished", 0):
            yield f"{row['name']}: none of {row['runs']} runs came to its end"
        if row.get("wrong"):
            yield f"{row['name']} is safe and was wrong in {row['wrong']} of {row['runs']} runs"


def uploads(data: list[dict[str, Any]]) -> Iterator[str]:
    """Uploads that must have landed and had not."""
    for each in data:
        for kind in ("pinned", "two_in_a_row"):
            if not any(row["trials"] for row in each[kind]):
                yield f"{kind}: nothing was tried"
        pinned = sum(row["late"] for row in each["pinned"])
        first = sum(pair["first_late"] for pair in each["two_in_a_row"])
        if pinned:
            yield f"{pinned} blocking uploads from page-locked memory were late"
        if first:
            yield f"of two blocking uploads in a row the first was late {first} times"


def pageable_waits(data: list[dict[str, Any]]) -> Iterator[str]:
    """Sizes of which nothing was seen; whether the host is held is the runtime's own affair."""
    for each in data:
        for direction, rows in each.items():
            if not rows or not all(row["trials"] for row in rows):
                yield f"{direction}: no run of some size had an outcome"


CHECKS = {
    "reproducer": reproducer,
    "plans": plans,
    "sync-free": sync_free,
    "overhead": overhead,
    "mutants": mutants,
    "uploads": uploads,
    "pageable-waits": pageable_waits,
}
