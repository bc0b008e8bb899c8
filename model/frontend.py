"""The front end: calls to effects. The only place that knows what an API call does.

In issue order it turns each call into accesses of the host, operations with predecessors, and what
the call awaits. The rules stand in one file a group, each a class on top of the one before:
`streams` (R1, R3), `copies` (R2), `allocation` (R6), `signals` (R8.2, R8.3), `graphs` (R5). It is
shared by every engine, so that engines can only disagree about the search, never about a rule; the
rules themselves are tested one by one, without any engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from .graphs import Graphs
from .masking import UNMASKED

if TYPE_CHECKING:
    from collections.abc import Callable

    from .calls import Call
    from .contract import Contract
    from .gpu import Gpu
    from .streams import Await, Sink

F = TypeVar("F")
Rule = TypeVar("Rule", bound="Callable[..., Any]")


def not_in_capture(rule: Rule) -> Rule:
    """R5.5: a rule whose call invalidates a capture that is open."""

    def checked(self: Graphs[Any], call: Call) -> Any:
        if self.notes:
            self.refuse_in_capture(call)
        return rule(self, call)

    checked.__doc__ = rule.__doc__
    return cast("Rule", checked)


class Frontend(Graphs[F]):
    """Every rule of the modelled API; `frontend.call(call)` carries out the first phase of a call.

    The result is what the call awaits: None (it returns at once), or a frontier and the rest of
    the call, a method that takes the call when the frontier is done, or None.
    """

    may_hold = False
    """Whether the host may have to wait before a call issues anything: only under a masking."""

    def call(self, call: Call) -> Await[F] | None:
        """Dispatch a call to its rule by its verb."""
        return getattr(self, call[0])(call)

    memcpy = not_in_capture(Graphs.memcpy)
    memset = not_in_capture(Graphs.memset)
    malloc = not_in_capture(Graphs.malloc)
    free = not_in_capture(Graphs.free)
    synchronize_event = not_in_capture(Graphs.synchronize_event)
    synchronize_stream = not_in_capture(Graphs.synchronize_stream)
    synchronize_device = not_in_capture(Graphs.synchronize_device)
    poll = not_in_capture(Graphs.poll)
    query = not_in_capture(Graphs.query)

    # --- the host's own accesses ---

    def write(self, call: Call) -> None:
        """R9.1: a store of the host, now."""
        _verb, regions, version = call
        self.sink.host_write(tuple((region, version) for region in regions))

    def read(self, call: Call) -> None:
        """R9.2: a load of the host, now."""
        self.sink.host_read(call[1])

    def set_cell(self, call: Call) -> None:
        """R8.2: a store of the host into a cell, now."""
        self.sink.host_signal(call[1], call[2])


def front_end(
    gpu: Gpu, contract: Contract, sink: Sink[F], uncertain: tuple[str, ...] = ()
) -> Frontend[F]:
    """The front end for a contract: with a masking's order where it has one."""
    if contract.masking == UNMASKED:
        return Frontend(gpu, contract, sink, uncertain)
    from .masked import Masked

    return Masked(gpu, contract, sink, uncertain)
