"""What host threads can infer from the answers of queries.

Work can only be found unfinished after it was issued, and no longer once any thread's wait for it
has returned. So a false answer tells its thread of the calls that issued the work, and two false
answers can exclude one another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .clocks import merged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .clocks import Clock, Clocks, Frontier

Touched = set[tuple[object, bool]]


class News:
    """What has been told in one schedule.

    - `finished[lane]` is how far a stream is done for certain: a wait for that has returned;
    - `sources[slot]` is the host clock of the call that last changed a cell, with those it read;
    - `before` is the host clock of the current call before its own wait, None where it has none.
    """

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks
        self.finished: Clock = {}
        self.sources: dict[object, Clock] = {}
        self.waiting: dict[int, Any] = {}
        self.before: Clock | None = None

    def done(self, frontier: Frontier) -> bool:
        """Whether some wait that covers the frontier has returned."""
        return all(tick <= self.finished.get(lane, 0) for lane, tick in lanes_of(frontier).items())

    def awaits(self, thread: int, frontier: Any) -> None:
        """A thread begins to wait."""
        self.before = self.clocks.host
        self.waiting[thread] = frontier

    def returned(self, thread: int) -> Any:
        """What a thread has waited for, when it goes on; None if it was not waiting."""
        return self.waiting.pop(thread, None)

    def tell(self, frontier: Frontier) -> Iterable[int]:
        """A wait has returned; the streams of which more is known now."""
        lanes = lanes_of(frontier)
        for lane, tick in lanes.items():
            self.finished[lane] = max(tick, self.finished.get(lane, 0))
        return lanes

    def spread(self, touched: Touched) -> None:
        """Note on whose account cells hold what they hold."""
        cells = [(slot, changed) for slot, changed in touched if isinstance(slot, int)]
        known = self.clocks.host if self.before is None else self.before
        for slot, _changed in cells:
            known = merged(known, self.sources.get(slot, {}))
        for slot, changed in cells:
            if changed:
                self.sources[slot] = known

    def learn(self, touched: Touched) -> None:
        """The current thread learns of the calls that changed these cells."""
        for slot, _changed in list(touched):
            if isinstance(slot, int):
                self.clocks.acquire(self.sources.get(slot, {}))


def lanes_of(frontier: Frontier) -> Clock:
    """How far each stream is in a frontier."""
    lane, tick, clock = frontier
    lanes = {other: at for other, at in clock.items() if other >= 0}
    if tick:
        lanes[lane] = max(tick, lanes.get(lane, 0))
    return lanes
