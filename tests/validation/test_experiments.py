"""Experiments: a process each, a time limit, faults as results; litmus programs judged."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from streamorder.validation.experiment import Experiment, Finished, run_all
from streamorder.validation.litmus import NAMES
from streamorder.validation.litmus_run import run_program
from streamorder.validation.suite import ABOUT, Scale, experiments, judged, summary
from streamorder.validation.unseen import REASONS, reason_for
from streamorder.validation.versions import STALE, Versions

import fake_runtime  # isort: skip
from fake_runtime import FakeRuntime  # isort: skip

FAKE = "fake_runtime:FakeRuntime"


def sleeps(_runtime: Any, seconds: float) -> float:
    """An experiment that takes its time."""
    time.sleep(seconds)
    return seconds


def dies(_runtime: Any) -> None:
    """An experiment that a signal ends."""
    os.abort()


def fails(_runtime: Any) -> None:
    """An experiment that raises."""
    raise RuntimeError("CUDA error: an illegal memory access was encountered")


def test_faults_are_results() -> None:
    """A result, a time limit, a signal and an error; each leaves the next alone."""
    here = "test_experiments:"
    made = [
        Experiment("fine", f"{here}sleeps", {"seconds": 0.0}),
        Experiment("slow", f"{here}sleeps", {"seconds": 30.0}, 0.3),
        Experiment("dead", f"{here}dies", {}),
        Experiment("fault", f"{here}fails", {}),
        Experiment("last", f"{here}sleeps", {"seconds": 0.0}),
    ]
    fine, slow, dead, fault, last = run_all(made, FAKE, ahead=2)
    assert fine.ok
    assert last.ok
    assert fine.info[0] == "fake"
    assert slow.fault == "time limit: 0.3 s are over"
    assert dead.fault == "ended by SIGABRT"
    assert fault.fault == "RuntimeError: CUDA error: an illegal memory access was encountered"


def test_no_time_left_is_said() -> None:
    """What was not run is in the results, with the reason."""
    made = [Experiment("never", "test_experiments:sleeps", {"seconds": 0.0})]
    (never,) = run_all(made, FAKE, deadline=time.monotonic() - 1)
    assert never.fault == "not run: no time was left"


def test_every_part_has_experiments() -> None:
    """Each part of `validate` names something that exists."""
    from streamorder.validation.experiment import resolved

    for part in ABOUT:
        for experiment in experiments(part, Scale()):
            if part not in {"reproducer", "overhead", "plans", "sync-free"}:
                assert callable(resolved(experiment.target)), experiment.target


def test_at_least_40_litmus_programs() -> None:
    """The suite's size."""
    assert len(NAMES) >= 40


@pytest.mark.parametrize(
    "name", ["R1_2", "R2_5", "R2_9", "R3_1", "R5_4_overwrite", "R6_6_in_place", "R9_5"]
)
def test_both_outcomes_are_forced(name: str) -> None:
    """Scripts bring about every outcome that is not torn, each time."""
    row = judged(Finished(name, run_program(FakeRuntime(), name, 64, 1, (2, 2, 3, 2.0)), None, 0.0))
    assert row["forbidden_seen"] == {}
    for outcome, forced in row["forced"].items():
        assert forced["came"] == forced["followed"] == 3, outcome
    assert all("torn" in outcome for outcome in row["unseen"])
    assert set(row["unseen"].values()) <= {"narrow window"}


@pytest.mark.parametrize("name", ["R2_9", "R9_5"])
def test_one_device_is_not_two(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """What needs a second device is said not to have run where there is none."""
    monkeypatch.setattr(fake_runtime, "DEVICES", 1)
    data = run_program(FakeRuntime(), name, 64, 1, (2, 2, 3, 2.0))
    assert data["not_run"] == "a second device"


def test_a_forbidden_outcome_is_found() -> None:
    """The fake does not let the NULL stream wait for blocking ones when it waits (R1.4)."""
    data = run_program(FakeRuntime(), "R1_4_null", 64, 1, (10, 10, 2, 2.0))
    row = judged(Finished("R1_4_null", data, None, 0.0))
    assert row["forbidden_seen"] == {"P=0": data["seen"]["P=0"]}
    assert summary([row])["forbidden_seen"] == ["R1_4_null"]


def test_a_hang_is_an_outcome() -> None:
    """A run that waits for ever is let go and counted."""
    data = run_program(FakeRuntime(), "R3_3", 64, 1, (0, 0, 1, 2.0))
    assert data["forced"]["hang"]["came"] == 1


def test_reasons_are_a_closed_list() -> None:
    """Each way of not seeing an outcome has a reason of the list."""
    row = {"allowed": ["P=0", "P=1", "P=torn"], "seen": {"P=1": 3}, "facts": []}
    followed, stalled = {"followed": 3, "came": 0}, {"followed": 0, "came": 0}
    assert reason_for("P=0", {**row, "forced": {"P=0": followed}}) == "stronger order"
    assert reason_for("P=0", {**row, "forced": {"P=0": stalled}}) == "waits more"
    assert reason_for("P=torn", {**row, "forced": {"P=0": stalled}}) == "waits more"
    assert reason_for("hang", {**row, "forced": {"hang": followed}}) == "did not wait"
    assert reason_for("P=0", {**row, "forced": {}, "facts": ["memcpy"]}) == "late upload"
    assert reason_for("P=0", {**row, "forced": {}}) == "never came"
    assert reason_for("P=0", {**row, "not_run": "a second device"}) == "not run"
    assert {"stronger order", "waits more", "late upload", "never came", "not run"} <= set(REASONS)


def test_versions_tell_stale_and_torn_apart() -> None:
    """Another replay's version is not taken for one of this replay's."""
    first, second = Versions(0), Versions(1)
    first.code(0)
    second.code(0)
    data = bytes([first.code(0)]) * 8
    assert first.of_bytes(data) == 0
    assert second.of_bytes(data) == STALE
    assert repr(first.of_bytes(data[:4] + bytes([first.code(1)]) * 4)) == "torn"
    assert repr(first.of_bytes(bytes(8))) == "nothing"
    assert first.of_words(first.word(0), first.word(0)) == 0
    assert repr(first.of_words(0, first.word(0))) == "torn"
