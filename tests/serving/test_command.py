"""`streamorder simulate`: what it prints, writes and refuses."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streamorder.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

FEW = ["--prompts", "6", "--concurrency", "3", "--prompt-tokens", "900", "--output-tokens", "12"]
Run = "Callable[..., tuple[int, str, str]]"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command: exit code, output, errors."""

    def simulate(*arguments: str) -> tuple[int, str, str]:
        code = main(["simulate", *arguments])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return simulate


def test_two_protocols_are_compared(run: Callable[..., tuple[int, str, str]]) -> None:
    """A column each, and the change on the same random numbers."""
    code, out, err = run("fp8-prefill/direct", "fp8-prefill/staged", "--steps", "4")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith("4 steps, on mi355x-rocm10 (AMD Instinct MI355X")
    assert out.splitlines()[1].split() == ["fp8-prefill/direct", "fp8-prefill/staged", "change"]
    [stall] = [line for line in out.splitlines() if line.startswith("host stall")]
    assert stall.split()[-1] == "-100.00%"


def test_several_runs_have_intervals(run: Callable[..., tuple[int, str, str]]) -> None:
    """Means of seeds with what they may be off by."""
    code, out, _err = run(
        "serving", "fp8-prefill/direct", "fp8-prefill/staged", "--runs", "3", *FEW
    )
    assert code == 0
    [line] = [line for line in out.splitlines() if line.startswith("output (tok/s)")]
    assert line.count("±") == 3
    assert "seeds 1 to 3" in out


def test_json_has_every_run(run: Callable[..., tuple[int, str, str]]) -> None:
    """By protocol and seed; the same numbers as a single run of that seed."""
    _code, out, _err = run("serving", "fp8-prefill/staged", "--runs", "2", "--format", "json", *FEW)
    [protocol] = json.loads(out)["protocols"]
    assert protocol["name"] == "fp8-prefill/staged"
    assert protocol["mean"]["output (tok/s)"]["runs"] == 2
    _code, alone, _err = run(
        "serving", "fp8-prefill/staged", "--seed", "2", "--format", "json", *FEW
    )
    assert json.loads(alone)["protocols"][0]["runs"] == protocol["runs"][1:]


