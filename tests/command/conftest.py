"""What the tests of the command share: running it, in this process or in one of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, NamedTuple

import pytest

from streamorder.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAMS = Path(__file__).parents[1] / "counterexamples" / "programs"


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory and a terminal of a known width, without colours asked for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return tmp_path


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """`command(*words)`: run `streamorder` in this process."""

    def run(*words: str) -> Done:
        code = main(words)
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return run


@pytest.fixture
def process(workplace: Path) -> Callable[..., Done]:
    """`process(*words)`: run `python -m streamorder` as a process of its own."""

    def run(*words: str, **environment: str) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "streamorder", *words],
            cwd=workplace,
            env={"PATH": "", "COLUMNS": "110", **environment},
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def write(workplace: Path) -> Callable[[str, str], str]:
    """`write(name, source)`: a file in the working directory; returns its name."""

    def written(name: str, source: str) -> str:
        (workplace / name).write_text(dedent(source).lstrip("\n"), encoding="utf-8")
        return name

    return written


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in the folder of the hand-written bad protocols."""
    monkeypatch.chdir(PROGRAMS)
    return PROGRAMS


@pytest.fixture
def refuse(command: Callable[..., Done]) -> Callable[..., str]:
    """`refuse(*words)`: the command's one line of error, after checking that it is all it says."""

    def refused(*words: str) -> str:
        code, out, err = command(*words)
        assert (code, out) == (2, ""), f"{words}: exit {code}, {out!r}, {err!r}"
        assert err.startswith("streamorder: ")
        assert err.endswith("\n")
        assert len(err.splitlines()) == 1, err
        return err

    return refused
