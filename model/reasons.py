"""Why a protocol is refuted: every distinct reason, with a counterexample each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .replay import replay
from .trace import described
from .verdict import MissingEdge, Site
from .witness import events, linear, site, witness, wrong_version

if TYPE_CHECKING:
    from .contract import Contract
    from .edges import Edge
    from .host import Node
    from .recorder import Recording


def reasons(
    contract: Contract, recordings: list[Recording], edges: list[tuple[Edge, Recording]]
) -> list[MissingEdge]:
    """Missing edges first; reads in order of a wrong version only where no edge is missing."""
    found = [witness(recording, contract, edge) for edge, recording in edges]
    if not found:
        wrong = [recording for recording in recordings if recording.clocks.wrongs]
        wrong.sort(key=lambda recording: recording.clocks.wrongs[0][0].index)
        found += [wrong_version(recording, contract) for recording in wrong[:1]]
    stuck = [recording for recording in recordings if recording.blocked()]
    stuck.sort(key=lambda recording: len(recording.moments))
    found += [deadlock(recording, contract) for recording in stuck[:1]]
    lost = {node.where: (node, r) for r in recordings for node in reversed(r.broken)}
    found += [overlap_lost(node, recording, contract) for node, recording in lost.values()]
    return found


def deadlock(recording: Recording, contract: Contract) -> MissingEdge:
    """Host threads that wait for one another: who waits where, and for what."""
    blocked = recording.blocked()
    everything = {m.lane: m.tick for m in recording.moments}
    order = linear(recording.moments, everything)
    sites = [Site(node.where, described(node.call)) for node in blocked if node.call is not None]
    waits = [waiting(node, recording) for node in blocked]
    return MissingEdge(
        kind="deadlock",
        first=sites[0],
        second=sites[-1],
        region=None,
        regions=(),
        ordered=False,
        sentence="nothing can go on: " + "; ".join(waits),
        consequence=None,
        counterexample=tuple(events(recording, order, [])),
        schedule=replay(recording.host, contract, order),
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
    state = "empty" if verb == "get" else "full"
    return f"{me} waits at {node.where} for queue {thing.name!r}, which is {state}"


def overlap_lost(node: Node, recording: Recording, contract: Contract) -> MissingEdge:
    """Two operations stated to be concurrent that are ordered."""
    assert node.call is not None
    by_node = {m.node: m for m in recording.moments if not m.on_host}
    first, second = sorted((by_node[op] for op in node.call[1:3]), key=lambda m: m.index)
    order = linear(recording.moments, {m.lane: m.tick for m in recording.moments})
    return MissingEdge(
        kind="overlap lost",
        first=site(first),
        second=site(second),
        region=None,
        regions=(),
        ordered=True,
        sentence=(
            f"{site(first).call} ({first.node.where}) and {site(second).call} "
            f"({second.node.where}) are stated to be concurrent at {node.where}, but are ordered"
        ),
        consequence=None,
        counterexample=tuple(events(recording, order, [])),
        schedule=replay(recording.host, contract, order),
    )
