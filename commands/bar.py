"""A progress bar."""

from __future__ import annotations

import sys


class Bar:
    """A progress bar on standard error, if that is a terminal."""

    WIDTH = 30

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = -1
        self.text = ""
        self.shown = sys.stderr.isatty()

    def __enter__(self) -> Bar:  # noqa: PYI034 - nothing inherits
        return self

    def __exit__(self, *_error: object) -> None:
        if self.shown:
            sys.stderr.write("\r" + " " * 110 + "\r")

    def begin(self, text: str) -> None:
        """The next run begins."""
        self.done += 1
        self.text = text
        self.at(0, 1)

    def at(self, part: int, whole: int) -> None:
        """So much of the run is done."""
        if self.shown:
            share = (self.done + part / whole) / self.total
            filled = "█" * round(share * self.WIDTH)
            sys.stderr.write(f"\r{filled:░<{self.WIDTH}} {share:4.0%} {self.text[:60]:60}")
            sys.stderr.flush()
