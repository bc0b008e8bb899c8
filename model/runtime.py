"""What a runtime makes of a verdict: hazards exposed or hidden, programs that hang.

A verdict is under a contract, and stays what it is. On a *profile* a refuted protocol is

- *exposed*: every maximal map of streams to hardware queues, and everything else that the profile
  leaves open, shows a hazard;
- *may be hidden*: some show it and some do not;
- *hidden*: none shows it. Nothing is mended by that, and a map that changes with every operation
  never proves it.

A masking only adds order, so what is safe has no hazard there; but it may *hang*, where something
waits for a value. Hangs are looked for on every legal map.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from . import queue_maps
from .environment import entries_of
from .errors import NotModelled
from .profiles import profile_named
from .verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from .contract import Contract
    from .decision import Decision
    from .masking import Lane, Masking
    from .profiles import Entry, Setting
    from .queue_maps import Map
    from .waits_for import Wait

EXPOSED, MAY_HIDE, HIDDEN, UNDECIDED = "exposed", "may be hidden", "hidden", "undetermined"
HANGS, MAY_HANG, NO_HANG = "hangs", "may hang", "does not hang"

MOST_MAPS = 5_000
"""How many maps, of each kind of masking, are decided."""

MOST_PAIRS = 120
"""How many pairs of lanes are tried together on one queue."""

NOT_ALL = "not all maps were decided"
UNSURE = "a search on some map was not complete, or depends on a promise that is left open"


class Choice(NamedTuple):
    """One kind of masking that the profile leaves open: in words, and on how many of its maps
    something shows.
    """

    words: str
    shown: int
    maps: int

    def as_data(self) -> dict[str, Any]:
        """As plain data."""
        return {"masking": self.words, "shown": self.shown, "maps": self.maps}


class Pair(NamedTuple):
    """Two lanes whose sharing a queue hides every hazard, and where: None for anywhere."""

    first: Lane
    second: Lane
    where: str | None

    def __str__(self) -> str:
        return f"{self.first} and {self.second}" + (f" ({self.where})" if self.where else "")


class Hang(NamedTuple):
    """Whether a program hangs: on how many of the legal maps at most, the finest of these with the
    kind of masking, the cycle there.
    """

    outcome: str
    shown: int
    maps: int
    where: str | None
    cycle: tuple[Wait, ...]
    reason: str | None

    def as_data(self) -> dict[str, Any]:
        """As plain data."""
        return {**self._asdict(), "cycle": [wait._asdict() for wait in self.cycle]}


class Findings(NamedTuple):
    """What one setting makes of a protocol; `hazard` and `hang` are None where there is nothing to
    hide, or nothing that could hang. `bounded` says that not all maps were decided.
    """

    lanes: dict[Lane, int]
    queues: int | None
    dynamic: bool
    hazard: str | None
    choices: tuple[Choice, ...]
    hidden_by: tuple[Pair, ...]
    hang: Hang | None
    bounded: str | None

    def as_data(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "lanes": list(self.lanes),
            "queues": self.queues,
            "dynamic": self.dynamic,
            "hazard": self.hazard,
            "choices": [choice.as_data() for choice in self.choices],
            "hidden_by": [pair._asdict() for pair in self.hidden_by],
            "hang": self.hang.as_data() if self.hang else None,
            "bounded": self.bounded,
        }


class OnRuntime(NamedTuple):
    """What a profile makes of a verdict, by the readings that it follows; `against` is the same by
    those that it does not, where source and observation disagree.
    """

    profile: str
    env: dict[str, str]
    entries: tuple[Entry, ...]
    found: Findings
    against: Findings | None

    def exit_code(self, outcome: Outcome) -> int:
        """1 where a program that is safe by contract can hang, 3 where something is undetermined
        here that is not in the verdict itself.
        """
        hang = self.found.hang.outcome if self.found.hang else NO_HANG
        if UNDECIDED in {hang, self.found.hazard}:
            return 0 if outcome is Outcome.UNDETERMINED else 3
        return int(hang != NO_HANG and outcome in {Outcome.PROVED, Outcome.HOLDS})

    def as_data(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "profile": self.profile,
            "env": self.env,
            "entries": [entry.as_data() for entry in self.entries],
            **self.found.as_data(),
            "against": self.against.as_data() if self.against else None,
        }


Decided = tuple["Contract", "Decision"]
"""A decision, and the reading of the contract that it was made under."""


class Asked(NamedTuple):
    """What a runtime is asked: how to decide under a contract, and how to do so in a way that keeps
    who waits for whom; the verdict's outcome, whether the protocol waits for values, and the time
    at which to stop (on `time.monotonic`).
    """

    decide: Callable[[Contract], list[Decided]]
    decide_hang: Callable[[Contract], list[Decided]]
    contract: Contract
    outcome: Outcome
    spins: bool
    deadline: float


def on_runtime(
    asked: Asked, name: str, env: Mapping[str, str], swept: Mapping[str, int] | None = None
) -> OnRuntime:
    """Decide on a profile, with environment variables and, over both, fields of the setting."""
    profile = profile_named(name)
    more = entries_of(profile, env)
    fields = dict(swept or {})
    followed = profile.setting(more).changed(fields)
    other = profile.setting(more, against=True).changed(fields)
    found = findings(asked, followed)
    against = findings(asked, other) if other != followed else None
    return OnRuntime(name, dict(env), (*profile.entries, *more), found, against)


def findings(asked: Asked, setting: Setting) -> Findings:
    """What a setting makes of a protocol."""
    seen = Runtime(asked, setting)
    hazard, bounded = None, None
    if asked.outcome is Outcome.REFUTED and seen.hazardous:
        hazard, bounded = seen.hazard()
    elif asked.outcome is Outcome.UNDETERMINED:
        hazard = UNDECIDED
    hides = hazard in {EXPOSED, MAY_HIDE} and setting.queues is not None
    return Findings(
        lanes=seen.lanes,
        queues=setting.queues,
        dynamic=setting.moves and seen.crowded,
        hazard=hazard,
        choices=tuple(seen.choices()),
        hidden_by=tuple(seen.hidden_by()) if hides else (),
        hang=seen.hang() if asked.spins else None,
        bounded=bounded,
    )


class Runtime:
    """One protocol on one setting.

    `lanes` has the device of everything that takes places in hardware queues, `packets` also how
    many each takes; `variants` are the kinds of masking to decide, `results` how each came out: on
    how many maps a hazard shows, and of how many.
    """

    def __init__(self, asked: Asked, setting: Setting) -> None:
        self.asked = asked
        self.setting = setting
        first = self.decide(without_waits(setting.masking), ())
        self.packets = {lane: seen for one in first for lane, seen in one.lanes.items()}
        self.lanes: dict[Lane, int] = {lane: at for lane, (at, _n) in self.packets.items()}
        self.variants = setting.variants(any(one.sizes_missing for one in first))
        self.hazardous = any(one.hazards for _c, one in asked.decide(asked.contract))
        self.results: dict[Masking, tuple[int, int]] = {}

    def decide(self, masking: Masking, blocks: Map) -> list[Decision]:
        """One decision for each reading of the contract, on one map."""
        return [one for _c, one in self.asked.decide(self.contract(masking, blocks))]

    def contract(self, masking: Masking, blocks: Map) -> Contract:
        """The contract with a masking on a map; where the masking says which copies of pageable
        memory the host awaits, the contract leaves that open no longer.
        """
        queues = queue_maps.numbered(blocks)
        said = {
            "pageable_uploads_return": masking.pageable_limit is not None,
            "pageable_downloads_return": masking.downloads_awaited,
        }
        known = {field: True for field, so in said.items() if so}
        return self.asked.contract._replace(masking=masking._replace(queues=queues), **known)

    @property
    def crowded(self) -> bool:
        """Whether some device has more lanes than queues."""
        devices = list(self.lanes.values())
        queues = self.setting.queues
        return queues is not None and any(devices.count(at) > queues for at in set(devices))

    def late(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self.asked.deadline

    # --- hazards ---

    def hazard(self) -> tuple[str, str | None]:
        """Exposed, may be hidden or hidden; and why that is not the whole truth."""
        bounded = None
        for masking in self.variants:
            shown = maps = 0
            for blocks in queue_maps.maximal(self.lanes, self.setting.queues):
                if maps >= MOST_MAPS or self.late():
                    bounded = NOT_ALL
                    break
                result = refuted(self.decide(masking, blocks))
                if result is None:
                    return UNDECIDED, UNSURE
                shown, maps = shown + result, maps + 1
            self.results[masking] = shown, maps
        if self.setting.moves and self.crowded:
            said = self.by_packet()
            return said, UNSURE if said == UNDECIDED else bounded
        return self.from_maps(bounded), bounded

    def from_maps(self, bounded: str | None) -> str:
        """What the maps say; where not all were decided, only that some show it and some do not."""
        shown = sum(shown for shown, _maps in self.results.values())
        maps = sum(maps for _shown, maps in self.results.values())
        if 0 < shown < maps:
            return MAY_HIDE
        if bounded:
            return UNDECIDED
        return EXPOSED if shown else HIDDEN

    def by_packet(self) -> str:
        """R4.2: a map that changes with each packet lies between no sharing and one queue for all:
        what all on one queue shows every map shows, and what no sharing shows no map does. Between
        the two it may be hidden: such a map proves nothing.
        """
        all_on_one = queue_maps.one_each(self.lanes)
        shared = [refuted(self.decide(masking, all_on_one)) for masking in self.variants]
        if all(shared):
            return EXPOSED
        alone = [refuted(self.decide(masking, ())) for masking in self.variants]
        if not any(alone) and None not in alone:
            return HIDDEN
        hides, shows = False in (*shared, *alone), True in (*shared, *alone)
        return MAY_HIDE if hides and shows else UNDECIDED

    def choices(self) -> Iterator[Choice]:
        """On how many maps each kind of masking shows a hazard."""
        for words, (shown, maps) in told_apart(self.results).values():
            yield Choice(words, shown, maps)

    def hidden_by(self) -> Iterator[Pair]:
        """The pairs of lanes whose sharing one queue hides what shows where none is shared."""
        shows = [masking for masking in self.variants if refuted(self.decide(masking, ()))]
        for count, (first, second) in enumerate(queue_maps.pairs(self.lanes)):
            if count >= MOST_PAIRS or self.late():
                return
            blocks = queue_maps.together(first, second)
            hides = {m: refuted(self.decide(m, blocks)) is False for m in shows}
            where = [words for words, hidden in told_apart(hides).values() if hidden]
            if where:
                yield Pair(first, second, " or ".join(where) or None)

    # --- hangs ---

    def hang(self) -> Hang:
        """Whether the program hangs on some legal map: they are all tried."""
        results: dict[Masking, tuple[Map, ...]] = {}
        maps = 0
        for masking in self.variants:
            results[masking] = ()
            for count, blocks in enumerate(queue_maps.legal(self.lanes, self.setting.queues), 1):
                result = None if self.late() else hangs(self.decide(masking, blocks))
                if count > MOST_MAPS or result is None:
                    some = any(results.values())
                    return self.hung(MAY_HANG if some else UNDECIDED, results, count, NOT_ALL)
                maps = count
                if result:
                    results[masking] += (blocks,)
        if any(results.values()):
            always = all(len(shown) == maps for shown in results.values())
            return self.hung(HANGS if always else MAY_HANG, results, maps, None)
        if self.setting.moves and any(queue_maps.pairs(self.lanes)):
            return self.hang_by_packet(maps)
        return self.hung(NO_HANG, results, maps, None)

    def hang_by_packet(self, tried: int) -> Hang:
        """R4.2: every map that gives each packet a queue by itself, as far as that goes."""
        queues = self.setting.queues or 1
        for masking in self.variants:
            counted = masking._replace(counts=True)
            for blocks in queue_maps.of_packets(self.packets, queues):
                tried += 1
                result = None if self.late() else hangs(self.decide(counted, blocks))
                if result:
                    return self.hung(MAY_HANG, {counted: (blocks,)}, tried, None)
                if tried > MOST_MAPS or result is None:
                    return self.hung(UNDECIDED, {}, tried, NOT_ALL)
        return self.hung(NO_HANG, {}, tried, None)

    def hung(
        self, outcome: str, results: dict[Masking, tuple[Map, ...]], maps: int, reason: str | None
    ) -> Hang:
        """The result, with the cycle on the map that shares least."""
        apart = told_apart(results)
        shown = [(m, words, where) for m, (words, where) in apart.items() if where]
        if not shown:
            return Hang(outcome, 0, maps, None, (), reason)
        masking, words, found = min(shown, key=lambda one: shared(one[2][0]))
        where = queue_maps.described(found[0]) + (f", {words}" if words else "")
        cycle = self.cycle(masking, found[0])
        count = max(len(found) for _masking, _words, found in shown)
        return Hang(outcome, count, maps, where, cycle, reason)

    def cycle(self, masking: Masking, blocks: Map) -> tuple[Wait, ...]:
        """Who waits for whom there."""
        found = self.asked.decide_hang(self.contract(masking, blocks))
        hung = [(one, reading) for reading, one in found if one.hangs]
        return cycle_of(*hung[0]) if hung else ()


def cycle_of(decision: Decision, contract: Contract) -> tuple[Wait, ...]:
    """Who waits for whom in the first hang that a decision has found."""
    from .waits_for import cycle, stuck_schedule, stuck_state

    if decision.walk is not None:
        return cycle(stuck_state(decision.walk), contract) if decision.walk.deadlocks else ()
    from .tree import record

    assert decision.host is not None
    for steps in decision.bad:
        recording = record(decision.host, contract, steps)
        if recording.blocked() or recording.hung():
            return cycle(stuck_schedule(recording), contract)
    return ()


def without_waits(masking: Masking) -> Masking:
    """A masking under which every packet is issued that the contract lets be issued, and counted:
    to see what there is.
    """
    return masking._replace(
        counts=True, ring=None, awaits=(), first_use_drains=False, copies_after_all=False
    )


def shared(blocks: Map) -> int:
    """How much a map shares: how many things have a queue that is not theirs alone."""
    return sum(len(block) - 1 for block in blocks)


def refuted(decisions: Iterable[Decision]) -> bool | None:
    """Whether every reading shows a hazard; None where they differ or a search was not complete."""
    results = {one.hazards or (None if one.spent or one.stopped else False) for one in decisions}
    return None if len(results) > 1 else results.pop()


def hangs(decisions: Iterable[Decision]) -> bool | None:
    """Whether some reading hangs; None where a search was not complete."""
    decisions = list(decisions)
    if any(one.hangs for one in decisions):
        return True
    return None if any(one.spent or one.stopped for one in decisions) else False


WORDS = {
    "unsized": {"small": "copies by kernel on the queue", "large": "copies by copy engine"},
    "engines": {"own": "a copy engine a stream", "shared": "one copy engine for all streams"},
    "copies_after_all": {True: "copies after all issued work", False: "copies not held back"},
    "first_use_drains": {True: "a kernel's first launch waits for the device",
                         False: "first launches do not wait"},
}  # fmt: skip
"""In which fields the maskings of one setting can differ, in words."""

Result = TypeVar("Result")


def told_apart(results: dict[Masking, Result]) -> dict[Masking, tuple[str, Result]]:
    """One masking for each result that differs, with the words for the fields that make it: fields
    that change nothing are left out.
    """
    matter = [field for field in WORDS if matters(field, results)]
    found: dict[tuple[Any, ...], Masking] = {}
    for masking in results:
        found.setdefault(tuple(getattr(masking, field) for field in matter), masking)
    return {
        masking: (", ".join(WORDS[f][getattr(masking, f)] for f in matter), results[masking])
        for masking in found.values()
    }


def matters(field: str, results: dict[Masking, Any]) -> bool:
    """Whether two maskings that differ in this field alone come out differently."""
    by_rest: dict[Masking, list[Any]] = {}
    for masking, result in results.items():
        rest = masking._replace(**{field: next(iter(WORDS[field]))})
        by_rest.setdefault(rest, []).append(result)
    return any(result != same[0] for same in by_rest.values() for result in same)


def guarded(decide: Callable[[Contract], list[Decided]]) -> Callable[[Contract], list[Decided]]:
    """A way to decide for which what is not modelled is a search that was not complete."""

    def decided(contract: Contract) -> list[Decided]:
        try:
            return decide(contract)
        except NotModelled as error:
            from .decision import Decision

            found = Decision()
            found.spent = str(error)
            return [(contract, found)]

    return decided
