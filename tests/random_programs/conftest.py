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
        self.wide = load("wide")
        wishes = [load(f"wishes_{kind}") for kind in ("graphs", "memory", "signals")]
        self.wishes = {name: wish for module in wishes for name, wish in module.WISHES.items()}
        self.thread = type("Thread", (load("verbs").Verbs, self.programs.Thread), {})

    def draw(self, source: random.Random | int, profile: str = "mixed") -> Any:
        """A random program of this profile (see `Sizes`, and `Wide`)."""
        rng = random.Random(source) if isinstance(source, int) else source  # noqa: S311
        if profile in self.wide.PROFILES:
            return self.programs.Program(**self.wide.Wide(rng, profile, self.wishes).fields())
        maker = self.generator.Maker(rng, self.generator.Sizes(profile))
        return self.programs.Program(**self.shaping.fields_of(maker))

    def body(self, program: Any, contract: Any) -> Any:
        """The protocol function of a program, without what the contract does not have."""
        program = program._replace(event_nodes=contract.event_nodes)
        return self.programs.protocol_of(program, self.thread)

    def host(self, program: Any, contract: Any) -> Host:
        """The traced host of a program."""
        return Host(self.body(program, contract), program.steps)

    def compared(self, program: Any, contract: Any) -> tuple[Any, Any, Any]:
        """The machine's facts, the order engine's, and the machine's walk; the machine's facts
        twice where it must decide.
        """
        found = self.engines.walk(self.host(program, contract), contract)
        decided = self.engines.order(self.host(program, contract), contract)
        facts = self.engines.facts_of(found)
        return facts, facts if decided.undecided else decided.facts, found


@pytest.fixture(scope="session")
def kit() -> Kit:
    """Everything about random programs."""
    return Kit()
