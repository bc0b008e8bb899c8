"""Directed replay: every missing edge that gates can force is forced, here on a fake device.

The fake keeps the rules of order that scripts rely on; a real device runs the same scripts with
`streamorder validate mutants`.
"""

from __future__ import annotations

from typing import Any

import pytest
from fake_runtime import FakeRuntime

from streamorder import CUDA, check
from streamorder.model.catalogue import catalogue
from streamorder.validation import device_gpu, device_threads
from streamorder.validation.bench import Bench
from streamorder.validation.device_gpu import TorchGpu
from streamorder.validation.director import Directed
from streamorder.validation.mutants import HANGS, refuted, run_control, run_mutant, safe
from streamorder.validation.outcome_scripts import facts
from streamorder.validation.script import OP, Script, scripts
from streamorder.validation.verdicts import hangs, surprises

NO_FAKE = {"corpus/C66-early-launch", "corpus/C37-pool-by-stream/freed-on-one-stream"}
"""What the fake lacks: early launches, and a pool that hands an address out again."""


def forced(name: str) -> list[Script]:
    """The scripts of a protocol that some read tells."""
    entry = catalogue()[name]
    found = scripts(entry, CUDA, check(entry, CUDA).steps)
    return [script for script in found if script.expected]


def test_at_least_25_mutants_can_be_forced() -> None:
    """The number that the validation needs; not one is forced by chance alone."""
    can = [name for name in refuted() if any(script.turns for script in forced(name))]
    assert len(can) >= 25
    assert {"fp8-prefill/direct", "fp8-prefill/staged-no-wait", "fp8-prefill/direct-graph"} <= set(
        can
    )


def test_a_write_to_freed_memory_is_not_told() -> None:
    """No read finds anything: the device would have to fault, and the memory stays mapped."""
    assert forced("corpus/C45-hidden-workspace/freed") == []


def test_late_uploads_have_no_script() -> None:
    """What refutes `synchronize-first` no gate can hold."""
    entry = catalogue()["fp8-prefill/synchronize-first"]
    found = scripts(entry, CUDA, 2)
    assert found
    assert all(script.late and not script.expected for script in found)


@pytest.mark.parametrize(
    "name",
    [
        "fp8-prefill/direct",
        "fp8-prefill/direct-graph",
        "fp8-prefill/staged-no-wait",
        "sparse-decode/cross-stream-async",
        "corpus/C10-kernel-arguments/two-threads",
        "corpus/C16-cpu-operator/stream-wait",
        "draft-kv-pointers/bf16-staged",
        "corpus/C54-late-output/freed-at-once",
    ],
)
def test_shown_as_predicted(name: str) -> None:
    """Every replay follows its script and reads the version that the model predicts."""
    result = run_mutant(FakeRuntime(), name, replays=3, nbytes=64)
    hazards = [hazard for hazard in result["hazards"] if hazard["forceable"]]
    assert hazards
    for hazard in hazards:
        assert not hazard["stalled"]
        assert hazard["shown"] == hazard["as_predicted"] == hazard["replays"] == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", refuted())
def test_every_mutant(name: str) -> None:
    """All of them, where the fake has what they need."""
    if any(name.startswith(lacking) for lacking in NO_FAKE):
        pytest.skip("the fake device lacks what this needs; `validate mutants` runs it on a GPU")
    result = run_mutant(FakeRuntime(), name, replays=2, nbytes=64)
    for hazard in result["hazards"]:
        if hazard["forceable"]:
            assert hazard["as_predicted"] == hazard["replays"], hazard


def test_a_safe_protocol_stays_safe() -> None:
    """Vacuity: reads were checked, every kernel ran, and none was wrong."""
    assert "fp8-prefill/staged" in safe()
    result = run_control(FakeRuntime(), "fp8-prefill/staged", replays=5, nbytes=64)
    assert result["wrong"] == 0
    assert result["unfinished"] == 0
    assert result["reads_checked"] > 100


@pytest.mark.parametrize(
    "name",
    [
        "corpus/C54-late-output/retry-for-ever",
        "corpus/C67-hardware-queues/shared",
        "corpus/C72-launch-blocking/two-devices",
    ],
)
def test_a_hang_is_a_result(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A host thread or a stream that waits for ever: let go, counted, and after some left alone."""
    monkeypatch.setattr(device_threads, "LONGEST", 0.2)
    monkeypatch.setattr(device_gpu, "RESCUE", 0.1)
    result = run_mutant(FakeRuntime(), name, replays=20, nbytes=64)
    assert "nothing can go on" in result["hang"]
    assert hangs(result) == (2 * HANGS, 2 * HANGS)
    assert surprises(as_results(result)) == []
    assert surprises(as_results({**result, "hang": None})) == [
        f"{name} hung in 6 of 6 runs, and no interleaving hangs"
    ]


def test_a_safe_protocol_that_hangs_is_no_pass() -> None:
    """None of its runs came to an end: that is said, though no read was wrong."""
    row = {"name": "corpus/safe", "runs": 3, "hung": 3, "wrong": 0, "unfinished": 3}
    assert surprises(as_results([row])) == ["corpus/safe is safe and hung in 3 of 3 runs"]


def as_results(data: object) -> dict[str, Any]:
    """What one experiment of `mutants` came to, as `validate` has it."""
    return {"parts": {"mutants": [{"name": "m", "fault": None, "data": data}]}}


def test_a_program_that_goes_elsewhere_is_let_go() -> None:
    """A script of another program ends the direction, with the reason; nothing hangs."""
    entry = catalogue()["fp8-prefill/staged"]
    (script, *_rest) = forced("fp8-prefill/direct")
    pace = Directed(script)
    body = entry.bind({})
    bench = Bench(FakeRuntime(), 64)
    gpu = TorchGpu(bench, 2, pace, 0, facts(body, CUDA, 2).verbs)
    gpu.run(body)
    assert pace.stalled is not None
    assert not [sight for sight in gpu.sights if sight.wrong]


def test_gates_hold_operations_only() -> None:
    """A script holds operations; what the host stages itself it never holds."""
    for script in forced("fp8-prefill/direct"):
        uploads = [turn for turn in script.turns if turn.kind == OP and turn.verb == "memcpy"]
        assert uploads
        assert not any(turn.held for turn in uploads)