def test_plot_and_trace_are_written(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    """Of the first seed, cut to the window."""
    plot, trace = tmp_path / "run.svg", tmp_path / "run.json"
    code, _out, _err = run(
        "serving", "fp8-prefill/direct", "--plot", str(plot), "--chrome", str(trace),
        "--window", "0-50", *FEW,
    )  # fmt: skip
    assert code == 0
    assert "<!-- compute -->" in plot.read_text(encoding="utf-8")
    events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert spans
    assert max(span["ts"] for span in spans) <= 50e3
    assert {e["args"]["name"] for e in events if e["name"] == "process_name"} == {
        "fp8-prefill/direct host", "fp8-prefill/direct device",
    }  # fmt: skip


def test_a_user_s_device_file(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    """Another file than those of the package."""
    import streamorder

    known = Path(streamorder.__file__).parent / "sim" / "devices" / "h200-cuda13.toml"
    mine = tmp_path / "mine.toml"
    text = known.read_text(encoding="utf-8")
    mine.write_text(text.replace("default_us = 1.95", "default_us = 1e6"), encoding="utf-8")
    _code, out, _err = run("fp8-prefill/staged", "--steps", "2", "--device", str(mine))
    assert "on mine (NVIDIA H200, CUDA 13)" in out
    [time] = [line for line in out.splitlines() if line.startswith("time (ms)")]
    assert float(time.split()[-1]) > 4000


def test_many_protocols_get_a_line_each(run: Callable[..., tuple[int, str, str]]) -> None:
    """A table that does not grow to the right."""
    code, out, _err = run("fp8-prefill/staged*", "--steps", "4")
    assert code == 0
    _heading, *head = out.splitlines()
    lines = [line for line in head if line.startswith("fp8-prefill/staged")]
    assert len(lines) >= 6
    assert max(map(len, lines)) < 120
    assert [line.split()[-1] for line in head[:2]] == ["wrong", "versions"]


def test_long_kernels_meet_hazards(run: Callable[..., tuple[int, str, str]]) -> None:
    """Those of the device file are short. Longer ones still run when both parts of the plan that
    they read are copied, in three of four steps.
    """
    for kernel, met in (("20", "0"), ("3000", "6")):
        _code, out, _err = run("fp8-prefill/direct", "--steps", "4", "--kernel-us", kernel)
        [line] = [line for line in out.splitlines() if line.startswith("hazards met")]
        assert line.split()[-1] == met


def test_without_numpy_hazards_are_counted_and_not_classified(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planner needs numpy; the simulation does not, and says so."""
    for name in [name for name in sys.modules if name.startswith("streamorder.validation")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "numpy", None)
    code, out, _err = run("serving", "fp8-prefill/direct", *FEW)
    assert code == 0
    [met] = [line for line in out.splitlines() if line.startswith("hazards met")]
    [unknown] = [line for line in out.splitlines() if line.startswith("  not classified")]
    assert met.split()[-1] == unknown.split()[-1] != "0"


def test_without_matplotlib_there_is_no_plot(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It cannot be drawn here; nothing is simulated first."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    plot = tmp_path / "a.png"
    code, out, err = run("fp8-prefill/staged", "--plot", str(plot))
    assert (code, out) == (4, "")
    assert err == "streamorder: plots need matplotlib: pip install 'streamorder[plot]'\n"
    assert not plot.exists()


def test_a_terminal_gets_a_progress_bar(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says how far which run is, and is gone at the end; others get nothing."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    _code, _out, err = run("serving", "fp8-prefill/staged", "--runs", "2", *FEW)
    assert "50% fp8-prefill/staged, seed 2" in err
    assert "100% fp8-prefill/staged, seed 2" in err
    assert err.endswith("\r")
    assert not err.rstrip("\r").endswith("%")


def test_the_example_in_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """That of docs/simulation.md on timed runs."""
    text = (Path(__file__).parents[2] / "docs" / "simulation.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    [example] = [example for example in examples if "sim.serving import" in example]
    exec(example, {})  # noqa: S102 - it is ours
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nope"], 2, "nope"),
        (["fp8-prefill/staged", "--device", "h100"], 2, "no device 'h100': it is one of h200-"),
        (["fp8-prefill/staged", "--seed", "x"], 2, "--seed must be a whole number from 0, not 'x'"),
        (["fp8-prefill/staged", "--runs", "0"], 2, "--runs must be a positive whole number"),
        (["fp8-prefill/staged", "--plot", "a.pdf"], 2, "'a.pdf' must end with .png or .svg"),
        (["fp8-prefill/staged", "--plot", "no/a.png"], 2, "there is no folder 'no'"),
        (["fp8-prefill/staged", "--window", "5"], 2, "--window is two times in ms"),
        (["fp8-prefill/staged", "--kernel-us", "-1"], 2, "--kernel-us must be a number"),
        (["fp8-prefill/staged", "--slots", "0"], 2, "--slots must be at least 1"),
        (["serving", "--steps", "4"], 2, "--steps is not for serving"),
        (["serving", "--model", "other"], 2, "no cost model 'other': it is one of dummy-weights"),
        (["serving", "--concurrency", "0"], 2, "--concurrency must be a positive whole number"),
        (["serving", "--budget", "16"], 2, "a budget of 16 tokens a step leaves none for prefills"),
        (["serving", "corpus/C24-gradient-bucket/one-producer"], 2, "a stream named 'compute'"),
        (["serving", "--jitter", "much"], 2, "--jitter must be a number from 0 to 1, not 'much'"),
        (["serving", "sparse-decode/event-wait"], 2, "launches 0 in step 0"),
        (["corpus/C67-hardware-queues/shared"], 1, "hangs: queue0 waits for ever"),
    ],
)  # fmt: skip
def test_what_is_refused(
    run: Callable[..., tuple[int, str, str]], arguments: list[str], code: int, said: str
) -> None:
    """In one line, with nothing on standard output and nothing half-written."""
    found, out, err = run(*arguments)
    assert (found, out) == (code, "")
    assert said in err
    assert err.count("\n") == 1
    assert "Traceback" not in err
