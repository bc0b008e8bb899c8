"""Hands the helper modules of this folder to its tests, which cannot import each other."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from streamorder.model.host import Host

if TYPE_CHECKING:
    from types import ModuleType


def load(name: str) -> ModuleType:
    """A module of this folder, under a name that no other folder's can have."""
    path = Path(__file__).with_name(f"{name}.py")
    full = f"random_programs_{name}"
    if full in sys.modules:
        return sys.modules[full]
    spec = importlib.util.spec_from_file_location(full, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[full] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Kit:
    """The helper modules, and the program that a random source or a seed stands for."""

    def __init__(self) -> None:
        self.programs = load("programs")
        self.generator = load("generator")
        self.shaping = load("shaping")
        self.engines = load("engines")

    def draw(self, source: random.Random | int, profile: str = "mixed") -> Any:
        """A random program of this profile (see `Sizes`)."""
        rng = random.Random(source) if isinstance(source, int) else source  # noqa: S311
        maker = self.generator.Maker(rng, self.generator.Sizes(profile))
        return self.programs.Program(**self.shaping.fields_of(maker))

    def host(self, program: Any) -> Host:
        """The traced host of a program."""
        return Host(self.programs.protocol_of(program), program.steps)

    def compared(self, program: Any, contract: Any) -> tuple[Any, Any, Any]:
        """The machine's facts, the order engine's, and the machine's walk."""
        found = self.engines.walk(self.host(program), contract)
        decided = self.engines.order(self.host(program), contract)
        return self.engines.facts_of(found), decided.facts, found


@pytest.fixture(scope="session")
def kit() -> Kit:
    """Everything about random programs."""
    return Kit()
