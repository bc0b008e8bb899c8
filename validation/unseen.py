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
    "never came": "it may come without a script, and did not",
}
"""The list."""


def reason_for(outcome: str, row: dict[str, Any]) -> str:
    """The reason for an outcome that a program's runs did not show."""
    if "not_run" in row:
        return "not run"
    forced = row.get("forced", {}).get(outcome)
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
