"""Starting a search again when it has learned what it had to know from its start."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from .errors import Again

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def from_the_start(attempt: Callable[[], T]) -> T:
    """The result of an attempt; it is made again as often as it raises `Again`."""
    while True:
        try:
            return attempt()
        except Again:  # noqa: PERF203 - a handful of times at most
            continue
