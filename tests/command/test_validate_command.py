"""`streamorder validate` and `litmus` where there is no GPU, and what they say otherwise."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.util import find_spec

import pytest

from streamorder import cli
from streamorder.validation import reports, verdicts
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


def test_table_columns() -> None:
    """Columns are as wide as their widest cell."""
    assert reports.table(("a", "bb"), [("ccc", 1)]) == "a    bb\nccc  1"
