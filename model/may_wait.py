"""Calls that a runtime may let wait, and need not: a program must not hang either way.

An asynchronous copy from or to pageable memory "may be synchronous" (R2.6, R2.7). A wait more takes
interleavings away and adds none, so it shows no hazard; but a program whose streams wait for values
may be waiting for a store that the held host is to make, or to have made. Only such programs are
decided both ways.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .memory import PAGEABLE

if TYPE_CHECKING:
    from .decision import Decision
    from .host import Host

FIELD = "pageable_async_returns"
"""The field of a contract that says whether they return at once; None for either."""


def used_by(host: Host) -> bool:
    """Whether a program that was traced spins and makes such calls."""
    if not host.gpu.cells_used:
        return False
    calls = (node.call for node in host.nodes())
    return any(c and c[0] == "memcpy_async" and PAGEABLE in {c[1].dst, c[1].src} for c in calls)


def left_open(decision: Decision) -> bool:
    """Whether a program that holds where such calls return is still to be asked where they wait."""
    return decision.holds and decision.host is not None and used_by(decision.host)
