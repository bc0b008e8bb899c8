"""Missing edges: pairs of accesses that nothing orders, one for each pair of source lines.

Of all such pairs between two lines, the one whose down-set (everything that must have happened
before either) is smallest is kept: it is the shortest counterexample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .memory import conflict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .memory import Idempotent, Region
    from .recorder import Moment, Recording
    from .where import Where

Known = tuple["Moment", "bool | Idempotent"]
Lines = tuple["Where | None", "Where | None"]


class Pair(NamedTuple):
    """Two accesses of one region, the first issued before the second, unordered."""

    first: Moment
    second: Moment
    region: Region
    size: int
    """How many host phases and operations its down-set holds."""


class Edge(NamedTuple):
    """A missing edge: its smallest pair, and every region on which it is missing."""

    pair: Pair
    regions: tuple[Region, ...]

    @property
    def lines(self) -> Lines:
        """The two source lines, which identify the edge."""
        return lines(self.pair.first, self.pair.second)


def lines(first: Moment, second: Moment) -> Lines:
    """The two source lines of a pair."""
    return first.node.where, second.node.where


def missing_edges(recording: Recording) -> list[Edge]:
    """Every distinct missing edge of one schedule that it can show, smallest first."""
    best: dict[Lines, Pair] = {}
    regions: dict[Lines, dict[Region, None]] = {}
    for pair in unordered(recording.moments):
        key = lines(pair.first, pair.second)
        regions.setdefault(key, {})[pair.region] = None
        known = best.get(key)
        if (known is None or rank(pair) < rank(known)) and showable(recording, pair):
            best[key] = pair
    edges = [
        Edge(pair, tuple(sorted(regions[key], key=lambda region: region.slot)))
        for key, pair in best.items()
    ]
    return sorted(edges, key=lambda edge: rank(edge.pair))


def showable(recording: Recording, pair: Pair) -> bool:
    """Whether everything that must come before either access leaves out both.

    A call on which calls before one access depend may come after the other; then another schedule
    shows the pair.
    """
    needed = recording.closed(down_set(pair.first, pair.second))
    return all(needed.get(m.lane, 0) < m.tick for m in (pair.first, pair.second))


def rank(pair: Pair) -> tuple[int, int, int, int]:
    """Smaller down-sets first, then what was issued earlier."""
    return pair.size, pair.second.index, pair.first.index, pair.region.slot


def unordered(moments: list[Moment]) -> Iterator[Pair]:
    """Unordered conflicting pairs: for each second access, the earliest first one a line."""
    lanes: dict[int, dict[int, list[Known]]] = {}
    kinds: dict[tuple[int, int], set[tuple[Where | None, bool | Idempotent]]] = {}
    for moment in moments:
        for region, writes in moment.accesses():
            for lane, earlier in lanes.get(region.slot, {}).items():
                if lane != moment.lane:
                    yield from rivals(moment, region, writes, earlier, kinds[region.slot, lane])
        for region, writes in moment.accesses():
            known = lanes.setdefault(region.slot, {}).setdefault(moment.lane, [])
            known.append((moment, writes))
            kinds.setdefault((region.slot, moment.lane), set()).add((moment.node.where, writes))


def rivals(
    moment: Moment,
    region: Region,
    writes: bool | Idempotent,
    earlier: list[Known],
    kinds: set[tuple[Where | None, bool | Idempotent]],
) -> Iterator[Pair]:
    """The first access of each line of a lane that this access conflicts with and does not know."""
    seen: set[tuple[Where | None, bool | Idempotent]] = set()
    for other, other_writes in earlier[first_unknown(moment, earlier) :]:
        kind = (other.node.where, other_writes)
        if kind not in seen:
            seen.add(kind)
            if conflict(writes, other_writes):
                yield Pair(other, moment, region, down_set_size(other, moment))
            if len(seen) == len(kinds):
                return


def first_unknown(moment: Moment, earlier: list[Known]) -> int:
    """Where the part of a lane begins that did not happen before the moment."""
    low, high = 0, len(earlier)
    while low < high:
        middle = (low + high) // 2
        if moment.knows(earlier[middle][0]):
            low = middle + 1
        else:
            high = middle
    return low


def down_set(*moments: Moment) -> dict[int, int]:
    """For each lane, how much of it must have happened before all these moments can."""
    needed: dict[int, int] = {}
    for moment in moments:
        own = (moment.lane, moment.tick - 1)
        for lane, tick in (*moment.clock.items(), own):
            if lane != moment.lane or tick < moment.tick:
                needed[lane] = max(tick, needed.get(lane, 0))
    return needed


def down_set_size(first: Moment, second: Moment) -> int:
    """How many moments the down-set of two accesses holds."""
    return sum(down_set(first, second).values())
