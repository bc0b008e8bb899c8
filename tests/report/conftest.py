"""What the tests of renderers share: counterexamples of every kind, and a browser."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streamorder import check
from streamorder.model.load import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser

    from streamorder import Verdict

TESTS = Path(__file__).resolve().parents[1]
RACES, OTHER, OWN = (
    "counterexamples/programs/races.py",
    "counterexamples/programs/other.py",
    "report/programs.py",
)

KINDS = {
    "stale-read": f"{RACES}:between_streams",
    "torn-copy": f"{RACES}:torn",
    "slot-reuse": f"{RACES}:slot_reuse",
    "use-after-free": f"{OWN}:use_after_free",
    "deadlock": f"{OTHER}:lock_order",
    "overlap-lost": f"{OTHER}:overlap_lost",
    "behind-a-flag": f"{OWN}:behind_a_flag",
    "reused-address": f"{OWN}:reused_address",
    "in-order": f"{OTHER}:other_buffer",
}
"""A program for each kind of counterexample, as seen from the folder of the tests."""


BY_STATES = ("behind-a-flag",)
"""Those that the machine decides, whose counterexample is its own path."""


@cache
def decided(kind: str, contract: str) -> Verdict:
    """A program's verdict, once in a process."""
    (target,) = load(KINDS.get(kind, kind))
    return check(target, contract, engine="machine" if kind in BY_STATES else "order")


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in the folder of the tests, on a terminal of a known width."""
    monkeypatch.chdir(TESTS)
    monkeypatch.setenv("COLUMNS", "110")


@pytest.fixture(scope="session")
def verdict() -> Callable[..., Verdict]:
    """`verdict(kind)`: the verdict of the program of this kind, or of another program's name."""
    return lambda kind, contract="cuda": decided(kind, contract)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test for each kind of counterexample."""
    marks = metafunc.definition.iter_markers("parametrize")
    if "kind" in metafunc.fixturenames and not any(mark.args[0] == "kind" for mark in marks):
        metafunc.parametrize("kind", KINDS)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium, the system's own; skips where there is none."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("CHROMIUM IS NOT HERE: no page was driven in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()
