"""Who listens to a timed run: with a clock to look at, and several at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .timed import Watch

if TYPE_CHECKING:
    import simpy

    from ..model.memory import Region
    from .contents import Wrong
    from .cursors import Cursor
    from .ops import Op


class Watching(Watch):
    """A listener that can look at the clock, once the run's environment is known as `env`."""

    env: simpy.Environment | None = None

    @property
    def now(self) -> float:
        """Simulated seconds."""
        assert self.env is not None
        return self.env.now


class Both(Watch):
    """Two listeners that hear the same."""

    def __init__(self, first: Watch, second: Watch) -> None:
        self.each = first, second

    def called(self, cursor: Cursor) -> None:
        """Pass it on."""
        for watch in self.each:
            watch.called(cursor)

    def waits(self, cursor: Cursor) -> None:
        """Pass it on."""
        for watch in self.each:
            watch.waits(cursor)

    def returns(self, cursor: Cursor) -> None:
        """Pass it on."""
        for watch in self.each:
            watch.returns(cursor)

    def issued(self, op: Op) -> None:
        """Pass it on."""
        for watch in self.each:
            watch.issued(op)

    def started(self, op: Op) -> None:
        """Pass it on."""
        for watch in self.each:
            watch.started(op)

    def ran(self, op: Op) -> None:
        """Pass it on."""
        for watch in self.each:
            watch.ran(op)

    def wrong(self, who: Cursor | Op, wrong: list[Wrong]) -> None:
        """Pass it on."""
        for watch in self.each:
            watch.wrong(who, wrong)

    def overlap(self, running: Op, other: Op | Cursor, region: Region) -> None:
        """Pass it on."""
        for watch in self.each:
            watch.overlap(running, other, region)
