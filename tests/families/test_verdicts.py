"""The verdict of every entry of these families, by both engines, at two sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from streamorder import check

if TYPE_CHECKING:
    from streamorder import Protocol

TABLE = {
    "fp8-prefill/direct-graph": {"cuda": "REFUTED", "hip": "REFUTED"},
    "fp8-prefill/staged-graph": {"cuda": "PROVED", "hip": "PROVED"},
    "sparse-decode/unsynchronised": {"cuda": "REFUTED", "hip": "REFUTED"},
    "sparse-decode/synchronize-on-change": {"cuda": "PROVED", "hip": "PROVED"},
    "sparse-decode/event-wait": {"cuda": "PROVED", "hip": "PROVED"},
    "sparse-decode/synchronize-before-rewrite": {"cuda": "REFUTED", "hip": "REFUTED"},
    "sparse-decode/same-stream": {"cuda": "PROVED", "hip": "PROVED"},
    "sparse-decode/cross-stream-async": {"cuda": "REFUTED", "hip": "REFUTED"},
    "sparse-decode/cross-stream-async-both-edges": {"cuda": "PROVED", "hip": "PROVED"},
    "persistent-decode/device-planner": {"cuda": "PROVED", "hip": "PROVED"},
    "persistent-decode/host-planner": {"cuda": "REFUTED", "hip": "REFUTED"},
    "persistent-decode/host-planner-staged": {"cuda": "PROVED", "hip": "PROVED"},
    "persistent-decode/non-persistent": {"cuda": "PROVED", "hip": "PROVED"},
    "sync-audit/item-declared": {"cuda": "PROVED", "hip": "PROVED"},
    "sync-audit/item-undeclared": {"cuda": "PROVED", "hip": "PROVED"},
    "sync-audit/count-from-host-plan": {"cuda": "PROVED", "hip": "PROVED"},
    "draft-kv-pointers/fp8-unpatched": {"cuda": "REFUTED", "hip": "REFUTED"},
    "draft-kv-pointers/fp8-staged": {"cuda": "REFUTED", "hip": "REFUTED"},
    "draft-kv-pointers/fp8-reread": {"cuda": "PROVED", "hip": "PROVED"},
    "draft-kv-pointers/bf16-unpatched": {"cuda": "REFUTED", "hip": "REFUTED"},
    "draft-kv-pointers/bf16-staged": {"cuda": "REFUTED", "hip": "REFUTED"},
}

ROWS = [(name, contract) for name, row in TABLE.items() for contract in row]
SIZES = [{}, {"steps": 4, "layers": 2}]


def test_the_entries_state_the_table(entries: dict[str, Protocol]) -> None:
    """What the entries expect is the table, no row more and no row less."""
    assert {name: entry.expects for name, entry in entries.items()} == TABLE


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("engine", ["order", "machine"])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(("name", "contract"), ROWS)
def test_verdict(
    name: str, contract: str, size: dict[str, int], engine: str, entries: dict[str, Protocol]
) -> None:
    """Each engine finds what the table says, in good time."""
    verdict = check(entries[name], contract, engine=engine, **size)  # type: ignore[arg-type]
    expected = TABLE[name][contract]
    assert verdict.verdict == {"PROVED": "HOLDS"}.get(expected, expected)
    assert verdict.as_expected
    assert not verdict.warnings
