"""Litmus programs: one rule of the runtimes, one small program (see tests/litmus/README.md).

A file is named after its rule (`docs/rules.md`): `R2_4_pinned` is rule R2.4, the case `pinned`.
What a module holds, and how it is judged, stands in `tests/litmus/README.md`; what the model says
of each, in the `.expected` file of the same name there.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

FOLDER = Path(__file__).parent
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("R*.py")))
"""Every program, by the name of its file."""


@cache
def program(name: str) -> ModuleType:
    """A program's module."""
    return import_module(f".{name}", __package__)


def title(name: str) -> str:
    """A program's name as rules are written: `R2.4+pinned`."""
    return name.replace("_", ".", 1).replace("_", "+", 1)
