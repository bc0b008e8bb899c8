"""Whether results came out as the model says: each thing that did not, in a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
        found += CHECKS.get(part, lambda _data: iter(()))(data)
    return found


def reproducer(data: list[dict[str, Any]]) -> Iterator[str]:
    """Wrong attention where the model proves it, and right where it is forced to be wrong."""
    for each in data:
        mode = each["mode"]
        for kind in ("delayed", "free"):
            wrong = each[kind]["wrong"]
            if mode in MUST_HOLD and wrong:
                yield f"{mode}, {kind}: {wrong} of {each[kind]['runs']} runs are wrong"
        right = each["delayed"]["runs"] - each["delayed"]["wrong"]
        if mode in MUST_BREAK and right:
            yield f"{mode}, delayed: {right} of {each['delayed']['runs']} runs are right"


def plans(data: list[dict[str, Any]]) -> Iterator[str]:
    """Plans that did not come through."""
    for each in data:
        for row in each["rows"]:
            if not row["identical"]:
                yield f"plan {row['lengths']} by {row['way']}: {', '.join(row['differing'])} differ"


def sync_free(data: list[dict[str, Any]]) -> Iterator[str]:
    """Waits that torch refused, or a check that refuses nothing."""
    for each in data:
        if each["refused"]:
            yield f"the staged path waits: {each['refused']}"
        if not each["item_refused"]:
            yield "torch's sync debug mode did not refuse .item(): it says nothing"
        if not each["outputs_match"]:
            yield "outputs of the sync-free run do not match the reference"


def overhead(data: list[dict[str, Any]]) -> Iterator[str]:
    """Staged slots that cost the host more than what they replace."""
    for each in data:
        cost = {row["way"]: row["host_us"] for row in each["rows"]}
        if cost["staged"] > cost["unpatched"]:
            yield f"staged costs the host {cost['staged']:.1f} µs, five blocking copies less"


def mutants(data: list[Any]) -> Iterator[str]:
    """Mutants that did not show, controls that went wrong."""
    for each in data:
        if isinstance(each, list):
            yield from controls(each)
            continue
        for hazard in each["hazards"]:
            if hazard["forceable"] and hazard["shown"] != hazard["replays"]:
                yield (
                    f"{each['name']}: {hazard['shown']} of {hazard['replays']} replays showed "
                    f"{hazard['first']} against {hazard['second']}"
                )


def controls(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Safe protocols that went wrong."""
    for row in rows:
        if row.get("wrong"):
            yield f"{row['name']} is safe and was wrong in {row['wrong']} of {row['runs']} runs"


def uploads(data: list[dict[str, Any]]) -> Iterator[str]:
    """Uploads that must have landed and had not."""
    for each in data:
        pinned = sum(row["late"] for row in each["pinned"])
        first = sum(pair["first_late"] for pair in each["two_in_a_row"])
        if pinned:
            yield f"{pinned} blocking uploads from page-locked memory were late"
        if first:
            yield f"of two blocking uploads in a row the first was late {first} times"


CHECKS = {
    "reproducer": reproducer,
    "plans": plans,
    "sync-free": sync_free,
    "overhead": overhead,
    "mutants": mutants,
    "uploads": uploads,
}
