"""The engines by name. Apart from them, so that a command line is parsed without loading them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ENGINES = {
    "order": "happens-before, one pass a host schedule (the default)",
    "machine": "every state, breadth-first: the specification",
}
"""Each engine's name, and what it is."""

OTHERS: dict[str, Callable[[], Callable[..., Any]]] = {}
"""How the engines outside `model` are loaded: they are functions of the body, the number of steps,
a reading of the contract, the promises that it leaves open, and the limits, and give a `Decision`.
"""


def add_engine(name: str, words: str, load: Callable[[], Callable[..., Any]]) -> None:
    """Make an engine known that `model` does not import; `load` is called when it is used."""
    ENGINES[name] = words
    OTHERS[name] = load
