"""Whose a Python object is: the user's, or of a library, whose own state is not looked at."""

from __future__ import annotations

import sys
from functools import lru_cache
from types import ModuleType
from typing import Any

from .where import LIBRARY, PACKAGE, is_internal


@lru_cache(maxsize=4096)
def is_installed(filename: str) -> bool:
    """Whether a file is of the standard library, of Streamorder or of an installed package."""
    if filename.startswith(LIBRARY):
        return False
    return is_standard(filename) or "site-packages" in filename or "dist-packages" in filename


@lru_cache(maxsize=4096)
def is_standard(filename: str) -> bool:
    """Whether a file is of the standard library or of Streamorder, less its catalogue."""
    if filename.startswith(LIBRARY):
        return False
    return is_internal(filename) or filename.startswith(PACKAGE)


@lru_cache(maxsize=4096)
def is_library(module: object) -> bool:
    """Whether a module of this name is nobody's who writes protocols."""
    found = sys.modules.get(module) if isinstance(module, str) else None
    if found is None or module == "__main__":
        return False
    filename = getattr(found, "__file__", None)
    if filename is None:
        origin = getattr(getattr(found, "__spec__", None), "origin", None)
        return origin in {"built-in", "frozen"}
    return is_installed(filename)


def of_library(thing: Any) -> bool:
    """Whether a class or a module is not the user's: only what the user's code names in it counts,
    by `Named`.
    """
    return is_library(thing.__name__ if isinstance(thing, ModuleType) else thing.__module__)
