"""The search for repairs: minimal sets of additions after which nothing is wrong.

Whatever is wrong first must be mended by some addition of every repair, so the search branches on
what could mend that, and goes on from there with what is wrong then. A set that mends everything is
made minimal by trying every proper subset.
"""

from __future__ import annotations

import heapq
from itertools import combinations
from typing import TYPE_CHECKING

from .additions import KINDS, Addition, Gap
from .inserts import Insert, named_stream
from .others import other_additions
from .program import Traced

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..edges import Edge
    from .edits import Edit
    from .trial import Trials, Trouble

MOST_ADDITIONS, MOST_OTHERS, MORE = 4, 2, 1
"""How many additions a repair may have, where an edge is missing and where something else is wrong;
and how many more than the smallest repair."""

ENOUGH = 16
"""After how many repairs the search ends."""

ORDER = {kind: place for place, kind in enumerate(KINDS)}
STALLS = frozenset(kind for kind in KINDS if kind.startswith("host waits"))

Set = frozenset[Addition]
Waiting = tuple[tuple[int, int, int], int, Set, "Trouble"]
"""Its cost, a number that tells equals apart, a set of additions, what is wrong with it."""


def edits_of(additions: Set) -> frozenset[Edit]:
    """All the edits of some additions."""
    return frozenset(edit for addition in additions for edit in addition.edits)


def cost(additions: Set) -> tuple[int, int, int]:
    """What is looked at first: fewer additions, fewer host waits, simpler kinds."""
    stalls = sum(addition.kind in STALLS for addition in additions)
    kinds = sum(ORDER[addition.kind] for addition in additions)
    return len(additions), stalls, kinds


class Finder:
    """Looks for repairs of one protocol.

    - `tried` counts the sets of additions of each kind that were tried;
    - `complete` says that the search came to its end by itself.
    """

    def __init__(self, trials: Trials, trouble: Trouble) -> None:
        self.trials = trials
        self.trouble = trouble
        self.tried: dict[str, int] = {}
        self.found: list[Set] = []
        self.complete = False
        self.seen: set[Set] = set()

    def repairs(self) -> list[Set]:
        """Minimal repairs, in the order in which they were found."""
        queue: list[Waiting] = []
        self.seen = {frozenset()}
        heapq.heappush(queue, (cost(frozenset()), 0, frozenset(), self.trouble))
        while queue and len(self.found) < ENOUGH:
            _cost, _number, base, trouble = heapq.heappop(queue)
            for stage in self.stages(base, trouble):
                before = len(self.found), len(queue)
                for addition in stage:
                    if self.trials.over:
                        return self.found
                    self.extend(base | {addition}, trouble, queue)
                if before != (len(self.found), len(queue)):
                    break
        self.complete = not queue
        return self.found

    def extend(self, longer: Set, trouble: Trouble, queue: list[Waiting]) -> None:
        """Try a set with one addition more; it waits for others if it helps and is no repair."""
        if longer in self.seen or self.has_smaller(longer) or len(longer) > self.most(trouble):
            return
        self.seen.add(longer)
        left = self.attempt(longer)
        if left is not None and self.progress(trouble, left):
            heapq.heappush(queue, (cost(longer), len(self.seen), longer, left))

    def stages(self, base: Set, trouble: Trouble) -> Iterator[list[Addition]]:
        """What might mend what is wrong first, the simpler kinds first. Where a version is wrong
        in order, that comes before missing edges, unless nothing helps against it by itself.
        """
        if len(base) >= self.most(trouble):
            return
        assert trouble.decision.host is not None
        traced = Traced(trouble.decision.host)
        if trouble.wrong or not trouble.edges:
            edits = edits_of(base)
            others = other_additions(traced, trouble, lambda drop: self.past(edits, drop))
            yield in_order(others)
        if trouble.edges:
            yield in_order(Gap(traced, trouble.edges[0][0]).additions())

    def past(self, edits: frozenset[Edit], drop: Edit) -> Traced | None:
        """The calls of a program with one more edit, traced as far as they go."""
        return self.trials.traced(edits | {drop})

    def attempt(self, additions: Set) -> Trouble | None:
        """Try a set: a repair is kept; what is still wrong otherwise, None where that is no use."""
        for addition in additions:
            self.tried[addition.kind] = self.tried.get(addition.kind, 0) + 1
        edits = edits_of(additions)
        if self.trials.holds(edits):
            self.keep(additions)
            return None
        if len(additions) >= self.most(self.trouble):
            return None
        return self.trials.trouble(edits)

    def most(self, trouble: Trouble) -> int:
        """How many additions are tried together."""
        most = MOST_ADDITIONS if trouble.edges else MOST_OTHERS
        return min([most, *(len(found) + MORE for found in self.found)])

    def progress(self, before: Trouble, after: Trouble) -> bool:
        """Whether what was wrong first is mended."""
        if before.wrong and before.wrong_lines() != after.wrong_lines():
            return True
        if before.edges:
            same_contract = before.contract.name == after.contract.name
            mended = ends(before.edges[0][0])
            return not same_contract or all(ends(edge) != mended for edge, _r in after.edges)
        return before.lines() != after.lines()

    def has_smaller(self, additions: Set) -> bool:
        """Whether a repair is known that needs less."""
        return any(known <= additions for known in self.found)

    def keep(self, additions: Set) -> None:
        """Keep a repair, or the smallest subsets of it that are repairs."""
        for size in range(1, len(additions)):
            smaller = [
                frozenset(some)
                for some in combinations(sorted(additions, key=repr), size)
                if self.trials.holds(edits_of(frozenset(some)))
            ]
            if smaller:
                self.found += [some for some in smaller if not self.has_smaller(some)]
                return
        if not self.idle_calls(additions):
            self.found.append(additions)

    def idle_calls(self, additions: Set) -> bool:
        """Whether some single call of the additions could be left out as well."""
        edits = edits_of(additions)
        calls = [edit for edit in edits if isinstance(edit, Insert) and not edit.paired]
        return len(edits) > 1 and any(self.trials.holds(edits - {edit}) for edit in calls)


def in_order(additions: Iterable[Addition]) -> list[Addition]:
    """Additions, each once, the simpler kinds first."""
    return sorted(dict.fromkeys(additions), key=lambda addition: ORDER[addition.kind])


def ends(edge: Edge) -> tuple[object, ...]:
    """What tells one missing edge from another: its lines, and the streams of its accesses."""
    streams = (named_stream(m.node.call or ("",)) for m in (edge.pair.first, edge.pair.second))
    return *edge.lines, *streams
