"""`explain` to files and `check` in other formats: whole files or none, one clear line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from streamorder.cli import main
from streamorder.commands.pictures import FORMS
from streamorder.report.files import write_all

if TYPE_CHECKING:
    from collections.abc import Callable

REUSE = "counterexamples/programs/races.py:slot_reuse"
TWO = "counterexamples/programs/races.py:two_mistakes"


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """`command(*words)`: run `streamorder` in this process."""

    def run(*words: object) -> Done:
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return run


def test_every_form_at_once(tmp_path: Path, command: Callable[..., Done]) -> None:
    """Each file is written, said so, and what it should be; nothing else is left there."""
    words = [part for form in FORMS for part in (f"--{form}", tmp_path / f"out.{form}")]
    done = command("explain", REUSE, *words)
    assert (done.code, done.err) == (1, "")
    assert done.out.splitlines()[-len(FORMS) :] == [
        f"wrote {tmp_path}/out.{form}" for form in FORMS
    ]
    assert {path.name for path in tmp_path.iterdir()} == {f"out.{form}" for form in FORMS}
    starts = {"html": "<!doctype html>", "svg": "<svg ", "mermaid": "sequenceDiagram"}
    for form, start in starts.items():
        assert (tmp_path / f"out.{form}").read_text("utf-8").startswith(start)
    for form in ("perfetto", "sarif", "json"):
        assert json.loads((tmp_path / f"out.{form}").read_text("utf-8"))
    for form in ("pytest", "torch"):
        compile((tmp_path / f"out.{form}").read_text("utf-8"), f"out.{form}", "exec")


def test_colours_stay_out_of_files(
    tmp_path: Path, command: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal gets colours, a file never does."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    done = command("explain", REUSE, "--html", tmp_path / "x.html", "--pytest", tmp_path / "x.py")
    assert "\x1b[31m" in done.out
    assert not any("\x1b" in path.read_text("utf-8") for path in tmp_path.iterdir())


def test_one_of_several_edges(tmp_path: Path, command: Callable[..., Done]) -> None:
    """A picture shows the first missing edge, or the one that is asked for."""
    for number, words in ((1, ()), (1, ("--edge", 1)), (2, ("--edge", 2))):
        file = tmp_path / "x.svg"
        assert command("explain", TWO, "--contract", "cuda", "--svg", file, *words).code == 1
        (verdict,) = json.loads(command("check", TWO, "--contract", "cuda", "--format", "json").out)
        assert verdict["missing_edges"][number - 1]["sentence"] in file.read_text("utf-8")


REFUSALS: dict[str, tuple[list[str], str]] = {
    "nothing to draw": (
        ["explain", "fp8-prefill/staged", "--html", "new.html"],
        "--html: there is nothing to draw: fp8-prefill/staged is not refuted",
    ),
    "too many lanes": (
        ["explain", "report/programs.py:wide", "--json", "new.json", "--svg", "new.svg"],
        "13 lanes are too many for a picture",
    ),
    "too many events": (
        ["explain", "report/programs.py:long", "--html", "new.html", "--mermaid", "new.mmd"],
        "events are too many for a sequence diagram",
    ),
    "one file twice": (
        ["explain", REUSE, "--svg", "new.svg", "--html", "./new.svg"],
        "two forms cannot go to one file",
    ),
    "no such edge": (
        ["explain", TWO, "--svg", "new.svg", "--edge", "3"],
        "--edge 3: counterexamples/programs/races.py:two_mistakes has 2 under cuda",
    ),
    "no number": (
        ["explain", TWO, "--svg", "new.svg", "--edge", "last"],
        "--edge must be a positive whole number, not 'last'",
    ),
    "an edge of nothing": (
        ["explain", TWO, "--html", "new.html", "--edge", "1"],
        "--edge chooses what --svg or --mermaid or --torch shows",
    ),
    "no folder": (
        ["explain", REUSE, "--json", "new.json", "--html", "new/new.html"],
        "new/new.html: there is no folder new",
    ),
    "a folder": (["explain", REUSE, "--html", "report"], "report: is a folder; name a file"),
    "two protocols": (
        ["explain", "fp8-prefill/direct*", "--pytest", "new.py"],
        "--pytest writes a test of one protocol: name one",
    ),
    "no file": (["explain", REUSE, "--svg"], "argument --svg: expected one argument"),
    "another format": (["explain", REUSE, "--format", "sarif"], "invalid choice: 'sarif'"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals_leave_nothing(case: str, command: Callable[..., Done]) -> None:
    """Exit 2, one line, and no file, not even those that could have been written."""
    words, wanted = REFUSALS[case]
    before = set(Path().iterdir())
    code, out, err = command(*words)
    assert (code, out) == (2, "")
    assert wanted in err
    assert len(err.splitlines()) == 1
    assert set(Path().iterdir()) == before


def test_what_cannot_be_written(
    tmp_path: Path, command: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk, say: the old file stays, no part of the new one does."""
    file = tmp_path / "x.html"
    file.write_text("old", encoding="utf-8")
    write = Path.write_text

    def full(path: Path, text: str, **settings: Any) -> int:
        write(path, text[:10], **settings)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    code, out, err = command("explain", REUSE, "--html", file)
    assert (code, out) == (2, "")
    assert err == f"streamorder: {file}: cannot be written: No space left on device\n"
    assert [path.name for path in tmp_path.iterdir()] == ["x.html"]
    assert file.read_text("utf-8") == "old"


