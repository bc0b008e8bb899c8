# ruff: noqa: INP001 - scripts, run from a checkout and never installed
"""The staged slots as a family of programs: host threads, hardware queues, layers, steps."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from streamorder import Contract

SLOTS = 2
PARTS = 5
STEPS = (2, 4, 8, 16, 32, 64)
LAYERS = (1, 4, 61)
SETTINGS = (("own", 1), ("own", 2), ("own", 3), ("one", 2), ("one", 3))
"""Hardware queues (one for each stream, or one for all of them) and host threads. One thread has
one stream, so that its queues are the same."""


class Cell(NamedTuple):
    """A program of one size."""

    queues: str
    threads: int
    layers: int
    steps: int

    @property
    def series(self) -> tuple[str, int, int]:
        """All but the steps."""
        return self[:3]

    @property
    def parameters(self) -> dict[str, Any]:
        """What `staged-threads` takes."""
        return {"threads": self.threads, "slots": SLOTS, "layers": self.layers}

    @property
    def title(self) -> str:
        """In words."""
        plural = "s" * (self.threads > 1)
        queues = "" if self.threads == 1 else f", {self.queues} queue{'s' * (self.queues == 'own')}"
        return (
            f"{self.threads} host thread{plural}{queues}, {self.layers} layers, {self.steps} steps"
        )


def cells(quick: bool) -> list[Cell]:
    """The grid, or every other number of steps of some series, each from few steps to many; on one
    queue also a single step, as two are too many for most of the others.
    """
    steps, layers = (STEPS[::2] if quick else STEPS), LAYERS
    settings = [("own", 1), ("own", 2), ("one", 2)] if quick else SETTINGS
    return [
        Cell(queues, threads, layer, step)
        for queues, threads in settings
        for layer in layers
        for step in ((1, *steps) if queues == "one" else steps)
    ]


def contract_of(cell: Cell) -> Contract:
    """CUDA's contract; for one queue with the order that it adds."""
    from streamorder import CUDA
    from streamorder.model.masking import Masking

    if cell.queues == "own":
        return CUDA
    lanes = [((f"compute{number}", None), 0) for number in range(cell.threads)]
    return CUDA._replace(masking=Masking(queues=tuple(lanes)))


def protocol_for_minicheck(cell: Cell) -> Any:
    """The family as minicheck takes it: tuples, a successor function, invariants.

    A state is, for each thread, how far the host and how far its stream's operations are, and with
    one queue the threads whose operations stand in it, in order. What memory holds follows from
    these. A step of the host is a write of the slot (once its copies have been read) and the issue
    of each copy and kernel.
    """
    protocol = import_module("minicheck").Protocol
    threads, total = range(cell.threads), cell.steps
    operations = PARTS + 2 * cell.layers
    calls = 1 + operations
    shared = cell.queues == "one" and cell.threads > 1

    def transitions(state: tuple[Any, ...]) -> list[tuple[str, tuple[Any, ...]]]:
        found = []
        queue = state[-1]
        for t in threads:
            host, done = state[2 * t], state[2 * t + 1]
            step, call = divmod(host, calls)
            if step < total:
                free = step < SLOTS or done >= (step - SLOTS) * operations + PARTS
                if call or free:
                    after = (*queue, t) if call and shared else queue
                    found.append(("call", moved(state, 2 * t, after)))
            issued = step * operations + max(0, call - 1)
            if done < issued and (not shared or queue[0] == t):
                found.append(("operation", moved(state, 2 * t + 1, queue[1:] if shared else queue)))
        return found

    def moved(state: tuple[Any, ...], at: int, queue: tuple[int, ...]) -> tuple[Any, ...]:
        return (*state[:at], state[at] + 1, *state[at + 1 : -1], queue)

    def slot_is_free(state: dict[str, Any]) -> bool:
        for t in threads:
            step, call = divmod(state[f"host{t}"], calls)
            copied = (step - SLOTS) * operations + PARTS
            if call == 1 and step >= SLOTS and state[f"done{t}"] < copied:
                return False
        return True

    fields = (*(name for t in threads for name in (f"host{t}", f"done{t}")), "queue")
    return protocol(
        name="staged", candidate=False, fields=fields, initial=(*(0,) * (2 * cell.threads), ()),
        transitions=transitions, invariants={"slot_is_free": slot_is_free},
    )  # fmt: skip
