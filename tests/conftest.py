"""What all tests share: snapshots of text, and the option that rewrites them."""

from __future__ import annotations

import difflib
import re
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# `make torch` puts torch and Triton there: beside the environment in which types are checked, and
# last on the path, so that nothing else comes from it. The stamp says that it came to its end.
if (TORCH := Path(__file__).parents[1] / ".torch").joinpath("stamp").exists():
    sys.path.append(str(TORCH))

PATIENCE = 5

TIMES = (
    (re.compile(r"\b\d+\.\d+ ms\b"), "# ms"),
    (re.compile(r'("seconds": )[\d.e-]+'), r"\1#"),
    # A row of the table of verdicts: name, contract, verdict, three counts, milliseconds.
    (re.compile(r"^(\S+ +[a-z-]+ +[A-Z]+(?: +(?:\d+|all|-)){3}) +\d+\.\d", re.MULTILINE), r"\1  #"),
)


PACKAGE_LINES = (
    (re.compile(r"(\bstreamorder/[\w/]+\.py):\d+"), r"\1:#"),
    (re.compile(r'("file": "streamorder/[^"]*",\s+"line": )\d+'), r"\1#"),
)


def replaced(text: str, patterns: Iterable[tuple[re.Pattern[str], str]]) -> str:
    """The text with what matches said otherwise."""
    for pattern, said in patterns:
        text = pattern.sub(said, text)
    return text


def without_times(text: str) -> str:
    """Replace every timing figure by `#`: they differ from run to run."""
    return replaced(text, TIMES)


def without_package_lines(text: str) -> str:
    """Replace line numbers of the package's own files by `#`, not those of a user's file: a page
    stays what it is when the protocol library is edited.
    """
    return replaced(text, PACKAGE_LINES)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--promote`."""
    parser.addoption(
        "--promote",
        action="store_true",
        help="rewrite the snapshots beside the tests with what the tests see now",
    )


@pytest.fixture
def alarm() -> Iterator[None]:
    """Fail a test that takes longer than some seconds, whatever it is doing."""

    def ring(_signal: int, _frame: object) -> None:
        pytest.fail(f"not done after {PATIENCE} s", pytrace=False)

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def timeless() -> Callable[[str], str]:
    """`timeless(text)`: the text with every timing figure replaced by `#`."""
    return without_times


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`snapshot(text, name)`: the text is, but for timings and line numbers of the package's own
    files, what the file of that name holds.

    The file stands beside the test, in `__snapshots__/<name>.txt`; `--promote` writes it.
    """
    folder = request.path.parent / "__snapshots__"

    def compare(text: str, name: str) -> None:
        path = folder / f"{name}.txt"
        seen = without_package_lines(without_times(text))
        if request.config.getoption("--promote"):
            folder.mkdir(exist_ok=True)
            path.write_text(seen, encoding="utf-8", newline="\n")
            return
        shown = path.relative_to(request.config.rootpath)
        if not path.is_file():
            pytest.fail(f"{shown} is missing: look at the output, then run with --promote")
        kept = path.read_text(encoding="utf-8")
        if seen != kept:
            lines = difflib.unified_diff(
                kept.splitlines(), seen.splitlines(), str(shown), "now", lineterm=""
            )
            pytest.fail(
                "\n".join([*lines, "(if this is right, run with --promote)"]), pytrace=False
            )

    return compare
