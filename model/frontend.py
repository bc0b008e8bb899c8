"""The front end: calls to effects. The only place that knows what an API call does.

In issue order it turns each call into accesses of the host, operations with predecessors, and what
the call awaits (see `streams` for the form, `copies` for the rules of R2). It is shared by every
engine, so that engines can only disagree about the search, never about a rule; the rules
themselves are tested one by one, without any engine.

Verbs that a later group of rules will add (graphs, allocation, cells, agents) become methods of the
same form in a file of their own, and one more base class here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from .copies import Copies

if TYPE_CHECKING:
    from .gpu import Call
    from .streams import Await

F = TypeVar("F")


class Frontend(Copies[F]):
    """Every rule of the modelled API; `frontend.call(call)` carries out the first phase of a call.

    The result is what the call awaits: None (it returns at once), or a frontier and the rest of
    the call, a method that takes the call when the frontier is done, or None.
    """

    def call(self, call: Call) -> Await[F] | None:
        """Dispatch a call to its rule by its verb."""
        return getattr(self, call[0])(call)

    # --- the host's own accesses ---

    def write(self, call: Call) -> None:
        """R9.1: a store of the host, now."""
        _verb, regions, version = call
        self.sink.host_write(tuple((region, version) for region in regions))

    def read(self, call: Call) -> None:
        """R9.2: a load of the host, now."""
        self.sink.host_read(call[1])

    # --- host control: no rule of the device is involved ---

    def control(self, _call: Call) -> None:
        """Threads, locks, queues and choices: `host` and `sync` carry them out."""

    choose = thread = join = acquire = release = put = get = control
