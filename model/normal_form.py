"""The normal form of a proof's state at a step boundary, relative to the step.

It has two parts: what must be equal for the future to be the same (the protocol's own state, which
version each region holds), and which of the last accesses are ordered before which stream, event or
graph. More order only hides hazards, so a state *covers* every other one that has the same order
and more; states of which one covers another need not both be followed (well-structured transition
systems: Finkel and Schnoebelen, TCS 256, 2001).

Programs that ask about order itself (`concurrent`, a query's answer) or whose equal writes need
none (`idempotent`) gain by a lack of order as well: their states must be equal in all.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from .clocks import SAME
from .errors import Unprovable
from .host_state import SCALARS, HostState
from .memory import Buffer, Idempotent
from .objects import Event, Stream
from .step import Step

if TYPE_CHECKING:
    from types import FrameType

    from .clocks import Clock, Frontier
    from .memory import Region
    from .objects import Handle
    from .proof import Prover

Ranks = dict[int, list[int]]
Named = list[tuple[Any, "Frontier"]]


class Form(NamedTuple):
    """A state: `equal` is what must be equal; `before` maps each access that the host has not
    waited for to the frontiers, by name, that it is ordered before.
    """

    equal: tuple[Any, ...]
    before: dict[Any, frozenset[Any]]

    def covers(self, other: Form) -> bool:
        """Whether whatever can go wrong from the other state can go wrong from this one."""
        mine = self.before
        return self.equal == other.equal and all(
            access in mine and mine[access] <= names for access, names in other.before.items()
        )

    def digest(self) -> str:
        """The state in few characters."""
        order = sorted((repr(access), sorted(map(repr, n))) for access, n in self.before.items())
        return hashlib.sha256(repr((self.equal, order)).encode()).hexdigest()[:32]


def normal_form(prover: Prover, frames: list[FrameType]) -> Form:
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
    own = (place(prover), reachable, notes)
    cells, regions = live_cells(prover, host), live_regions(prover, host)
    memory = [prover.clocks.memory[slot] for _name, slot in regions]
    if any(lane == SAME or isinstance(version, Idempotent) for lane, _t, version, *_ in memory):
        prover.scale.exactly()
    if prover.scale.exact:
        kept = [operation.frontier for operation in host.operations]
        return Form((*own, *exact_form(prover, cells, regions, kept)), {})
    versions = tuple(
        (name, version_form(prover, prover.clocks.memory[slot][2])) for name, slot in regions
    )
    return Form((*own, versions), before(prover, cells, regions))


def place(prover: Prover) -> tuple[int, int]:
    """What the program can tell of the step number itself."""
    scale = prover.scale
    return prover.now % scale.period, min(prover.now, scale.constant + 1)


def live_cells(prover: Prover, host: HostState) -> Named:
    """The frontiers of streams, graphs and events that can be reached."""
    return [
        (host.handle(thing), frontier)
        for thing, frontier in zip(prover.gpu.cells, prover.front.cells, strict=False)
        if not (isinstance(thing, Event) and is_gone(thing, prover, host))
    ]


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


def is_past(prover: Prover, lane: int, tick: int) -> bool:
    """Whether a place on a lane happened before the host's next call.

    It then happened before everything that follows and leaves no trace: with one host thread,
    whatever comes is issued by that call or a later one.
    """
    return lane == prover.clocks.lane or tick <= prover.clocks.host.get(lane, 0)


# --- order ---


def before(
    prover: Prover, cells: Named, regions: list[tuple[Any, int]]
) -> dict[Any, frozenset[Any]]:
    """For the last write and the last reads of each region, the frontiers that include them."""
    clocks = [(name, full(frontier)) for name, frontier in cells]
    found: dict[Any, frozenset[Any]] = {}
    seen: dict[tuple[int, int], frozenset[Any]] = {}
    for name, slot in regions:
        lane, tick, _version, readers, _group = prover.clocks.memory[slot]
        for kind, at in (("write", (lane, tick)), *((item[0], item) for item in readers.items())):
            if not is_past(prover, *at):
                if at not in seen:
                    seen[at] = frozenset(n for n, clock in clocks if clock.get(at[0], 0) >= at[1])
                found[name, kind] = seen[at]
    return found


# --- everything, for programs that can see more ---


def exact_form(
    prover: Prover, cells: Named, regions: list[tuple[Any, int]], kept: list[Frontier]
) -> tuple[Any, ...]:
    """Clocks, as ranks among the places that something can still be compared with."""
    held = [
        (name, frontier)
        for name, frontier in cells
        if not all(is_past(prover, *at) for at in full(frontier).items())
    ]
    ranks = ticks_in_use(prover, [*(frontier for _name, frontier in held), *kept], regions)
    return (
        tuple((name, ranked(full(frontier), ranks, prover)) for name, frontier in held),
        tuple((name, memory_form(prover, slot, ranks)) for name, slot in regions),
        tuple(ranked({lane: tick}, ranks, prover) for lane, tick, _clock in kept),
        tuple(prover.clocks.ordered(*pair) for pair in combinations(kept, 2)),
    )


def ticks_in_use(
    prover: Prover, frontiers: list[Frontier], regions: list[tuple[Any, int]]
) -> Ranks:
    """For each lane, the ticks that a later access, wait or property can be compared with."""
    ticks: dict[int, set[int]] = {}
    places = [(lane, tick) for lane, tick, _clock in frontiers]
    for _name, slot in regions:
        lane, tick, _version, readers, group = prover.clocks.memory[slot]
        places += [(lane, tick), *readers.items()]
        if lane == SAME:
            places += [group.base, *group.members.items()]
    for lane, tick in places:
        if lane != SAME and not is_past(prover, lane, tick):
            ticks.setdefault(lane, set()).add(tick)
    return {lane: sorted(found) for lane, found in ticks.items()}


def full(frontier: Frontier) -> Clock:
    """A frontier as a clock."""
    lane, tick, clock = frontier
    return {**clock, lane: max(tick, clock.get(lane, 0))}


def rank(place: tuple[int, int], ranks: Ranks, prover: Prover) -> int:
    """How many of the ticks in use on its lane a place has reached: none, once it is past."""
    lane, tick = place
    return 0 if is_past(prover, lane, tick) else bisect_right(ranks.get(lane, []), tick)


def ranked(clock: Clock, ranks: Ranks, prover: Prover) -> tuple[tuple[int, int], ...]:
    """A clock's components as ranks among the ticks in use."""
    known = ((lane, rank((lane, tick), ranks, prover)) for lane, tick in clock.items())
    return tuple(sorted((lane, found) for lane, found in known if found))


