"""From a missing edge to its counterexample: order, replay, words.

The counterexample carries out the down-set of the two accesses and nothing else, then the two in
the order that shows most: one in which a read finds a wrong version, if there is one.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

from .edges import Edge, down_set
from .linear import linear
from .memory import POISON, UNWRITTEN, Special
from .owners import frees, handed_on
from .recorder import Staged, simulate, source_of, written
from .replay import EnginesDisagree, replay
from .trace import Event, Lanes, Touch, described
from .verdict import MissingEdge, Site

if TYPE_CHECKING:
    from .contract import Contract
    from .host import Node
    from .memory import Region
    from .recorder import Moment, Recording

SUFFIX = 20_000
"""How many moments after a race are searched for a read that sees its effect."""


LONGEST_AFTERMATH = 24
"""A longer way from a race to the read that sees its effect is told in words only."""


class Sight(NamedTuple):
    """A read that finds a wrong version."""

    moment: Moment
    region: Region
    expected: object
    found: object


def witness(recording: Recording, contract: Contract, edge: Edge) -> MissingEdge:
    """The counterexample of a missing edge, replayed in the machine before it is returned."""
    first, second, region, _size = edge.pair
    before = linear(recording, contract, recording.closed(down_set(first, second)))
    bad = worst_order(recording, before, first, second)
    schedule = replay(recording.host, contract, before, (first, second))
    ends = (second, first) if bad.turned else (first, second)
    after = aftermath(recording, contract, [*before, *bad.order], bad.sight)
    roles = {ends[0]: "first", ends[1]: "second"}
    shown = tuple(events(recording, [*before, *bad.order, *after], roles))
    size = len(before) + len(bad.order)
    numbers = {moment: len(before) + 1 + i for i, moment in enumerate(bad.order)}
    return MissingEdge(
        kind="race" if bad.sight is None else "wrong version",
        first=site(ends[0]),
        second=site(ends[1]),
        region=repr(region),
        regions=tuple(map(repr, edge.regions)),
        ordered=False,
        sentence=sentence(recording, *ends, region),
        consequence=consequence(bad.sight),
        counterexample=shown[:size],
        schedule=schedule,
        aftermath=shown[size:],
        marks=(numbers[ends[0]], numbers[ends[1]]),
    )


Wrong = tuple["Moment", "Region", object, object]
"""A read in order of a wrong version: what is read where, expected and found."""


def wrong_version(recording: Recording, contract: Contract, wrong: Wrong) -> MissingEdge:
    """A read that is in order and finds a wrong version."""
    moment, region, _expected, _found = wrong
    before = linear(recording, contract, recording.closed(down_set(moment)))
    schedule = replay(recording.host, contract, [*before, moment])
    writer = last_writer(before, region)
    origin = site(writer) if writer else Site(None, "nothing")
    return MissingEdge(
        kind="wrong version",
        first=origin,
        second=site(moment),
        region=repr(region),
        regions=(repr(region),),
        ordered=True,
        sentence=in_order(recording, Sight(*wrong), before),
        consequence=consequence(Sight(*wrong)),
        counterexample=tuple(events(recording, [*before, moment], {moment: "second"})),
        schedule=schedule,
    )


def in_order(recording: Recording, sight: Sight, before: list[Moment]) -> str:
    """One sentence on a read that is wrong in every interleaving."""
    writer = last_writer(before, sight.region)
    if writer is None:
        said = f"{consequence(sight)}; nothing has written it before"
    elif sight.found is POISON:
        verb = verb_on(sight.moment, sight.region)
        past = owners_of(recording, sight.region, sight.moment, writer)
        return (
            f"{placed(sight.moment)} {verb} {named_by(sight.moment, sight.region)}, which "
            f"{placed(writer)} freed before{past}"
        )
    else:
        said = f"{consequence(sight)}; {placed(writer)} wrote it before{other_name(sight, writer)}"
    ended = f"{said}: they are in order, and the version is still wrong"
    return ended + ("" if writer is None else past_of(recording, sight, writer, before))


def other_name(sight: Sight, writer: Moment) -> str:
    """Under which name the memory was written, where it is another one."""
    name = named_by(writer, sight.region)
    return "" if name == named_by(sight.moment, sight.region) else f", as {name}"


def past_of(recording: Recording, sight: Sight, writer: Moment, before: list[Moment]) -> str:
    """How the memory came from one owner to another, that of a copy's source included."""
    past = owners_of(recording, sight.region, sight.moment, writer)
    for region, version in writer.writes:
        source = source_of(version)
        earlier = [m for m in before if m.index < writer.index]
        origin = last_writer(earlier, source) if source is not None else None
        if region.slot == sight.region.slot and source is not None and origin is not None:
            reader = version.moment if isinstance(version, Staged) else writer
            told = owners_of(recording, source, reader, origin)
            if told:
                name = named_by(reader, source)
                other = named_by(origin, source)
                past += f"; it was copied from {name}, which {placed(origin)} wrote as {other}"
                past += told
    return past


