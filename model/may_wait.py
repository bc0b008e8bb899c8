"""Calls that a runtime may let wait, and need not: a program must not hang either way.

An asynchronous copy from or to pageable memory "may be synchronous" (R2.6, R2.7). A wait more takes
interleavings away and adds none, so it shows no hazard; but a program whose streams wait for values
may be waiting for a store that the held host is to make, or to have made. Only such programs are
decided both ways.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .contract import EITHER
from .memory import PAGEABLE

if TYPE_CHECKING:
    from .contract import Contract
    from .decision import Decision
    from .host import Host

UPLOADS, DOWNLOADS = EITHER


def used_by(host: Host) -> set[str]:
    """The fields of a contract that say whether such calls of a program that was traced wait;
    none for a program that does not spin.
    """
    if not host.gpu.cells_used:
        return set()
    found = set()
    for node in host.nodes():
        if node.call is not None and node.call[0] == "memcpy_async":
            pairs = node.call[1]
            found |= {DOWNLOADS} if pairs.dst == PAGEABLE else set()
            found |= {UPLOADS} if pairs.src == PAGEABLE else set()
    return found


def ways_left(contract: Contract, decision: Decision) -> list[Contract]:
    """The ways in which calls may wait that a program which holds where they return is still to be
    asked about.
    """
    if not decision.holds or decision.host is None:
        return []
    unused = dict.fromkeys(set(EITHER) - used_by(decision.host), True)
    open_ones = {field: way for field, way in unused.items() if getattr(contract, field) is None}
    return contract._replace(**open_ones).ways()[1:]
