"""Why a protocol is refuted: every distinct reason, with a counterexample each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .edges import down_set, unordered
from .linear import linear
from .recorder import source_of
from .replay import replay
from .trace import described
from .verdict import MissingEdge, Site
from .waits_for import cycle, stuck_schedule
from .witness import events, placed, site, witness, wrong_version

if TYPE_CHECKING:
    from .contract import Contract
    from .edges import Edge
    from .host import Node
    from .recorder import Recording
    from .witness import Wrong


def reasons(
    contract: Contract, recordings: list[Recording], edges: list[tuple[Edge, Recording]]
) -> list[MissingEdge]:
    """Missing edges first; then reads in order of a wrong version that no missing edge explains."""
    found = [witness(recording, contract, edge) for edge, recording in edges]
    wrong = [(sight, r) for r in recordings for sight in certain(r)]
    wrong.sort(key=lambda pair: pair[0][0].index)
    found += [wrong_version(recording, contract, sight) for sight, recording in wrong[:1]]
    stuck = [recording for recording in recordings if recording.blocked() or recording.hung()]
    stuck.sort(key=lambda recording: len(recording.moments))
    found += [deadlock(recording, contract) for recording in stuck[:1]]
    lost = {node.where: (node, r) for r in recordings for node in reversed(r.broken)}
    found += [overlap_lost(node, recording, contract) for node, recording in lost.values()]
    return found


def certain(recording: Recording) -> list[Wrong]:
    """The wrong reads of memory that nobody races for, nor for what was copied into it: they are
    wrong in every interleaving.
    """
    if not recording.clocks.wrongs:
        return []
    moments = recording.moments
    raced = {pair.region.slot for pair in unordered(moments)}
    copies = [
        (region.slot, source.slot)
        for moment in moments
        for region, version in moment.writes
        for source in [source_of(version)]
        if source is not None
    ]
    grown = -1
    while grown != len(raced):
        grown = len(raced)
        raced |= {target for target, source in copies if source in raced}
    return [wrong for wrong in recording.clocks.wrongs if wrong[1].slot not in raced]


def deadlock(recording: Recording, contract: Contract) -> MissingEdge:
    """Host threads that wait for one another: who waits where, and for what."""
    blocked = recording.blocked()
    held = [op.origin[0].node for op in recording.hung()]
    everything = {m.lane: m.tick for m in recording.moments}
    order = linear(recording, contract, everything)
    stuck = [*blocked, *held]
    sites = [Site(node.where, described(node.call)) for node in stuck if node.call is not None]
    waits = [waiting(node, recording) for node in stuck]
    return MissingEdge(
        kind="deadlock",
        first=sites[0],
        second=sites[-1],
        region=None,
        regions=(),
        ordered=False,
        sentence="nothing can go on: " + "; ".join(waits),
        consequence=None,
        counterexample=tuple(events(recording, order, {})),
        schedule=replay(recording.host, contract, order),
        cycle=cycle(stuck_schedule(recording), contract),
    )


def waiting(node: Node, recording: Recording) -> str:
    """What a blocked host thread waits for, by name."""
    assert node.call is not None
    gpu = recording.host.gpu
    verb, thing = node.call[0], node.call[1]
    me = gpu.threads[node.thread].name
    if verb == "acquire":
        holder = recording.shared.get(thing)
        whom = "itself" if holder == node.thread else gpu.threads[holder or 0].name
        return f"{me} waits at {node.where} for lock {thing.name!r}, held by {whom}"
    if verb == "join":
        return f"{me} waits at {node.where} for {thing.name} to return"
    if verb in {"get", "put"}:
        state = "empty" if verb == "get" else "full"
        return f"{me} waits at {node.where} for queue {thing.name!r}, which is {state}"
    if verb == "wait_value":
        return (
            f"{thing} waits at {node.where} for cell {node.call[2].name!r} to reach {node.call[3]}"
        )
    if verb == "wait_cell":
        return f"{me} waits at {node.where} for cell {thing.name!r} to reach {node.call[2]}"
    return f"{me} waits at {node.where} in {described(node.call)}"


def overlap_lost(node: Node, recording: Recording, contract: Contract) -> MissingEdge:
    """Two operations stated to be concurrent that are ordered."""
    assert node.call is not None
    by_node = {m.node: m for m in recording.moments if not m.on_host}
    first, second = sorted((by_node[op] for op in node.call[1:3]), key=lambda m: m.index)
    order = [*linear(recording, contract, recording.closed(down_set(second))), second]
    return MissingEdge(
        kind="overlap lost",
        first=site(first),
        second=site(second),
        region=None,
        regions=(),
        ordered=True,
        sentence=(
            f"{placed(first)} and {placed(second)} are stated to be concurrent at {node.where}, "
            "but are ordered"
        ),
        consequence=None,
        counterexample=tuple(events(recording, order, {})),
        schedule=replay(recording.host, contract, order),
    )
