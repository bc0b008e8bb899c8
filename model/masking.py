"""Maskings: the extra order that a runtime happens to add, as data.

Nobody promises it, so no verdict rests on it: it says which hazards a runtime hides, and which
programs it makes hang. A masking adds order and waits of the host; it never takes any away.

A *lane* is what takes a place in hardware queues: a stream, or a branch of a graph (R5.2), by name.
A *packet* is an operation, or the marker of a stream's wait or of a record, which stands in the
queue like one (R4.3).
"""

from __future__ import annotations

from typing import NamedTuple

Lane = str
Item = tuple[Lane, "int | None"]
"""A lane's packet by its number from 0; None: all packets of the lane."""

QUEUE, ENGINE = "queue", "engine"
SMALL, LARGE = "small", "large"
OWN, SHARED = "own", "shared"

KERNELS, COPIES, FILLS, VALUES, GRAPHS = "kernels", "copies", "fills", "values", "graphs"
CLASSES = (KERNELS, COPIES, FILLS, VALUES, GRAPHS)
"""The classes of operations that a masking can make the host await."""


class Masking(NamedTuple):
    """What a runtime adds to its contract; by default nothing."""

    queues: tuple[tuple[Item, int], ...] = ()
    """R4.1, R4.2: which hardware queue a lane's packets, or one of its packets, go to. What is not
    listed goes to a queue of the lane's own. A packet starts when every earlier one of its queue
    is done (R4.3)."""

    records_queue: bool = False
    """R3.1, R4.3: a record is a packet too: what it stands for includes its queue."""

    copy_limit: int | None = None
    """R2.12: copies between host and device of at most so many bytes are carried by a kernel on the
    compute queue, larger ones by a copy engine; None: all by a kernel."""

    unsized: str = SMALL
    """What copies are whose size the protocol does not say."""

    engines: str = OWN
    """R4.4: copy engines, in-order queues too: a lane's own, or one for each device and direction
    that all share."""

    copies_after_all: bool = False
    """A copy starts after all work issued so far to its device."""

    awaits: tuple[str, ...] = ()
    """R4.6: the classes of which the host awaits each operation after issuing it."""

    pageable_limit: int | None = None
    """R2.7: the host awaits an asynchronous upload from pageable memory of more bytes than this;
    None: it awaits none."""

    downloads_awaited: bool = False
    """R2.7: the host awaits every asynchronous download to pageable memory."""

    ring: int | None = None
    """R4.5: how many packets that are not done a queue can hold: the host waits for a place; None:
    any number."""

    first_use_drains: bool = False
    """The first launch of each kernel waits on the host for the whole device."""

    counts: bool = False
    """Whether packets are counted, as a map from single packets needs."""


HELD = 1000
"""The phase of a call in which it waits and has not issued anything yet."""

UNMASKED = Masking()
"""Nothing beyond the contract."""
