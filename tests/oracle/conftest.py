"""Hands out the interleaver, and the random programs of the folder beside this one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

HERE = Path(__file__).resolve().parent


def load(path: Path, name: str) -> ModuleType:
    """The module in this file, which test modules cannot import."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope="session")
def oracle() -> ModuleType:
    """The interleaver."""
    return load(HERE / "interleaver.py", "oracle_interleaver")


@pytest.fixture(scope="session")
def kit() -> Any:
    """Everything about random programs."""
    return load(HERE.parent / "random_programs" / "conftest.py", "random_programs_kit").Kit()
