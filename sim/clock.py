"""When things happen in a simulation: what a clock owes to `SimGpu`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import simpy

if TYPE_CHECKING:
    from ..model.calls import Reads
    from .contents import Wrong
    from .cursors import Cursor
    from .gpu import SimGpu
    from .ops import Op

Happening = tuple[Any, ...]


class Clock:
    """The environment, when each thing goes on, and who hears of it.

    The generators yield SimPy events: a host thread before its next call (`turn`; what it returns
    is the call's result where an explorer decides, else None), before the rest of a call (`rest`)
    and before a call returns that has waited (`returned`); an operation that has come to the head
    of its lane (`admit`), and one whose predecessors are done (`work`). The other methods are told
    what goes on.
    """

    def __init__(self, env: simpy.Environment | None = None) -> None:
        self.env = simpy.Environment() if env is None else env

    def turn(self, sim: SimGpu, cursor: Cursor) -> Any:
        """Until a thread carries out its next call."""
        raise NotImplementedError

    def rest(self, sim: SimGpu, cursor: Cursor) -> Any:
        """Until a thread carries out the rest of a call."""
        raise NotImplementedError

    def returned(self, sim: SimGpu, cursor: Cursor) -> Any:
        """Until a call returns, whose wait is over."""
        del sim, cursor
        return
        yield

    def admit(self, sim: SimGpu, op: Op) -> Any:
        """Until the device looks at an operation."""
        del sim, op
        return
        yield

    def work(self, sim: SimGpu, op: Op) -> Any:
        """Until an operation that may run is done."""
        raise NotImplementedError

    def choice(self, sim: SimGpu, cursor: Cursor) -> int:
        """The option that the host chooses, where no explorer has decided."""
        raise NotImplementedError

    def happened(self, sim: SimGpu, happening: Happening, who: Cursor | Op) -> None:
        """Something happens now."""

    def issued(self, sim: SimGpu, op: Op) -> None:
        """An operation is issued now."""

    def ran(self, sim: SimGpu, op: Op) -> None:
        """An operation is done."""

    def waits(self, sim: SimGpu, cursor: Cursor) -> None:
        """A host thread begins to wait for the device (`cursor.awaited`)."""

    def returns(self, sim: SimGpu, cursor: Cursor) -> None:
        """The wait is over."""

    def accessed(self, sim: SimGpu, cursor: Cursor, reads: Reads, writes: Reads) -> None:
        """The host has loaded and stored."""

    def wrong(self, sim: SimGpu, who: Cursor | Op, wrong: list[Wrong]) -> None:
        """Accesses found another version than they expect, or freed memory."""