def owners_of(recording: Recording, region: Region, *ends: Moment) -> str:
    """The free and the allocation between two owners of a region, in words."""
    told = handed_on(recording, region, *ends)
    return "".join(f"; {placed_call(node)} {what}" for node, what in told)


def last_writer(moments: list[Moment], region: Region) -> Moment | None:
    """The last moment that wrote a region."""
    writers = (m for m in reversed(moments) if any(r.slot == region.slot for r, _v in m.writes))
    return next(writers, None)


class Bad(NamedTuple):
    """The two accesses in the order that shows most, and the read that finds a wrong version.

    `turned` says that the order in which they were issued is the wrong one: the edge that is
    missing leads from the later issued access to the earlier.
    """

    order: list[Moment]
    sight: Sight | None
    turned: bool


def worst_order(recording: Recording, before: list[Moment], first: Moment, second: Moment) -> Bad:
    """The order of the two accesses in which some read finds a wrong version, and that read."""
    done = {m.index for m in before} | {first.index, second.index}
    after = [m for m in recording.moments[: second.index + SUFFIX] if m.index not in done]
    usual = {(m.index, region.slot) for m, region, *_rest in recording.clocks.wrongs}
    marked = {first.index, second.index}
    for order, turned in (([second, first], False), ([first, second], True)):
        for seen in simulate([*before, *order, *after]):
            if seen[0].index in marked or (seen[0].index, seen[1].slot) not in usual:
                return Bad(order, Sight(*seen), turned and seen[0].index in marked)
    return Bad([second, first], None, turned=False)


def aftermath(
    recording: Recording, contract: Contract, shown: list[Moment], sight: Sight | None
) -> list[Moment]:
    """What leads from the two accesses to the read that finds the wrong version, which it ends in.

    Empty where the read is one of the two, or where a way there is long or is not the machine's.
    """
    if sight is None or sight.moment in shown:
        return []
    needed = recording.closed(down_set(sight.moment))
    known = {moment.index for moment in shown}
    way = [m for m in recording.moments if m.index not in known]
    way = [m for m in way if m.tick <= needed.get(m.lane, 0) and m is not sight.moment]
    way.append(sight.moment)
    if len(way) > LONGEST_AFTERMATH or (sight.moment, sight.region) not in [
        (seen[0], seen[1]) for seen in simulate([*shown, *way])
    ]:
        return []
    try:
        replay(recording.host, contract, [*shown, *way])
    except EnginesDisagree:
        return []  # a query's answer can depend on an operation that is late in this order
    return way


def events(recording: Recording, moments: list[Moment], roles: dict[Moment, str]) -> list[Event]:
    """Moments as events, with the versions that they read and write."""
    memory: dict[int, Any] = {}
    carried: dict[Any, Any] = {}
    order, lanes = directly_before(moments), Lanes()
    return [
        event(
            recording,
            lanes,
            number,
            moment,
            touched(moment, memory, carried),
            roles.get(moment),
            after,
        )
        for number, (moment, after) in enumerate(zip(moments, order, strict=True), 1)
    ]


def directly_before(moments: list[Moment]) -> list[tuple[int, ...]]:
    """For each moment the numbers of those on other lanes that happen directly before it: what
    follows from others and from the order of each lane is left out.
    """
    lanes: dict[int, tuple[list[int], list[int]]] = {}
    found: list[tuple[int, ...]] = []
    for number, moment in enumerate(moments, 1):
        last = {}
        for lane, (ticks, numbers) in lanes.items():
            known = moment.tick - 1 if lane == moment.lane else moment.clock.get(lane, 0)
            if at := bisect_right(ticks, known):
                last[lane] = numbers[at - 1]
        direct = [
            one
            for lane, one in last.items()
            if lane != moment.lane
            and not any(moments[other - 1].knows(moments[one - 1]) for other in last.values())
        ]
        found.append(tuple(sorted(direct)))
        ticks, numbers = lanes.setdefault(moment.lane, ([], []))
        ticks.append(moment.tick)
        numbers.append(number)
    return found


