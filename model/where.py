"""Source lines: where in the user's program a call stands."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from typing import NamedTuple

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STANDARD = os.path.dirname(os.__file__) + os.sep
LIBRARY = os.path.join(PACKAGE, "model", "protocols")


@lru_cache(maxsize=4096)
def is_internal(filename: str) -> bool:
    """Whether a file is Streamorder's own, less the library, or the standard library's."""
    path = os.path.abspath(filename)
    if filename.startswith("<frozen") or (
        path.startswith(STANDARD) and "site-packages" not in path
    ):
        return True
    inside = path.startswith(os.path.join(PACKAGE, "model") + os.sep)
    return inside and not path.startswith(LIBRARY + os.sep)


class Where(NamedTuple):
    """A line of a source file."""

    filename: str
    line: int

    @property
    def internal(self) -> bool:
        """Whether the line is Streamorder's own, not a protocol's."""
        return is_internal(self.filename)

    @property
    def file(self) -> str:
        """The file as people name it: inside the package, or relative to the working directory."""
        path = os.path.abspath(self.filename)
        if path.startswith(PACKAGE + os.sep):
            return "streamorder/" + os.path.relpath(path, PACKAGE).replace(os.sep, "/")
        near = os.path.relpath(path)
        return self.filename if near.startswith("..") else near

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def caller() -> Where:
    """The nearest line outside Streamorder that led to the current call."""
    frame = sys._getframe(2)  # noqa: SLF001 - inspect.stack() reads source files
    while frame.f_back is not None and is_internal(frame.f_code.co_filename):
        frame = frame.f_back
    return Where(frame.f_code.co_filename, frame.f_lineno)


def failed_at(error: BaseException) -> str | None:
    """The innermost source line of the protocol in an error's traceback."""
    frames: list[Where] = []
    at = error.__traceback__
    while at is not None:
        frames.append(Where(at.tb_frame.f_code.co_filename, at.tb_lineno))
        at = at.tb_next
    outside = [frame for frame in frames if not frame.internal]
    return str(outside[-1]) if outside else None
