"""A fresh clone works whatever its folder is called."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# A clone must not inherit our virtual environment, make's flags or pytest's options.
INHERITED = ("MAKE", "MFLAGS", "PYTEST_", "PYTHON", "VIRTUAL_ENV")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["streamorder", "repo", "streamorder-main"])
def test_clone(name: str, root: Path, tmp_path: Path, run: Callable[..., str]) -> None:
    """The last commit, cloned under this name, passes check, test, plain pytest and lint.

    The clone's own tests leave out slow ones, this one among them.
    """
    clone = tmp_path / name
    env = {key: value for key, value in os.environ.items() if not key.startswith(INHERITED)}
    run("git", "clone", "--quiet", root, clone, cwd=tmp_path)
    # Under the base interpreter: an environment made by an environment would look into ours.
    python = f"PYTHON={getattr(sys, '_base_executable', sys.executable)}"
    for target in ("check", "test", "lint"):
        run("make", target, python, cwd=clone, env=env)
    run(clone / ".venv" / "bin" / "pytest", cwd=clone, env=env)
