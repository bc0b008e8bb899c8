"""Every example of README and docs does what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from streamorder.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def timeless(text: str) -> str:
    """Text without what differs from run to run."""
    return re.sub(r"\d+\.\d+ ms", "_ ms", text).rstrip()


def pytest_says(arguments: list[str], folder: Path) -> list[str]:
    """What pytest says of each test and verdict, in a folder with no settings of ours."""
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )
    lines = [re.sub(r" +\[ *\d+%\]$", "", line) for line in done.stdout.splitlines()]
    return [line for line in lines if "::" in line or " under " in line]


def test_page(
    page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files are written as shown; each command prints what the page shows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    for step in page.steps:
        if not hasattr(step, "words"):
            name, text = step
            (tmp_path / name).write_text(text, encoding="utf-8")
            continue
        program, *arguments = step.words
        if program == "pytest":
            assert pytest_says(arguments, tmp_path) == step.output.splitlines()
            continue
        assert program == "streamorder", f"{page.name} shows another command: {step.words}"
        main(arguments)
        shown = capsys.readouterr()
        assert timeless(shown.out + shown.err) == timeless(step.output), " ".join(step.words)


def test_pages_are_found(pytestconfig: pytest.Config) -> None:
    """README is among them, so that this folder cannot pass by finding nothing."""
    assert "streamorder check" in (pytestconfig.rootpath / "README.md").read_text(encoding="utf-8")