def test_check_in_other_formats(command: Callable[..., Done]) -> None:
    """SARIF and JUnit on standard output, with the usual exit codes."""
    done = command("check", REUSE, "--format", "sarif")
    assert (done.code, done.err) == (1, "")
    assert [r["level"] for r in json.loads(done.out)["runs"][0]["results"]] == ["error", "error"]
    done = command("check", REUSE, "fp8-prefill/staged", "--format", "junit")
    assert (done.code, done.err) == (1, "")
    assert 'tests="4" failures="2" errors="0"' in done.out
    done = command("check", "fp8-prefill/direct", "--format", "junit")
    assert done.code == 0
    assert 'failures="0"' in done.out


WRITERS = {
    "explain": ["explain", REUSE, "--html", "{}/x.html", "--svg", "/proc/x.svg"],
    "save": [
        *("explain", REUSE, "--contract", "cuda", "--engine", "sim", "--steps", "3"),
        *("--save", "{}/x.json", "--svg", "/proc/x.svg"),
    ],
    "export": ["export", REUSE, "--promela", "{}/x.pml", "--tla", "/proc/X.tla"],
    "simulate": ["simulate", REUSE, "--steps", "2", "--chrome", "/proc/x.json"],
    "plan": ["plan", "--lengths", "300", "--draw", "/proc/x.svg"],
    "doc": ["doc", "fp8-prefill/planner-on-device", "--out", "/proc/x"],
}


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that takes no files")
@pytest.mark.parametrize("name", WRITERS)
def test_one_of_several_cannot_be_written(
    name: str, tmp_path: Path, command: Callable[..., Done]
) -> None:
    """Then none is: exit 2, one line, nothing half-written."""
    if name == "plan":
        pytest.importorskip("matplotlib")
    code, out, err = command(*(word.format(tmp_path) for word in WRITERS[name]))
    assert (code, out) == (2, "")
    assert "cannot be written: No such file" in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


INPUTS = (
    "explain side.py --html new.html --pytest side.py",
    "explain side.py:side --perfetto ./side.py",
    "explain side.py --replay kept.json --json link.json",
)


@pytest.mark.parametrize("words", INPUTS)
def test_what_is_read_is_not_written(
    words: str, tmp_path: Path, command: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A protocol's own file, a schedule: refused before anything is done."""
    monkeypatch.chdir(tmp_path)
    for name in ("side.py", "kept.json"):
        Path(name).write_text("def side(gpu):\n    pass\n", encoding="utf-8")
    Path("link.json").symlink_to("kept.json")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    code, out, err = command(*words.split())
    assert (code, out) == (2, "")
    assert ": the command reads this file; name another to write to\n" in err
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_links_and_pipes(tmp_path: Path) -> None:
    """A link stays one, a pipe too."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real/file")
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_all({tmp_path / "link": "one", tmp_path / "pipe": "two"})
    assert os.read(reader, 9) == b"two"
    os.close(reader)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "file").read_text("utf-8") == "one"
    assert {path.name for path in tmp_path.rglob("*")} == {"real", "link", "pipe", "file"}
