"""A schedule as a counterexample: what happens in each step, and what is wrong at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model.again import from_the_start
from ..model.trace import Event, Lanes, Touch, described
from ..model.verdict import MissingEdge, Site
from .execution import Execution, named, stuck
from .ops import Op
from .untimed import START

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model.contract import Contract
    from ..model.host import Host
    from .cursors import Cursor
    from .execution import Access
    from .explore import Bad
    from .untimed import Choice

# What a step of a schedule is in a file: who, its result, the call in words, its source line.
Step = tuple[Any, ...]

FOLLOWED, SHOWN = 60, 24
"""For how many steps after a race its consequence is looked for, and how many are shown."""


class Teller:
    """Carries out a schedule step by step and says what happens."""

    def __init__(self, host: Host, contract: Contract, numbers: dict[Any, int]) -> None:
        self.execution = Execution(host, contract, (), numbers)
        self.events: list[Event] = []
        self.steps: list[Step] = []
        self.lanes = Lanes()

    def take(self, choice: Choice, role: str | None = None) -> Event:
        """One step, with the accesses that it makes and the versions that it finds."""
        who: Any = self.execution.gates.env.gates[choice[:2]].who
        self.steps.append(as_step(who, choice))
        threads = self.execution.sim.gpu.threads
        lane = self.lanes.name(who.stream if isinstance(who, Op) else threads[who.thread])
        label, step, where = said(who, choice[2]), who.step, who.where
        touches = self.touched(who, choice)
        self.execution.take(choice)
        on_host, number = not isinstance(who, Op), len(self.events) + 1
        verb = "call" if on_host else "run"
        event = Event(number, lane, on_host, verb, label, step, touches, where, role)
        self.events.append(event)
        return event

    def touched(self, who: Cursor | Op, choice: Choice) -> tuple[Touch, ...]:
        """The accesses of the step that comes next."""
        contents = self.execution.sim.contents
        if choice[2] == START and isinstance(who, Op):
            return ()
        if isinstance(who, Op):
            reads, writes = who.reads, who.writes
        else:
            reads, writes = self.execution.host_accesses(who)
        return (
            *(
                Touch(repr(r), False, repr(contents.version(r)), in_words(expected), r.slot)
                for r, expected in reads
            ),
            *(Touch(repr(r), True, repr(contents.meant(v)), memory=r.slot) for r, v in writes),
        )


def in_words(expected: object) -> str | None:
    """An expected version in words; None for none."""
    return None if expected is None else repr(expected)


def said(who: Cursor | Op, result: Any) -> str:
    """A step in words."""
    if isinstance(who, Op):
        return who.in_short + (" begins" if result == START else "")
    assert who.call is not None
    return ("↳ " if who.phase else "") + described(who.call, result)


def as_step(who: Cursor | Op, choice: Choice) -> Step:
    """A step as plain data: the same in every process, as long as the protocol is the same."""
    line = None if who.where is None else str(who.where)
    if isinstance(who, Op):
        node, phase, number = who.key
        return ("op", [node.thread, node.depth, phase, number], choice[2], who.in_full, line)
    result = choice[2] if isinstance(choice[2], (bool, int)) else None
    return ("host", who.thread, result, said(who, choice[2]), line)


def tell(host: Host, contract: Contract, bad: Bad, numbers: dict[Any, int]) -> MissingEdge:
    """What an exploration or a sample found, as a counterexample; its `schedule` is made of `Step`
    tuples, which `schedules` writes and reads.
    """
    found = from_the_start(lambda: _tell(host, contract, bad, numbers))
    return found._replace(regions=(*found.regions, *bad.others))


def _tell(host: Host, contract: Contract, bad: Bad, numbers: dict[Any, int]) -> MissingEdge:
    def carried_out(choices: Iterable[Choice]) -> Teller:
        teller = Teller(host, contract, numbers)
        for choice in choices:
            teller.take(choice)
        return teller

    if bad.kind == "deadlock":
        return deadlock(carried_out(bad.schedule))
    if bad.kind == "race":
        # First as if the older one came late, then as if the younger did.
        both = [race(carried_out(bad.schedule), bad, turn) for turn in (1, 0)]
        return max(both, key=lambda edge: edge.kind == "wrong version")
    teller = carried_out(bad.schedule[:-1])
    return wrong_version(teller, teller.take(bad.schedule[-1], "second"))


def deadlock(teller: Teller) -> MissingEdge:
    """Nothing can go on: who waits where."""
    sites = stuck(teller.execution)
    waiting = "; ".join(placed(one) for one in sites)
    return edge(
        "deadlock", sites, None, f"nothing can go on: these wait for ever: {waiting}", teller
    )


def wrong_version(teller: Teller, event: Event) -> MissingEdge:
    """An access that finds another version than it expects."""
    at = Site(event.where, event.label)
    touch = next((t for t in event.touches if t.wrong), event.touches[0])
    said = f"{placed(at, event)} finds {touch.version} in {touch.region}"
    if touch.expected is not None:
        said = finds(placed(at, event), touch.version, touch.region, touch.expected)
    return edge("wrong version", (at,), touch.region, said, teller)


def race(teller: Teller, bad: Bad, turn: int) -> MissingEdge:
    """Two accesses that are possible in one state, carried out in one of the two orders: what is
    missing leads from the one that comes second to the other.
    """
    pair, steps = meeting(teller.execution, bad), tuple(teller.steps)
    late, early = order = pair[turn], pair[1 - turn]
    events = [teller.take(way_on(teller.execution, access), "second") for access in order]
    events[1] = teller.events[-1] = events[1]._replace(role="first")
    region = repr(early.region)
    said = f"nothing orders {reached(early, events[1])}, before {reached(late, events[0])}"
    made = edge("race", (early.site, late.site), region, said, teller)
    made = made._replace(schedule=steps, marks=(events[1].number, events[0].number))
    wrong = [event for event in events if wrong_in(event)]
    after = () if wrong else followed(teller)
    if not wrong and not after:
        return made
    shown = after if len(after) <= SHOWN else ()
    seen = consequence([*wrong, *after][-1])
    return made._replace(kind="wrong version", consequence=seen, aftermath=shown)


def followed(teller: Teller) -> tuple[Event, ...]:
    """What leads from here to a read that finds a wrong version; nothing where none is near. What
    was issued is carried out first, in the order of issue, then the host goes on.
    """
    events: list[Event] = []
    while len(events) < FOLLOWED and (choices := teller.execution.enabled()):
        ops = [choice for choice in choices if choice[0] == "op"]
        events.append(teller.take(min(ops, key=lambda c: c[1]) if ops else choices[0]))
        if wrong_in(events[-1]):
            return tuple(events)
    return ()


def finds(who: str, found: str, region: str, expected: object) -> str:
    """What a read finds, and what it expects."""
    what = "nothing written yet" if found == "nothing" else f"version {found}"
    return f"{who} finds {what} in {region} where it expects version {expected}"


def way_on(execution: Execution, access: Access) -> Choice:
    """The choice that carries out an access."""
    return next(choice for choice in execution.enabled() if choice[:2] == access.key)


def meeting(execution: Execution, bad: Bad) -> tuple[Access, Access]:
    """The two accesses of a race, in the state in which both are possible."""
    return next(
        pair
        for pair in execution.hazards()
        if (pair[0].site, pair[1].site) == bad.sites and named(pair[0].region) == bad.region
    )


def reached(access: Access, event: Event) -> str:
    """An access with its source line and its step."""
    return (
        f"{placed(access.site, event)}, which {'writes' if access.mode else 'reads'} "
        f"{access.region!r}"
    )


def wrong_in(event: Event) -> bool:
    """Whether an event reads a wrong version."""
    return any(touch.wrong for touch in event.touches)


def consequence(event: Event) -> str:
    """What a read then finds."""
    touch = next(touch for touch in event.touches if touch.wrong)
    at = placed(Site(event.where, event.label), event)
    return finds(at, touch.version, touch.region, touch.expected)


def placed(site: Site, event: Event | None = None) -> str:
    """A call with its source line, and its step."""
    step = "" if event is None or event.step is None else f", step {event.step}"
    return f"{site.call} ({site.where}{step})"


def edge(
    kind: str, sites: tuple[Site, ...], region: str | None, sentence: str, teller: Teller
) -> MissingEdge:
    """A finding with the schedule that was carried out."""
    return MissingEdge(
        kind=kind,
        first=sites[0],
        second=sites[-1],
        region=region,
        regions=() if region is None else (region,),
        ordered=False,
        sentence=sentence,
        consequence=None,
        counterexample=tuple(teller.events),
        schedule=tuple(teller.steps),
    )
