"""Why an allowed outcome of a litmus program was not seen: a closed list, and how it is told."""

from __future__ import annotations

from typing import Any

REASONS = {
    "not run": "the program could not be run here",
    "waits more": "no script for it can be followed: the host or the device waits where nothing "
    "promises it",
    "stronger order": "a script was followed to its end and the device did otherwise: it orders "
    "more than is promised",
    "narrow window": "only accesses that overlap show it, and no run hit the moment",
    "late upload": "only a copy that no gate can hold shows it, by landing late",
    "did not wait": "it takes a call that may wait to do so, and it did not",
    "never came": "it may come without a script, and did not",
}
"""The list."""

REFUSES = "the API refuses it"
"""How the reason of a program begins that a call of is not allowed."""

CANNOT = frozenset(
    {
        "a second device",
        "two devices within reach of one another's memory",
        "a copy that reads pageable memory later than its call",
        "an agent that reads pageable memory",
        "an allocation inside a capture",
        "a free inside a capture",
        "the host may not touch managed memory while this device works",
        "this device has no early launches",
    }
)
"""What a device or `TorchGpu` is known not to do: what needs it may be left out. A closed list, so
that no other reason passes for one."""


def left_out(row: dict[str, Any]) -> bool:
    """Whether something did not run for a reason that is known beforehand."""
    why = row["not_run"]
    return why in CANNOT or (why.startswith(REFUSES) and row.get("allowed") == ["refused"])


def unanswered(rows: list[dict[str, Any]]) -> list[str]:
    """Why litmus programs are no pass though nothing forbidden was seen."""
    ran = [row for row in rows if "not_run" not in row]
    rest = [row for row in rows if "not_run" in row and not left_out(row)]
    why = [f"{row['title']} did not run: {row['not_run']}" for row in rest]
    why += [
        f"{row['title']}: no run had an outcome" for row in ran if not any(row["seen"].values())
    ]
    return why if ran or why else ["nothing ran"]


def reason_for(outcome: str, row: dict[str, Any]) -> str:
    """The reason for an outcome that a program's runs did not show."""
    if "not_run" in row:
        return "not run"
    forced = row.get("forced", {}).get(outcome)
    if outcome == "hang" and forced is not None and forced["followed"]:
        return "did not wait"
    if forced is not None:
        return "stronger order" if forced["followed"] else "waits more"
    if "torn" in outcome:
        others = [o for o in row["forced"] if row["seen"].get(o)]
        ends = [o for o in row["allowed"] if "torn" not in o]
        if len(others) == len(row["forced"]) == len(ends):
            return "narrow window"
        return held_back(row)
    return "late upload" if "memcpy" in row.get("facts", []) else "never came"


def held_back(row: dict[str, Any]) -> str:
    """A torn outcome between two others of which one did not come either: for the same reason."""
    for outcome in row["allowed"]:
        if "torn" not in outcome and not row["seen"].get(outcome):
            return reason_for(outcome, row)
    return "late upload" if "memcpy" in row.get("facts", []) else "narrow window"
