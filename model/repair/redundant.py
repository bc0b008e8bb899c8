"""Redundant synchronisation: what can be left out and nothing changes.

A wait is left out, and the protocol decided again: where it still holds, or where exactly the same
is wrong as before, the wait orders nothing that matters. A wait that only lets the host read what
it has just downloaded is found by leaving out the download with it: if the rest does not change,
the wait protects that read and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..memory import DEVICE
from ..trace import described
from .changes import Drop
from .program import HOST_WAITS
from .rewrite import regions_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..calls import Call
    from ..host import Node
    from ..where import Where
    from .edits import Edit
    from .program import Traced
    from .trial import Trials, Trouble

SYNCHRONISATIONS = (*sorted(HOST_WAITS), "wait")


class Redundant(NamedTuple):
    """A synchronisation that orders nothing that matters.

    `stalls` says that the host waits in it; `download` is the line whose download it serves, where
    that is all it does; `after` says that it is needed now, and redundant after the repair.
    """

    where: Where | None
    call: str
    stalls: bool
    download: Where | None = None

    def as_data(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return {
            "file": self.where.file if self.where else None,
            "line": self.where.line if self.where else None,
            "call": self.call,
            "host_stall": self.stalls,
            "serves_only_the_download_at": self.download.line if self.download else None,
        }


def redundant(
    trials: Trials, traced: Traced, base: frozenset[Edit], trouble: Trouble | None
) -> Iterator[Redundant]:
    """The synchronisations that can be left out of a program one by one."""
    for node, call in each_line(traced):
        if trials.over:
            return
        drop = left_out(traced, node, call)
        if drop in base:
            continue
        if unchanged(trials, base | {drop}, trouble):
            yield Redundant(node.where, described(call), call[0] in HOST_WAITS)
        elif call[0] in HOST_WAITS:
            yield from serving_a_download(trials, traced, base | {drop}, trouble, node)


def each_line(traced: Traced) -> Iterator[tuple[Node, Call]]:
    """The synchronisations of a program, one for each source line."""
    seen: set[Any] = set()
    for node, call in traced.calls(*SYNCHRONISATIONS):
        if node.where not in seen:
            seen.add(node.where)
            yield node, call


def left_out(traced: Traced, node: Node, call: Call) -> Drop:
    """A call left out."""
    return Drop(traced.spans_inner(node), (call[0],), described(call))


def unchanged(
    trials: Trials,
    edits: frozenset[Edit],
    trouble: Trouble | None,
    gone: tuple[Where | None, ...] = (),
) -> bool:
    """Whether a program still holds, or is wrong in exactly the ways it was before, but for what
    concerned the lines that are gone.
    """
    if trouble is None:
        return trials.holds(edits)
    found = trials.trouble(edits)
    before = {lines for lines in trouble.lines() if not set(lines) & set(gone)}
    if found is None:
        return not before and trials.holds(edits)
    return found.lines() == before


def serving_a_download(
    trials: Trials,
    traced: Traced,
    edits: frozenset[Edit],
    trouble: Trouble | None,
    node: Node,
) -> Iterator[Redundant]:
    """A wait whose only purpose is that the host may read what a copy brings."""
    for copies, readers in downloads(traced):
        nodes = [*copies, *readers]
        without = {left_out(traced, n, n.call) for n in nodes if n.call is not None}
        gone = tuple(n.where for n in nodes)
        if len(copies) == 1 and unchanged(trials, edits | without, trouble, gone):
            assert node.call is not None
            yield Redundant(node.where, described(node.call), True, copies[0].where)
            return


def downloads(traced: Traced) -> Iterator[tuple[list[Node], list[Node]]]:
    """Host buffers that only copies from the device write and only the host reads: the copies and
    the reads, one a source line.
    """
    users: dict[str, dict[tuple[Where | None, str], Node]] = {}
    for node in traced.nodes:
        assert node.call is not None
        for region in regions_in(node.call):
            if region.kind != DEVICE:
                users.setdefault(region.buffer.name, {})[node.where, node.call[0]] = node
    for name, found in users.items():
        copies = [
            node for (_where, verb), node in found.items() if verb in {"memcpy", "memcpy_async"}
        ]
        readers = [node for (_where, verb), node in found.items() if verb == "read"]
        if (
            copies
            and len(copies) + len(readers) == len(found)
            and all(into(c, name) for c in copies)
        ):
            yield copies, readers


def into(node: Node, name: str) -> bool:
    """Whether a copy writes a buffer of this name."""
    assert node.call is not None
    return any(dst.buffer.name == name for dst, _src in node.call[1])
