"""Step boundaries in a proof: the step loop as the prover drives it, and the normal form there."""

from __future__ import annotations

import dis
import sys
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NoReturn

from .clocks import EMPTY, SAME
from .errors import Unprovable
from .host_state import HostState
from .memory import Buffer, Idempotent
from .objects import Event, Stream
from .step import Step
from .where import is_internal

if TYPE_CHECKING:
    from types import FrameType

    from .clocks import Clock, Frontier
    from .memory import Region
    from .objects import Handle
    from .proof import Prover

Ranks = dict[int, list[int]]


class Boundary:
    """The step loop: an iterable that only a plain `for` may drive.

    An iterator around it, such as `zip` with a cycle, would keep state where nothing can see it.
    At the boundary asked for, `form` becomes the normal form and the run ends, or the loop does.
    """

    def __init__(
        self, prover: Prover, steps: int, to_the_end: bool, reached: type[BaseException]
    ) -> None:
        self.prover = prover
        self.steps = steps
        self.to_the_end = to_the_end
        self.reached = reached
        self.frame: FrameType | None = None
        self.form: Any = None
        self.at = 0

    def refuse(self, why: str) -> NoReturn:
        """End the run: a proof is not possible."""
        self.prover.stop(Unprovable(why))

    def __iter__(self) -> Boundary:
        frame = sys._getframe(1)  # noqa: SLF001 - the caller is what matters
        if self.frame is not None:
            self.refuse("the protocol has a second step loop")
        if operation(frame) != "GET_ITER":
            self.refuse("steps() is not iterated by a plain `for`: what is around it keeps state")
        self.frame = frame
        return self

    def __next__(self) -> Step:
        frame = sys._getframe(1)  # noqa: SLF001 - the caller is what matters
        if frame is not self.frame or operation(frame) != "FOR_ITER":
            self.refuse("steps() is not iterated by a plain `for`: what is around it keeps state")
        prover = self.prover
        prover.looped, prover.now, prover.falses = True, self.at, {}
        if self.at == self.steps:
            if self.to_the_end:
                prover.looped = False
                raise StopIteration
            self.form = normal_form(prover, self.frames(frame))
            prover.stop(self.reached())
        prover.waits = 0
        self.at += 1
        return Step(prover.now, prover.scale)

    def frames(self, frame: FrameType) -> list[FrameType]:
        """The frames of the protocol, from the loop's outwards."""
        found = [frame]
        outer = frame.f_back
        while outer is not None and not is_internal(outer.f_code.co_filename):
            if not operation(outer).startswith("CALL"):
                self.refuse("the step loop runs inside a generator, whose caller keeps state")
            found.append(outer)
            outer = outer.f_back
        return found


def operation(frame: FrameType) -> str:
    """The name of the instruction that a frame is in."""
    return dis.opname[frame.f_code.co_code[frame.f_lasti]]


def normal_form(prover: Prover, frames: list[FrameType]) -> tuple[Any, ...]:
    """Everything that the future can depend on, relative to the step."""
    temporary = prover.temporary
    for thing in temporary:
        if isinstance(thing, Stream) or (isinstance(thing, Buffer) and thing.of is not None):
            raise Unprovable(f"{thing!r} is made inside the step loop: its address or order is new")
    host = HostState(prover.now, lambda thing: thing in temporary)
    reachable = host.of_frames(frames)
    notes = tuple(
        (host.handle(thing), host.of(note))
        for thing, note in sorted(prover.front.notes.items(), key=lambda item: item[0].serial)
    )
    return (place(prover), reachable, notes, engine_form(prover, host))


def place(prover: Prover) -> tuple[int, int]:
    """What the program can tell of the step number itself."""
    scale = prover.scale
    return prover.now % scale.period, min(prover.now, scale.constant + 1)


def engine_form(prover: Prover, host: HostState) -> tuple[Any, ...]:
    """Clocks and memory of what can still be reached."""
    cells = live_cells(prover, host)
    regions = live_regions(prover, host)
    ranks = ticks_in_use(prover, cells, regions)
    return (
        tuple((name, ranked(full(frontier), ranks)) for name, frontier in cells),
        tuple((name, memory_form(prover, slot, ranks)) for name, slot in regions),
        ranked(prover.clocks.host, ranks),
    )


def live_cells(prover: Prover, host: HostState) -> list[tuple[Any, Frontier]]:
    """The frontiers of streams, graphs and events that hold something and can be reached."""
    found = []
    for thing, frontier in zip(prover.gpu.cells, prover.front.cells, strict=False):
        gone = isinstance(thing, Event) and is_gone(thing, prover, host)
        if frontier is not EMPTY and not gone:
            found.append((host.handle(thing), frontier))
    return found


def live_regions(prover: Prover, host: HostState) -> list[tuple[Any, int]]:
    """The regions that can be reached."""
    return [
        ((host.handle(region.buffer), region.index), region.slot)
        for region in prover.gpu.regions
        if not is_gone(region.buffer, prover, host) and is_known(region, prover)
    ]


def is_gone(thing: Handle, prover: Prover, host: HostState) -> bool:
    """Whether a step made it and nothing can reach it any more."""
    return thing in prover.temporary and thing not in host.temporaries


def is_known(region: Region, prover: Prover) -> bool:
    """Whether this run has accessed the region: other runs may have made it."""
    lane, tick, _version, readers, _group = prover.clocks.memory[region.slot]
    return bool(tick or readers or lane == SAME)


def ticks_in_use(
    prover: Prover, cells: list[tuple[Any, Frontier]], regions: list[tuple[Any, int]]
) -> Ranks:
    """For each lane, the ticks that a later access or wait can be compared with."""
    ticks: dict[int, set[int]] = {}
    for _name, (lane, tick, _clock) in cells:
        ticks.setdefault(lane, set()).add(tick)
    for _name, slot in regions:
        lane, tick, _version, readers, group = prover.clocks.memory[slot]
        places = [(lane, tick), *readers.items()]
        if lane == SAME:
            places += [group.base, *group.members.items()]
        for other, at in places:
            ticks.setdefault(other, set()).add(at)
    return {lane: sorted(found) for lane, found in ticks.items()}


def full(frontier: Frontier) -> Clock:
    """A frontier as a clock."""
    lane, tick, clock = frontier
    return {**clock, lane: max(tick, clock.get(lane, 0))}


def ranked(clock: Clock, ranks: Ranks) -> tuple[tuple[int, int], ...]:
    """A clock's components as ranks among the ticks in use."""
    known = ((lane, bisect_right(ranks.get(lane, []), tick)) for lane, tick in clock.items())
    return tuple(sorted((lane, rank) for lane, rank in known if rank))


def memory_form(prover: Prover, slot: int, ranks: Ranks) -> tuple[Any, ...]:
    """A region: its version relative to the step, its last write, its last reads."""
    lane, tick, version, readers, group = prover.clocks.memory[slot]
    write: Any = (lane, bisect_right(ranks[lane], tick))
    if lane == SAME:
        base = (group.base[0], bisect_right(ranks[group.base[0]], group.base[1]))
        write = ("same", base, ranked(group.members, ranks))
    return version_form(prover, version), write, ranked(readers, ranks)


def version_form(prover: Prover, version: Any) -> Any:
    """A version: a step's age, *old* beyond what any read expects; with small steps themselves."""
    if isinstance(version, Idempotent):
        return "idempotent", version_form(prover, version.value)
    if not isinstance(version, Step):
        return type(version).__name__, repr(version)
    scale = prover.scale
    age = min(prover.now - version.number, scale.lag + 1)
    return "step", age, version.number if version.number <= scale.constant else None
