"""What an exported model is made of: actions of host threads and of operations, as plain data.

A *value* is a version (or a number in a cell): a `Value`, a `Plus` (the step counter of the loop
it stands in, plus an offset), `Held` (what a region holds) or `Taken` (what was read at the call).
They are no tuples, so that a version and a place of one number are never equal.
An *atom* stands for operations: ("cell", place) for all that a stream's tail or an event's snapshot
stands for, ("op", number) for an operation that the same action issues.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

Atom = tuple[str, Any]
Atoms = frozenset[Atom]
NOTHING: Atoms = frozenset()


@dataclass(frozen=True)
class Value:
    """A version by its number (see `Versions`), or a number in a cell."""

    number: int


@dataclass(frozen=True)
class Plus:
    """The loop's step counter plus an offset."""

    offset: int


@dataclass(frozen=True)
class Held:
    """What a region holds."""

    slot: int


@dataclass(frozen=True)
class Taken:
    """What was read of a region at the call: its place in `Action.taken`, in an operation its place
    among what that carries.
    """

    index: int


class Read(NamedTuple):
    """A load; `expected` is the version that it must find, None for any."""

    slot: int
    expected: Value | Plus | None


class Write(NamedTuple):
    """A store; `idempotent`: another one of the same version is no conflict."""

    slot: int
    value: Value | Plus | Held | Taken
    idempotent: bool = False


class Operation(NamedTuple):
    """An operation as it is issued: its lane, its accesses, what it starts after.

    `carries` lists what of the action's `taken` travels in it. With a `cell` it stores `word` there
    or, if it `waits`, is not done before the cell is that large. `watched`: others may wait for it.
    """

    lane: int
    label: str
    reads: tuple[Read, ...]
    writes: tuple[Write, ...]
    carries: tuple[int, ...]
    before: Atoms
    cell: int | None = None
    word: Value | Plus | None = None
    waits: bool = False
    watched: bool = True

    @property
    def slots(self) -> set[int]:
        """Every region that it accesses."""
        return accessed(self.reads, self.writes)


class Action(NamedTuple):
    """One step of a host thread: what it waits for, its accesses, what it issues.

    `guard` is a tuple of a kind and what belongs to it:

        ("done", atoms) ("pending", atoms)      the operations are done, or not all of them
        ("cell", place, value)                  the cell is large enough
        ("acquire", lock) ("release", lock)     take or give back a lock
        ("put", queue, item) ("get", queue, item)
        ("start", thread) ("join", thread)      start a host thread; it has returned
        ("never",)                              nothing that was explored lets it go on

    `updates` maps tails and snapshots to what they stand for from now on, all at once.
    """

    comment: str
    step: int | None
    guard: tuple[Any, ...] = ()
    reads: tuple[Read, ...] = ()
    taken: tuple[int, ...] = ()
    writes: tuple[Write, ...] = ()
    signals: tuple[tuple[int, Value | Plus], ...] = ()
    issues: tuple[Operation, ...] = ()
    updates: tuple[tuple[Any, Atoms], ...] = ()

    @property
    def slots(self) -> set[int]:
        """Every region that the host itself accesses."""
        return accessed(self.reads, self.writes) | set(self.taken)

    @property
    def idle(self) -> bool:
        """Whether it does nothing at all."""
        return self == Action(self.comment, self.step)


class Loop(NamedTuple):
    """`body` repeated `times`; with a `first` step the counter goes on from it by `stride`."""

    times: int
    body: list[Any]
    first: int | None = None
    stride: int = 1


class Branch(NamedTuple):
    """One of several ways on; each begins with an action, or is free to be taken."""

    comment: str
    ways: list[list[Any]]


class Label(NamedTuple):
    """A place that several ways lead to."""

    number: int


class Goto(NamedTuple):
    """Go on at a label."""

    number: int


def accessed(reads: tuple[Read, ...], writes: tuple[Write, ...]) -> set[int]:
    """Regions read or written."""
    return (
        {read.slot for read in reads}
        | {write.slot for write in writes}
        | {write.value.slot for write in writes if isinstance(write.value, Held)}
    )
