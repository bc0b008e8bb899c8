"""Vector clocks: the order engine's sink.

A *lane* is a chain of accesses: a stream (its slot) or a host thread (`-1 - index`); `ticks`
counts each lane's. A frontier is `(lane, tick, clock)`: an operation's own place, and a dict from
other lanes to the last tick that happened before it. Every region remembers its last write and the
last read of each lane (FastTrack, Flanagan and Freund, PLDI 2009): an access that the clock does
not place after them is a hazard, so one pass decides one host schedule, whatever the device does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import Again
from .memory import POISON, UNINITIALISED, UNWRITTEN, Idempotent, Region, spoiled

if TYPE_CHECKING:
    from .calls import Reads
    from .gpu import Gpu
    from .objects import Cell, Stream

Clock = dict[int, int]
Frontier = tuple[int, int, Clock]


EMPTY: Frontier = (0, 0, {})


SAME = -1_000_000_000
"""The lane of a group of idempotent writes: no clock has a tick of it."""


class Group(NamedTuple):
    """Idempotent writes of one version: the write before them all, and each writer's last tick."""

    base: tuple[int, int]
    members: Clock


class Found(BaseException):
    """A hazard or a wrong version: the pass ends here. Not an `Exception`, so that no protocol
    swallows it.
    """


class Clocks:
    """Decides one host schedule as its effects arrive.

    - `host` is the clock of the host thread whose call is carried out; it is replaced, never
      changed, so that a stream can tell by identity that it has joined it;
    - `joined[slot]` is the host clock that a stream's tail includes;
    - `memory[slot]` is `[lane, tick, version, {lane: tick of its last read}, group]` of a region.
    """

    empty: Frontier = EMPTY

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.ticks: Clock = {}
        self.hosts: dict[int, Clock] = {0: {}}
        self.host: Clock = {}
        self.thread = 0
        self.lane = -1
        self.joined: dict[int, Clock] = {}
        self.memory: list[list[Any]] = []
        self.grow()

    def grow(self) -> None:
        """Give regions made since a memory cell each."""
        for _ in range(len(self.gpu.regions) - len(self.memory)):
            self.memory.append([-1, 0, UNWRITTEN, {}, None])

    # --- host threads ---

    def enter(self, thread: int) -> None:
        """The calls that follow are this host thread's."""
        if thread != self.thread:
            self.hosts[self.thread] = self.host
            self.thread, self.lane = thread, -1 - thread
            self.host = self.hosts.setdefault(thread, {})

    def release(self) -> Clock:
        """What the current thread knows, for another to `acquire`."""
        return self.host

    def acquire(self, known: Clock) -> None:
        """The current thread learns what another knew."""
        if any(tick > self.host.get(lane, 0) for lane, tick in known.items()):
            self.host = merged(self.host, known)

    def await_(self, frontier: Frontier) -> None:
        """The host has waited for everything in the frontier."""
        if not self.covered(frontier):
            lane, tick, clock = frontier
            host = merged(self.host, clock)
            host[lane] = max(tick, host.get(lane, 0))
            self.host = host

    def covered(self, frontier: Frontier) -> bool:
        """Whether everything in the frontier happened before the host's next call."""
        lane, tick, clock = frontier
        host = self.host
        return tick <= host.get(lane, 0) and all(t <= host.get(k, 0) for k, t in clock.items())

    passed = covered

    # --- the sink ---

    def join(self, first: Frontier, second: Frontier) -> Frontier:
        """The frontier of everything in either."""
        if second is EMPTY or second is first:
            return first
        if first is EMPTY:
            return second
        lane, tick, clock = first
        both = merged(clock, second[2])
        both[second[0]] = max(second[1], both.get(second[0], 0))
        return lane, max(tick, both.pop(lane, 0)), both

    def op(self, stream: Stream, before: Frontier, reads: Reads, writes: Reads) -> Frontier:
        """Issue an operation: check its accesses against the last ones, then remember them."""
        slot = stream.slot
        lane, _tick, clock = before
        if lane != slot or self.joined.get(slot) is not self.host:
            clock = self.issue(slot, before)
        tick = self.ticks[slot] = self.ticks.get(slot, 0) + 1
        if reads:
            memory = self.memory
            for region, expected in reads:
                cell = memory[region.slot]
                if cell[0] != slot and cell[1] > clock.get(cell[0], 0):
                    self.unordered(cell, slot, clock, region)
                if cell[2] is not expected and spoiled(cell[2], expected):
                    self.wrong(region, expected)
                cell[3][slot] = tick
        if writes:
            self.store(slot, tick, clock, writes)
        return slot, tick, clock

    def issue(self, slot: int, before: Frontier) -> Clock:
        """The clock of an operation: what the host knows (R9.1) and what the stream waited for."""
        lane, tick, clock = before
        self.joined[slot] = self.host
        joined = merged(self.host, clock)
        if lane != slot and tick > joined.get(lane, 0):
            joined[lane] = tick
        return joined

    def store(self, lane: int, tick: int, clock: Clock, writes: Reads) -> None:
        """Write versions, or what a region holds where a region stands for the version."""
        memory = self.memory
        if len(writes) > 1:  # all sources are read before anything is written
            writes = tuple([(r, memory[v.slot][2] if type(v) is Region else v) for r, v in writes])
        for region, version in writes:
            value = memory[version.slot][2] if type(version) is Region else version
            cell = memory[region.slot]
            if cell[2] is POISON and value is not UNINITIALISED and value is not POISON:
                self.wrong(region, None)
            if type(value) is Idempotent:
                self.store_same(lane, tick, clock, region, value.value)
                continue
            if cell[0] != lane and cell[1] > clock.get(cell[0], 0):
                self.unordered(cell, lane, clock, region)
            if cell[3]:
                self.after_readers(cell, lane, clock, region)
            cell[0], cell[1], cell[2] = lane, tick, value

    def after_readers(self, cell: list[Any], lane: int, clock: Clock, region: Region) -> None:
        """A write comes after every read of what it overwrites."""
        for reader, at in cell[3].items():
            if reader != lane and at > clock.get(reader, 0):
                self.race(region)
        cell[3] = {}

    def store_same(self, lane: int, tick: int, clock: Clock, region: Region, value: object) -> None:
        """A write that needs no order with others of an equal version: they form a group, whose
        place is a lane that no clock knows.
        """
        cell = self.memory[region.slot]
        joins = cell[0] == SAME and cell[2] == value
        base = cell[4].base if joins else (cell[0], cell[1])
        if not joins and cell[0] != lane and cell[1] > clock.get(cell[0], 0):
            self.unordered(cell, lane, clock, region)
        if joins and base[0] != lane and base[1] > clock.get(base[0], 0):
            self.race(region)
        self.after_readers(cell, lane, clock, region)
        members = cell[4].members if joins else {}
        cell[:] = SAME, 1, value, {}, Group(base, {**members, lane: tick})

    def unordered(self, cell: list[Any], lane: int, clock: Clock, region: Region) -> None:
        """A last write that the clock does not know: a hazard, unless it is a group it knows."""
        if cell[0] == SAME:
            members = cell[4].members.items()
            if all(other == lane or at <= clock.get(other, 0) for other, at in members):
                return
        self.race(region)

    def tick(self) -> int:
        """A new place on the current host thread's lane."""
        lane = self.lane
        tick = self.ticks[lane] = self.ticks.get(lane, 0) + 1
        self.host = {**self.host, lane: tick}
        return tick

    def host_read(self, reads: Reads) -> None:
        """The host loads now."""
        tick, lane, clock = self.tick(), self.lane, self.host
        for region, expected in reads:
            cell = self.memory[region.slot]
            if cell[0] != lane and cell[1] > clock.get(cell[0], 0):
                self.unordered(cell, lane, clock, region)
            if spoiled(cell[2], expected):
                self.wrong(region, expected)
            cell[3][lane] = tick

    def host_write(self, writes: Reads) -> None:
        """The host stores now."""
        tick = self.tick()
        self.store(self.lane, tick, self.host, writes)

    def stage(self, regions: tuple[Region, ...]) -> tuple[Any, ...]:
        """The runtime reads on the host thread now; what it read."""
        self.host_read(tuple((region, None) for region in regions))
        return tuple(self.memory[region.slot][2] for region in regions)

    # --- what was found ---

    def race(self, region: Region, /) -> None:
        """Two accesses without an order."""
        raise Found(region)

    def wrong(self, region: Region, expected: object, /) -> None:
        """An access in order, of a version that was not expected, or of freed memory."""
        raise Found(region, expected)

    def signal(self, stream: Stream, before: Frontier, cell: Cell, value: int) -> Frontier:
        """Cells need `values`: the search starts again with it."""
        raise Again(stream, before, cell, value)

    await_cell = signal

    def host_signal(self, cell: Cell, value: int) -> None:
        """Cells need `values`."""
        raise Again(cell, value)

    # --- for those who record, or carry operations out later ---

    def origin(self) -> Any:
        """Where an operation belongs that is carried out later."""
        return None

    def back_to(self, place: Any) -> None:
        """What follows belongs to an earlier call."""

    def ordered(self, first: Frontier, second: Frontier) -> bool:
        """Whether one of two operations happens before the other."""
        return precedes(first, second) or precedes(second, first)


def precedes(first: Frontier, second: Frontier) -> bool:
    """Whether the operation `first` is the operation `second` or happens before it."""
    lane, tick, clock = second
    return first[1] <= (tick if first[0] == lane else clock.get(first[0], 0))


def merged(first: Clock, second: Clock) -> Clock:
    """The lane-wise maximum, as a new dict."""
    both = dict(first)
    for lane, tick in second.items():
        if tick > both.get(lane, 0):
            both[lane] = tick
    return both
