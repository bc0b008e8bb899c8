"""Colour where it helps: on a terminal, and never when piped or when NO_COLOR is set."""

from __future__ import annotations

import os
from typing import TextIO


class Paint:
    """Wraps text in terminal colours, or leaves it as it is."""

    def __init__(self, on: bool) -> None:
        self.on = on

    @classmethod
    def for_stream(cls, stream: TextIO) -> Paint:
        """Colours for a terminal only (see no-color.org)."""
        return cls(stream.isatty() and "NO_COLOR" not in os.environ)

    def _wrap(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on and text else text

    def red(self, text: str) -> str:
        """What is wrong."""
        return self._wrap("31", text)

    def green(self, text: str) -> str:
        """What is right."""
        return self._wrap("32", text)

    def yellow(self, text: str) -> str:
        """What is not known, or must be known beside the rest."""
        return self._wrap("33", text)

    def dim(self, text: str) -> str:
        """What may be skipped."""
        return self._wrap("2", text)

    def bold(self, text: str) -> str:
        """What to read first."""
        return self._wrap("1", text)