def memory_form(prover: Prover, slot: int, ranks: Ranks) -> tuple[Any, ...]:
    """A region: its version relative to the step, its last write, its last reads."""
    lane, tick, version, readers, group = prover.clocks.memory[slot]
    reads = ranked(readers, ranks, prover)
    if lane != SAME:
        return version_form(prover, version), ranked({lane: tick}, ranks, prover), reads
    base = ranked(dict([group.base]), ranks, prover)
    return version_form(prover, version), base, ranked(group.members, ranks, prover), reads


def version_form(prover: Prover, version: Any) -> Any:
    """A version: a step's age, *old* beyond what any read expects; with small steps themselves."""
    if isinstance(version, Idempotent):
        return "idempotent", version_form(prover, version.value)
    if type(version) is not Step:
        return type(version).__name__, shown(version)
    scale = prover.scale
    age = min(prover.now - version.number, scale.lag + 1)
    return "step", age, version.number if version.number <= scale.constant else None


def shown(version: Any) -> str:
    """A version that tells by its text all that it is compared by."""
    if isinstance(version, (tuple, frozenset)):
        return repr([(type(part).__name__, shown(part)) for part in version])
    ours = type(version).__module__.partition(".")[0] == "streamorder"
    if ours or type(version) in SCALARS:
        return repr(version)
    raise Unprovable(f"a {type(version).__name__} is a version: a proof knows numbers and texts")