def touched(moment: Moment, memory: dict[int, Any], carried: dict[Any, Any]) -> list[Touch]:
    """A moment's accesses with the versions they see, and its effect on memory."""
    seen = [
        Touch(repr(r), False, version_in(memory, r), None if e is None else repr(e), r.slot)
        for r, e in moment.reads
    ]
    for i, region in enumerate(moment.staged):
        carried[moment, i] = memory.get(region.slot, UNWRITTEN)
        seen.append(Touch(repr(region), False, repr(carried[moment, i]), memory=region.slot))
    values = written(moment, memory, carried)
    memory.update((region.slot, value) for region, value in values)
    return seen + [Touch(repr(r), True, repr(value), memory=r.slot) for r, value in values]


def version_in(memory: dict[int, Any], region: Region) -> str:
    """The version that a region holds, in words."""
    return repr(memory.get(region.slot, UNWRITTEN))


def event(
    recording: Recording,
    lanes: Lanes,
    number: int,
    moment: Moment,
    touches: list[Touch],
    role: str | None,
    after: tuple[int, ...],
) -> Event:
    """A moment as an event."""
    assert moment.node.call is not None
    gpu = recording.host.gpu
    own = gpu.threads[-1 - moment.lane] if moment.on_host else moment.stream
    assert own is not None
    label = described(moment.node.call, moment.result) + (moment.aside or "")
    if moment.label:
        label = f"{moment.label} in {moment.node.call[1]}"
    if moment.on_host and moment.phase:
        label = f"↳ {label}"
    elif not moment.on_host and moment.node.call[0] == "launch":
        label = moment.node.call[2]
    verb = "call" if moment.on_host else "run"
    return Event(
        number, lanes.name(own), moment.on_host, verb, label, moment.node.step, tuple(touches),
        moment.node.where, role, after,
    )  # fmt: skip


def site(moment: Moment) -> Site:
    """Where a moment's call stands, and the call in words."""
    assert moment.node.call is not None
    call = described(moment.node.call)
    return Site(moment.node.where, f"{moment.label} in {call}" if moment.label else call)


def placed(moment: Moment) -> str:
    """A call in words, with its source line and step."""
    return placed_call(moment.node, site(moment).call)


def placed_call(node: Node, words: str | None = None) -> str:
    """A traced call, in these words or its own, with its source line and step."""
    assert node.call is not None
    step = "" if node.step is None else f", step {node.step}"
    return f"{words or described(node.call)} ({node.where}{step})"


def sentence(recording: Recording, first: Moment, second: Moment, region: Region) -> str:
    """One sentence that names the edge that is missing and both source lines."""
    names = [named_by(moment, region) for moment in (first, second)]
    verbs = [verb_on(moment, region) for moment in (first, second)]
    thing = "it" if names[0] == names[1] else f"{names[1]}, the same memory"
    return (
        f"nothing orders {placed(first)}, which {verbs[0]} {names[0]}, before {placed(second)}, "
        f"which {verbs[1]} {thing}{owners_of(recording, region, first, second)}"
    )


def named_by(moment: Moment, region: Region) -> str:
    """A region by the name under which a moment accesses it."""
    return next(repr(r) for r, _writes in moment.accesses() if r.slot == region.slot)


def verb_on(moment: Moment, region: Region) -> str:
    """Whether a moment reads, writes or frees a region."""
    if frees(moment, region):
        return "frees"
    kinds = [bool(writes) for r, writes in moment.accesses() if r.slot == region.slot]
    return "writes" if any(kinds) else "reads"


def consequence(sight: Sight | None) -> str | None:
    """What a read then sees, in words."""
    if sight is None:
        return None
    if sight.expected is None:
        return f"{placed(sight.moment)} touches {sight.region!r} after it was freed"
    found = f"version {sight.found!r}"
    if isinstance(sight.found, Special):
        found = "nothing written yet" if sight.found is UNWRITTEN else repr(sight.found)
    return (
        f"{placed(sight.moment)} finds {found} in {sight.region!r} where it expects version "
        f"{sight.expected!r}"
    )
