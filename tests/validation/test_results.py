"""The committed results, and that docs/validation.md says what they say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from streamorder.validation.reports import mutation_score
from streamorder.validation.suite import summary
from streamorder.validation.unseen import REASONS
from streamorder.validation.verdicts import hangs, surprises


@pytest.fixture
def results(pytestconfig: pytest.Config) -> Any:
    """Reads a file of results."""
    folder = pytestconfig.rootpath / "validation" / "results"
    return lambda name: json.loads((folder / f"h200-cuda13-{name}.json").read_text("utf-8"))


@pytest.fixture
def account(pytestconfig: pytest.Config) -> str:
    """The written account, in one line."""
    page = Path(pytestconfig.rootpath / "docs" / "validation.md").read_text("utf-8")
    return re.sub(r"\s+", " ", page)


def test_litmus(results: Any, account: str) -> None:
    """Sums are those of the rows; nothing forbidden, four in five seen, the rest with reasons."""
    found = results("litmus")
    sums = summary(found["programs"])
    assert sums == found["summary"]
    assert sums["ran"] >= 40
    assert sums["forbidden_seen"] == []
    assert sums["seen"] / sums["allowed_of_all"] >= 0.8
    assert {why for row in found["programs"] for why in row["unseen"].values()} <= set(REASONS)
    said = f"{sums['programs']} programs; {sums['ran']} ran, {sums['runs']:,} runs"
    assert said in account
    assert f"{sums['seen']} were seen" in account


def test_mutants(results: Any, account: str) -> None:
    """At least 25 mutants that can be forced and are exposed, nine in ten seen violating."""
    found = [row["data"] for row in results("mutants")["parts"]["mutants"]]
    rows = [row for row in found if isinstance(row, dict)]
    score = mutation_score(rows)
    assert score["forceable"] >= 25
    assert score["shown"] / score["forceable"] >= 0.9
    assert f"{score['forceable']} of these can be forced" in account
    assert f"{score['shown']} were seen violating" in account
    hazards = [h for row in rows for h in row["hazards"] if h["forceable"]]
    full = [h for h in hazards if h["shown"] == h["as_predicted"] == h["replays"] == 300]
    assert f"{len(full)} of {len(hazards)} hazards" in account
    (direct,) = [row for row in rows if row["name"] == "fp8-prefill/direct"]
    assert [h["shown"] for h in direct["hazards"] if h["forceable"]] == [300, 300]


def test_controls_and_hangs(results: Any, account: str) -> None:
    """No safe protocol went wrong or hung; what can hang by the model did, and nothing else."""
    found = results("mutants")
    assert surprises(found) == found["surprises"] == []
    data = [row["data"] for row in found["parts"]["mutants"]]
    safe = [row for rows in data if isinstance(rows, list) for row in rows]
    runs = sum(row.get("runs", 0) for row in safe)
    assert f"{sum('runs' in row for row in safe)} of the {len(safe)} protocols" in account
    assert f"ran {runs:,} times" in account
    mutants = [row for row in data if isinstance(row, dict)]
    assert f"Of the {len(mutants)} protocols" in account
    assert f"{sum('not_run' not in row for row in mutants)} ran" in account
    assert len([row for row in mutants if row.get("hang")]) == 8
    assert all(bool(row.get("hang")) == bool(hangs(row)[0]) for row in mutants)


def test_pageable_waits(results: Any, account: str) -> None:
    """A download always holds the host, an upload from 4 MiB on."""
    ((part,),) = (results("pageable")["parts"].values(),)
    data = part[0]["data"]
    held = {way: [row["nbytes"] for row in rows if row["held"]] for way, rows in data.items()}
    assert all(row["held"] in {0, row["trials"]} for rows in data.values() for row in rows)
    assert held["download"] == [row["nbytes"] for row in data["download"]]
    assert min(held["upload"]) == 4 << 20
    assert "from 4 MiB on" in account


def test_uploads(results: Any, account: str) -> None:
    """Late from 64 KiB on, never from page-locked memory, never the first of two."""
    ((row,),) = (results("uploads")["parts"].values(),)
    for size in row[0]["data"]["pageable"]:
        assert size["nbytes"] < 1 << 16 or size["low"] > 0
        if size["nbytes"] >= 1 << 16:
            assert f"{size['late']} ({size['late'] / size['trials']:.1%}".replace("%", " %") in (
                account.replace("(100 %)", "(100.0 %)")
            )
    assert not any(each["late"] for each in row[0]["data"]["pinned"])
    assert not any(each["first_late"] for each in row[0]["data"]["two_in_a_row"])


def test_attention(results: Any, account: str) -> None:
    """Staged is right in 1,000 of 1,000 runs."""
    parts = results("attention")["parts"]
    modes = {row["name"]: row["data"] for row in parts["reproducer"]}
    staged = modes["staged"]["free"]
    assert (staged["runs"], staged["a_matches"], staged["b_matches"]) == (1000, 1000, 1000)
    assert modes["unpatched"]["delayed"]["a_matches"] == 0
    cost = {row["way"]: row["host_us"] for row in parts["overhead"][0]["data"]["rows"]}
    assert f"{cost['unpatched']:.1f} | {cost['staged']:.1f}: 44 % less" in account


def test_overhead(results: Any, account: str) -> None:
    """The account has every figure, what speaks against staging too."""
    found = results("overhead")["parts"]["overhead"][0]["data"]
    for way in found["rows"]:
        assert (
            f"{way['host_us']:.1f} | {way['host_busy_us']:.1f} | {way['device_us']:.1f}" in account
        )
    cost = {row["way"]: row for row in found["rows"]}
    more = cost["staged"]["host_us"] / cost["unpatched"]["host_us"] - 1
    assert f"{more:.0%} more".replace("%", " %") in account
    floor = cost["staged"]["device_us"] / found["floor_device_us"]
    assert f"{floor:.1f} times the floor" in account
