"""A script of `explain --torch`: written, read, refused, and carried out on the fake device."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fake_runtime import FakeRuntime

from streamorder import catalogue
from streamorder.cli import main as streamorder
from streamorder.model.errors import CannotRunHere
from streamorder.validation import forced

if TYPE_CHECKING:
    from collections.abc import Callable

UPLOAD = """
from streamorder import Gpu, protocol


@protocol(slots=2)
def upload(gpu: Gpu, slots: int) -> None:
    stream, table = gpu.stream("compute"), gpu.device("table")
    pinned = [gpu.pinned(f"slot{i}") for i in range(slots)]
    for n in gpu.steps():
        gpu.write(pinned[n % slots], n)
        gpu.memcpy_async(table, pinned[n % slots], stream)
        gpu.launch("attention", stream, reads={table: n})
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., forced.Case]:
    """`script(*words)`: what a script holds that `explain *words --torch` wrote."""
    monkeypatch.chdir(tmp_path)
    Path("upload.py").write_text(UPLOAD, encoding="utf-8")
    Path("scripts").mkdir()

    def written(*words: str) -> forced.Case:
        streamorder(["explain", *words, "--torch", "scripts/force.py"])
        return runpy.run_path("scripts/force.py")["CASE"]

    return written


def run(case: forced.Case, folder: str = "scripts", replays: int = 5) -> dict[str, Any]:
    """What the script does, on the fake device and in this process."""
    return forced.forced(FakeRuntime(), tuple(case), folder, replays, 1 << 12, 20.0)


def test_of_a_users_own_protocol(script: Callable[..., forced.Case]) -> None:
    """The script finds the protocol from its own folder, with its parameters, and forces it."""
    case = script("upload.py", "--slots", "3", "--contract", "cuda")
    assert case.protocol == "../upload.py:upload"
    assert case.parameters == {"slots": 3}
    data = run(case)
    assert data["predicted"] == ["table: expects 0, finds 3"]
    assert (data["replays"], data["as_predicted"]) == (5, 5)
    code, lines = forced.told(data, forced.protocol_of(case, Path("scripts")))
    assert code == 0
    assert lines[-1].endswith("5 of 5 replays read it, 5 a wrong version")


def test_of_an_entry_of_the_catalogue(script: Callable[..., forced.Case]) -> None:
    """Each missing edge has a script of its own."""
    found = []
    for number in ("2", "3"):
        case = script("fp8-prefill/direct", "--contract", "cuda", "--edge", number)
        found.append(run(case)["predicted"][0])
    assert found[0] != found[1]


def test_what_no_gate_can_hold_is_said(script: Callable[..., forced.Case]) -> None:
    """Never a pass: exit 3, and why."""
    case = script("fp8-prefill/direct", "--contract", "cuda")
    code, lines = forced.told(run(case), forced.protocol_of(case, Path()))
    assert code == 3
    assert "not forced: the late access is a copy that the host itself waits for" in lines[-1]


def test_a_protocol_that_was_mended_since(script: Callable[..., forced.Case]) -> None:
    """The edge is not there any more, which is said."""
    case = script("upload.py", "--contract", "cuda")
    text = UPLOAD.replace("        gpu.write", "        stream.synchronize()\n        gpu.write")
    Path("upload.py").write_text(text, encoding="utf-8")
    assert run(case)["not_forced"] == "under cuda the protocol has no such edge"


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--replays", "0"], "--replays must be a positive whole number, not '0'"),
        (["--bytes", "6"], "--bytes must be a multiple of 4, not 6"),
        (["--seconds", "soon"], "--seconds must be a positive whole number, not 'soon'"),
        (["--fast"], "unrecognized arguments: --fast"),
    ],
)
def test_bad_arguments(
    words: list[str],
    wanted: str,
    script: Callable[..., forced.Case],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One line and exit 2, before any device is looked for."""
    case = script("upload.py", "--contract", "cuda")
    capsys.readouterr()
    assert forced.main(case, Path("scripts"), words) == 2
    assert capsys.readouterr().out == f"streamorder: {wanted}\n"


def test_without_a_gpu(
    script: Callable[..., forced.Case],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One line and exit 4; a protocol that is gone is bad input, and found first."""

    def none_here() -> None:
        raise CannotRunHere("no GPU")

    monkeypatch.setattr(forced, "require_gpu", none_here)
    case = script("upload.py", "--contract", "cuda")
    capsys.readouterr()
    assert forced.main(case, Path("scripts"), []) == 4
    assert capsys.readouterr().out == "streamorder: no GPU\n"
    assert forced.main(case, Path(), []) == 2
    assert "no such file" in capsys.readouterr().out


def test_a_fault_of_the_process_is_a_result() -> None:
    """Exit 1 and the signature."""
    entry = catalogue()["fp8-prefill/direct"]
    code, lines = forced.told({"fault": "ended by SIGSEGV"}, entry)
    assert (code, lines) == (
        1,
        ["fp8-prefill/direct: the process ended with a fault: ended by SIGSEGV"],
    )


def test_what_cannot_be_forced_has_no_script(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A deadlock is no order of two accesses."""
    name = "corpus/C50-output-thread/one-event-released-late"
    assert streamorder(["explain", name, "--torch", str(tmp_path / "force.py")]) == 2
    assert "a deadlock cannot be forced" in capsys.readouterr().err
    assert not (tmp_path / "force.py").exists()
