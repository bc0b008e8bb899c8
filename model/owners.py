"""Whose memory it was: which free gave an address up, and who was handed it next.

A use after free is told by three places: the free, the new owner, and the access that comes too
late. The free is a call of the protocol, or, where a pool only keeps books on the host, the
allocation itself that hands the address out again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .memory import POISON

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .host import Node
    from .memory import Buffer, Region
    from .recorder import Moment, Recording

FREES, ALLOCATIONS = frozenset({"free", "free_async"}), frozenset({"malloc", "malloc_async"})


def buffer_of(moment: Moment, region: Region) -> Buffer:
    """The buffer under whose name a moment accesses a region."""
    return next(r.buffer for r, _writes in moment.accesses() if r.slot == region.slot)


def frees(moment: Moment, region: Region) -> bool:
    """Whether a moment frees a region."""
    return any(r.slot == region.slot and version is POISON for r, version in moment.writes)


def handed_on(recording: Recording, region: Region, *ends: Moment) -> list[tuple[Node, str]]:
    """The calls that gave the memory up and handed it out again, each with what it did, where these
    accesses are of two owners or one of them frees; without those that are accesses themselves.
    """
    owners = sorted({buffer_of(end, region) for end in ends}, key=lambda buffer: buffer.serial)
    older, newer = owners[0], owners[-1]
    if older is newer and not any(frees(end, region) for end in ends):
        return []
    freed = list(calls_on(recording, FREES, 1, older))
    handed = list(calls_on(recording, ALLOCATIONS, *((2, older) if older is newer else (1, newer))))
    told = [(node, "freed it") for node in freed[:1]]
    told += [(node, "handed it out again") for node in handed[:1]]
    return [(node, what) for node, what in told if all(node is not end.node for end in ends)]


def calls_on(
    recording: Recording, verbs: frozenset[str], at: int, buffer: Buffer
) -> Iterator[Node]:
    """The calls of these verbs that name a buffer in this place, in the order of the schedule."""
    for moment in recording.host_moments:
        call = moment.node.call
        if call is not None and call[0] in verbs and call[at] is buffer and not moment.phase:
            yield moment.node
