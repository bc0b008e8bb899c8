"""Examples in documents: what they show is run, and its output compared."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(
    r"(?:<!-- file: (?P<file>\S+) -->\n)?```(?P<kind>\w+)\n(?P<text>.*?)```\n", re.DOTALL
)


class Command(NamedTuple):
    """A command of a document and the output that it shows."""

    words: list[str]
    output: str


class Page(NamedTuple):
    """A document's files and commands, in the order in which a reader meets them."""

    name: str
    steps: list[tuple[str, str] | Command]


def read(path: Path) -> Page:
    """The files and commands of a document; code that is neither is for reading only."""
    steps: list[tuple[str, str] | Command] = []
    for block in FENCE.finditer(path.read_text(encoding="utf-8")):
        if block["file"]:
            steps.append((block["file"], block["text"]))
        elif block["kind"] == "console":
            for part in re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]:
                line, _newline, output = part.partition("\n")
                steps.append(Command(shlex.split(line), output))
    return Page(str(path.relative_to(ROOT)), steps)


def pages() -> list[Page]:
    """Every document that shows a command."""
    files = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    found = [read(path) for path in files if path.exists()]
    return [page for page in found if any(isinstance(step, Command) for step in page.steps)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test a page."""
    if "page" in metafunc.fixturenames:
        known = pages()
        metafunc.parametrize("page", known, ids=[page.name for page in known])
