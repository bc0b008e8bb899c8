"""Redundant synchronisation: what can be left out and nothing changes.

A wait is left out, and the protocol decided again: where it still holds, or where exactly the same
is wrong as before, the wait orders nothing that matters. A wait that only serves a download is
found by leaving out the download with it: if the rest does not change, the wait protects that and
nothing else.

What is wrong may hide what a wait is for: a mended protocol may need it. So a wait of a refuted
protocol is only said to order nothing (`in_every`) where it is redundant after each repair as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ..memory import DEVICE
from ..trace import described
from .changes import Drop
from .program import HOST_WAITS
from .rewrite import regions_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..calls import Call
    from ..host import Node
    from ..where import Where
    from .edits import Edit
    from .program import Traced
    from .trial import Findings, Trials

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


class Before(NamedTuple):
    """A program whose waits are left out one by one: its edits, what is wrong with it, and how to
    make sure of one that holds for the steps that are tried.
    """

    edits: frozenset[Edit]
    findings: Findings
    sure: Callable[[frozenset[Edit]], bool]


def redundant(trials: Trials, traced: Traced, before: Before) -> Iterator[Redundant]:
    """The synchronisations that can be left out of a program one by one."""
    for node, call in each_line(traced):
        if trials.over:
            return
        drop = left_out(traced, node, call)
        if drop in before.edits:
            continue
        if unchanged(trials, before, frozenset({drop})):
            yield Redundant(node.where, drop.words, call[0] in HOST_WAITS)
        elif call[0] in HOST_WAITS:
            yield from serving_a_download(trials, traced, before, drop, node)


def in_every(
    found: Iterable[Redundant], repairs: list[tuple[frozenset[Edit], tuple[Redundant, ...]]]
) -> Iterator[Redundant]:
    """Those that are redundant after each repair too, given its edits and what it makes redundant;
    where one of them needs it for its download, it is said to serve that. Those that serve a
    download in the protocol as it is stay: nobody is told to leave them out.
    """
    for one in found:
        if one.download is not None:
            yield one
            continue
        after = [
            one if any(leaves_out(edit, one) for edit in edits) else in_this
            for edits, idle in repairs
            for in_this in [next((other for other in idle if other.where == one.where), None)]
        ]
        if all(after):
            serving = [other for other in after if other is not None and other.download]
            yield serving[0] if serving else one


def leaves_out(edit: Edit, one: Redundant) -> bool:
    """Whether an edit leaves out this synchronisation itself."""
    return (
        isinstance(edit, Drop)
        and bool(set(edit.verbs) & set(SYNCHRONISATIONS))
        and one.where is not None
        and edit.span.covers(one.where)
    )


def each_line(traced: Traced) -> Iterator[tuple[Node, Call]]:
    """The synchronisations of a program, one for each source line."""
    seen: set[Any] = set()
    for node, call in traced.calls(*SYNCHRONISATIONS):
        if node.where not in seen:
            seen.add(node.where)
            yield node, call


def left_out(traced: Traced, node: Node, call: Call) -> Drop:
    """A call left out, with all that its line does alike."""
    calls = [other.call for other in traced.lines[node.where] if other.call is not None]
    words = in_one(described(other) for other in calls if other[0] == call[0])
    return Drop(traced.spans_inner(node), (call[0],), words)


def in_one(words: Iterable[str]) -> str:
    """Texts that differ in names only as one: `{done0|done1}.synchronize()`."""
    texts = list(dict.fromkeys(words))
    split = [re.split(r"(\W+)", text) for text in texts]
    if len({tuple(parts[1::2]) for parts in split}) > 1:
        return " or ".join(texts)
    columns = [list(dict.fromkeys(column)) for column in zip(*split, strict=True)]
    return "".join(c[0] if len(c) == 1 else f"{{{'|'.join(c)}}}" for c in columns)


def unchanged(
    trials: Trials,
    before: Before,
    drops: frozenset[Edit],
    gone: tuple[Where | None, ...] = (),
) -> bool:
    """Whether a program still holds, or is wrong in exactly the ways it was before, but for what
    concerned the lines that are gone.
    """
    edits = before.edits | drops
    expected = {
        name: frozenset(one for one in wrong if not set(one) & set(gone))
        for name, wrong in before.findings.items()
    }
    if not any(expected.values()):
        return trials.holds(edits) and before.sure(edits)
    return trials.findings(edits) == expected


def serving_a_download(
    trials: Trials, traced: Traced, before: Before, drop: Drop, node: Node
) -> Iterator[Redundant]:
    """A wait whose only purpose is a download: that the host may read what the copy brings, and
    that its source keeps still.
    """
    for copies, readers in downloads(traced):
        nodes = [*copies, *readers]
        without = {left_out(traced, n, n.call) for n in nodes if n.call is not None}
        gone = tuple(n.where for n in nodes)
        if len(copies) == 1 and unchanged(trials, before, frozenset({drop, *without}), gone):
            yield Redundant(node.where, drop.words, True, copies[0].where)
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
