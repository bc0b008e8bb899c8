"""`streamorder validate` and `litmus` where there is no GPU, and what they say otherwise."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

from streamorder import cli
from streamorder.validation import reports, suite, torch_runtime, verdicts
from streamorder.validation.litmus import NAMES


def has_gpu() -> bool:
    """Whether torch is here and finds a device."""
    return find_spec("torch") is not None and import_module("torch").cuda.is_available()


needs_no_gpu = pytest.mark.skipif(has_gpu(), reason="this machine has a GPU")


@needs_no_gpu
@pytest.mark.parametrize("words", [["validate"], ["validate", "plans"], ["litmus", "--gpu"]])
def test_without_a_gpu(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """One line that says what is missing, and exit code 4."""
    assert cli.main(words) == 4
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "torch" in said.err


def test_unknown_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong name is bad input, GPU or not."""
    assert cli.main(["validate", "plan"]) == 2
    assert "it is one of reproducer, plans" in capsys.readouterr().err


def test_litmus_prints_the_models_outcomes(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a GPU, each program with its outcomes under each contract."""
    assert cli.main(["litmus", "R2.2+two", "R1_1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["R2.2+two", "cuda"],
        ["R2.2+two", "cuda-hmm"],
        ["R2.2+two", "hip"],
        ["R1.1", "cuda"],
        ["R1.1", "hip"],
    ]
    assert lines[0].split()[2:] == ["REFUTED", "P=1,Q=0", "P=1,Q=1", "P=1,Q=torn"]


def test_litmus_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """The same as data; a name that no program has is bad input."""
    assert cli.main(["litmus", "R3_*", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["name"] for row in found} == {
        name.replace("_", ".", 1).replace("_", "+", 1) for name in NAMES if name.startswith("R3_")
    }
    assert cli.main(["litmus", "R3_99"]) == 2
    assert "no litmus program is called 'R3_99'" in capsys.readouterr().err


def test_surprises_are_found() -> None:
    """Everything that does not come out as the model says is a line of its own."""
    kinds = {"runs": 2, "wrong": 0, "a_matches": 2, "b_matches": 2}
    row = {"way": "staged", "lengths": [1], "identical": False, "differing": ["work_info"]}
    results = {
        "parts": {
            "reproducer": [
                {"name": "staged", "fault": None,
                 "data": {"mode": "staged", "delayed": {**kinds, "wrong": 1}, "free": kinds}},
                {"name": "unpatched", "fault": None,
                 "data": {"mode": "unpatched", "delayed": kinds, "free": kinds}},
            ],
            "plans": [{"name": "plans", "fault": None, "data": {"rows": [row]}}],
            "overhead": [{"name": "overhead", "fault": "ended by SIGSEGV", "data": None}],
            "mutants": [
                {"name": "m", "fault": None,
                 "data": {"name": "m", "hazards": [
                     {"forceable": True, "shown": 1, "replays": 2, "first": "a", "second": "b"}]}},
                {"name": "c", "fault": None, "data": [{"name": "s", "wrong": 1, "runs": 9}]},
            ],
        }
    }  # fmt: skip
    assert verdicts.surprises(results) == [
        "staged, delayed: 1 of 2 runs are wrong",
        "unpatched, delayed: 2 of 2 runs are right",
        "plan [1] by staged: work_info differ",
        "overhead overhead: ended by SIGSEGV",
        "m: 1 of 2 replays showed a against b",
        "s is safe and was wrong in 1 of 9 runs",
    ]


NOTHING = {"runs": 0, "wrong": 0, "a_matches": 0, "b_matches": 0}
IDLE = {
    "reproducer": ({"mode": "graph", "delayed": NOTHING, "free": NOTHING},
                   ["graph, delayed: nothing ran", "graph, free: nothing ran"]),
    "plans": ({"rows": []}, ["no plan was compared"]),
    "sync-free": ({"steps": 0, "refused": "", "item_refused": True, "outputs_match": True},
                  ["the staged path did not run"]),
    "uploads": ({"pinned": [], "two_in_a_row": [{"trials": 0, "first_late": 0}]},
                ["pinned: nothing was tried", "two_in_a_row: nothing was tried"]),
    "overhead": ({"rows": [], "runs": 0}, ["no way of publishing was timed"]),
    "pageable-waits": ({"upload": []}, ["upload: no run of some size had an outcome"]),
}  # fmt: skip


@pytest.mark.parametrize("part", IDLE)
def test_what_did_not_run_is_a_surprise(part: str) -> None:
    """An experiment without a single run says nothing, and a part without experiments neither."""
    data, said = IDLE[part]
    row = {"name": "row", "fault": None, "data": data}
    assert verdicts.surprises({"parts": {part: [row]}}) == said
    assert verdicts.surprises({"parts": {part: []}}) == [f"{part}: nothing ran"]
    lost = {**row, "data": None}
    assert f"{part} row: nothing came of it" in verdicts.surprises({"parts": {part: [lost]}})


def test_mutants_that_did_not_run_are_surprises() -> None:
    """Unless they need what is known not to be there, and others ran."""
    stuck = {"name": "m", "hazards": [], "not_run": "the device is gone"}
    needs = {"name": "n", "hazards": [], "not_run": "a second device"}
    hazard = {"forceable": True, "shown": 0, "replays": 0, "first": "a", "second": "b"}
    forced = {"name": "f", "hazards": [hazard]}
    controls = [
        {"name": "c", "not_run": "the device is gone"},
        {"name": "d", "runs": 40, "wrong": 0, "reads_checked": 0, "unfinished": 40},
    ]

    def said(*data: Any) -> list[str]:
        rows = [{"name": "row", "fault": None, "data": each} for each in data]
        return verdicts.surprises({"parts": {"mutants": rows}})

    gone = "did not run: the device is gone"
    nothing = "of mutants and controls nothing ran"
    assert said(stuck) == [f"m {gone}", nothing]
    assert said(needs) == [nothing]
    assert said(needs, forced) == ["f: 0 of 0 replays showed a against b"]
    assert said(controls) == [f"c {gone}", "d: none of 40 runs came to its end"]


RAN = {"title": "R1", "allowed": ["P=1"], "seen": {"P=1": 3}}
REFUSED = {"title": "R2", "allowed": ["refused"], "not_run": "the API refuses it: so it does"}
NEEDS = {"title": "R3", "allowed": ["P=1"], "not_run": "a second device"}


@pytest.mark.parametrize(
    ("rows", "code", "said"),
    [
        ([RAN, REFUSED, NEEDS], 0, ""),
        ([REFUSED, NEEDS], 3, "undetermined: nothing ran"),
        ([RAN, {**REFUSED, "allowed": ["P=1"]}], 3, "undetermined: R2 did not run: the API"),
        ([RAN, {**NEEDS, "not_run": "fault: x"}], 3, "undetermined: R3 did not run: fault: x"),
        ([{**RAN, "seen": {}}], 3, "undetermined: R1: no run had an outcome"),
    ],
)
def test_litmus_programs_that_did_not_run(
    rows: list[dict[str, Any]],
    code: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are no pass, unless a stated reason keeps them from running and others ran."""
    full = [
        {"name": "n", "unseen": {}, "forbidden_seen": {}, "gap_seen": {}, **row} for row in rows
    ]
    found = {"date": "now", "programs": full, "summary": suite.summary(full)}
    monkeypatch.setattr(suite, "run_litmus", lambda *_names, **_about: found)
    monkeypatch.setattr(torch_runtime, "require_gpu", lambda: None)
    assert cli.main(["litmus", "--gpu"]) == code
    assert said in capsys.readouterr().out
    full[0]["forbidden_seen"] = {"P=0": 1}
    found["summary"] = suite.summary(full)
    assert cli.main(["litmus", "--gpu", "--format", "json"]) == 1


def test_table_columns() -> None:
    """Columns are as wide as their widest cell."""
    assert reports.table(("a", "bb"), [("ccc", 1)]) == "a    bb\nccc  1"
