"""`--runtime`, `--env` and `--sweep` of `check` and `explain`: text, JSON, refusals, exit codes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

DIRECT = "fp8-prefill/direct"
HANDSHAKE = "corpus/C67-hardware-queues/unshared-first"

PAGES = {
    "direct-rocm-10": (0, "check", DIRECT, "--runtime", "rocm-10"),
    "direct-rocm-7.2": (0, "check", DIRECT, "--runtime", "rocm-7.2"),
    "direct-serialize-copy": (
        0, "check", DIRECT, "--runtime", "rocm-10", "--env", "AMD_SERIALIZE_COPY=1",
    ),
    "direct-one-queue": (
        0, "explain", DIRECT, "--runtime", "rocm-10", "--env", "GPU_MAX_HW_QUEUES=1",
    ),
    "direct-evidence": (0, "explain", DIRECT, "--runtime", "rocm-7.2", "--contract", "hip"),
    "direct-sweep": (0, "check", DIRECT, "--runtime", "rocm-10", "--sweep", "queues=1..8"),
    "handshake-rocm-10": (1, "check", HANDSHAKE, "--runtime", "rocm-10"),
    "handshake-cuda-13": (1, "check", HANDSHAKE, "--runtime", "cuda-13"),
    "handshake-eager": (
        1, "check", HANDSHAKE, "--runtime", "cuda-13", "--env", "CUDA_MODULE_LOADING=EAGER",
    ),
    "staged": (0, "check", "fp8-prefill/staged", "--runtime", "rocm-10"),
    "family": (0, "check", "fp8-prefill/direct*", "--runtime", "rocm-10"),
    "deadlock": (1, "check", "other.py:lock_order", "--runtime", "rocm-10"),
}  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_page(
    page: str, programs: Any, command: Callable[..., Any], snapshot: Callable[..., None]
) -> None:
    """Pages that a person reads. What a runtime hides changes no exit code, a hang there does."""
    assert programs.is_dir()
    expected, *words = PAGES[page]
    code, out, err = command(*words)
    assert (code, err) == (expected, "")
    # From where the runtime is spoken of: what comes before is a page of its own.
    snapshot(out if page == "family" else out[out.index("  on ") :], f"runtime-{page}")


def test_list(command: Callable[..., Any]) -> None:
    """All runtimes, each with its title; alone with `--runtimes`."""
    names = [line.split()[0] for line in command("list", "--runtimes").out.splitlines()]
    assert names == ["runtimes", "cuda-13", "rocm-7.2", "rocm-10"]


def parsed(command: Callable[..., Any], *words: str) -> dict[str, Any]:
    """The one verdict that is printed as JSON."""
    (verdict,) = json.loads(command(*words, "--format", "json").out)
    return verdict


def test_json(command: Callable[..., Any]) -> None:
    """Everything that the text says, as data."""
    env = ("--env", "GPU_MAX_HW_QUEUES=1", "--env", "HIP_LAUNCH_BLOCKING=0")
    found = parsed(command, "check", DIRECT, "--runtime", "rocm-10", *env)
    assert (found["verdict"], found["contract"]) == ("REFUTED", "hip")
    there = found["runtime"]
    assert there["profile"] == "rocm-10"
    assert there["env"] == {"GPU_MAX_HW_QUEUES": "1", "HIP_LAUNCH_BLOCKING": "0"}
    assert (there["hazard"], there["queues"], there["dynamic"]) == ("hidden", 1, False)
    assert there["lanes"] == ["NULL", "compute"]
    assert there["choices"] == [{"masking": "", "shown": 0, "maps": 1}]
    assert there["hang"] is None
    against = there["against"]
    assert against["hazard"] == "may be hidden"
    assert (
        against["hidden_by"]
        == [{"first": "NULL", "second": "compute", "where": "copies by kernel on the queue"}]
        or against["hidden_by"] == []
    )
    entry = next(one for one in there["entries"] if one["against"])
    assert (entry["evidence"], entry["against"]["evidence"]) == ("observed", "source")
    assert all(one["where"] and one["says"] for one in there["entries"])


def test_json_of_a_hang(command: Callable[..., Any]) -> None:
    """Maps, and the cycle by name."""
    hang = parsed(command, "check", HANDSHAKE, "--runtime", "rocm-10")["runtime"]["hang"]
    assert (hang["outcome"], hang["shown"], hang["maps"]) == ("may hang", 1, 2)
    assert [set(wait) for wait in hang["cycle"]] == [{"who", "whom", "why"}] * 3


def test_json_of_a_sweep(command: Callable[..., Any]) -> None:
    """By value; there is no runtime beside it."""
    found = parsed(command, "check", DIRECT, "--runtime", "rocm-10", "--sweep", "queues=1..3")
    assert "runtime" not in found
    assert {value: one["hazard"] for value, one in found["sweep"].items()} == {
        "1": "hidden",
        "2": "exposed",
        "3": "exposed",
    }


def test_the_worst_value_of_a_sweep_is_the_exit_code(command: Callable[..., Any]) -> None:
    """One value that hangs is enough, wherever it stands; where none does, it is a pass."""
    words = ("check", HANDSHAKE, "--runtime", "rocm-10", "--sweep")
    assert command(*words, "queues=1..2").code == 1
    released = ("check", "corpus/C72-launch-blocking/off", "--runtime", "rocm-10", "--sweep")
    assert command(*released, "HIP_LAUNCH_BLOCKING=0..0").code == 0
    assert command(*released, "HIP_LAUNCH_BLOCKING=0..1").code == 1


def test_without_a_runtime_nothing_is_said(command: Callable[..., Any]) -> None:
    """Neither in JSON nor in text."""
    found = parsed(command, "check", DIRECT, "--contract", "hip")
    assert not {"runtime", "sweep"} & found.keys()
    assert "  on " not in command("check", DIRECT, "--contract", "hip").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--env", "A=1"], "--env needs a --runtime"),
        (["--sweep", "queues=1..2"], "--sweep needs a --runtime"),
        (["--runtime", "rocm-11"], "unknown runtime 'rocm-11': it is one of cuda-13, rocm-7.2"),
        (["--runtime", "rocm-10", "--env", "A"], "--env takes NAME=VALUE, not 'A'"),
        (["--runtime", "rocm-10", "--env", "=1"], "--env takes NAME=VALUE, not '=1'"),
        (["--runtime", "rocm-10", "--env", "A=1"], "--env A: rocm-10 knows no such variable"),
        (["--runtime", "rocm-10", "--env", "GPU_MAX_HW_QUEUES=x"], "takes 1 to 64, not 'x'"),
        (["--runtime", "rocm-10", "--env", "AMD_DIRECT_DISPATCH=0"], "is not modelled"),
        (["--runtime", "rocm-10", "--contract", "cuda"], "rocm-10 keeps the contract hip, not"),
        (["--runtime", "rocm-10", "--sweep", "depth=1..2"], "--sweep takes NAME=LOW..HIGH"),
        (["--runtime", "cuda-13", "--sweep", "queues=0..2"], "is no range"),
        (["--runtime", "cuda-13", "--sweep", "queues=30..33"], "takes 1 to 32, not '33'"),
    ],
)
@pytest.mark.parametrize("name", ["check", "explain"])
def test_refusals(name: str, words: list[str], said: str, command: Callable[..., Any]) -> None:
    """One line on standard error, exit 2, nothing on standard output."""
    code, out, err = command(name, DIRECT, *words)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("streamorder: ")
    assert said in err


def test_other_commands_know_no_runtime(command: Callable[..., Any]) -> None:
    """A proof is under the contract alone."""
    code, _out, err = command("prove", DIRECT, "--runtime", "rocm-10")
    assert (code, err) == (2, "streamorder: --runtime is an option of check and explain alone\n")


def test_several_processes(command: Callable[..., Any]) -> None:
    """The same answers."""
    words = ("check", "fp8-prefill/direct", "fp8-prefill/direct-graph", "--runtime", "rocm-7.2")
    alone, both = (command(*words, "--jobs", jobs, "--format", "json").out for jobs in ("1", "2"))
    assert [one["runtime"] for one in json.loads(alone)] == [
        one["runtime"] for one in json.loads(both)
    ]
