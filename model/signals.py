"""Rules of cells and agents (R8.2, R8.3): order that streams do not make."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from .allocation import Allocation
from .errors import NotModelled

if TYPE_CHECKING:
    from .calls import Call
    from .objects import Stream

F = TypeVar("F")


class Signals(Allocation[F]):
    """Words that streams store and wait for, and accesses from outside every stream."""

    def write_value(self, call: Call) -> None:
        """R8.2, R8.3: an operation that stores, after the stream's earlier work."""
        _verb, stream, cell, value = call
        before = self.before(self.signalling(stream))
        self.issued = self.sink.signal(stream, before, cell, value)
        self.advance(stream, self.issued)

    def wait_value(self, call: Call) -> None:
        """R8.2, R8.3: an operation that is not done before the cell is large enough."""
        _verb, stream, cell, value = call
        before = self.before(self.signalling(stream))
        self.issued = self.sink.await_cell(stream, before, cell, value)
        self.advance(stream, self.issued)

    def signalling(self, stream: Stream) -> Stream:
        """A stream that can take a value operation."""
        if self.usable(stream) in self.notes:
            raise NotModelled("write_value and wait_value inside a capture are not modelled")
        return stream

    def post(self, call: Call) -> None:
        """An agent begins when the host posts, ordered with no stream; its event says when it is
        done.
        """
        _verb, agent, event, reads, writes = call
        lane = self.hidden(agent.name, event)
        self.cells[event.slot] = self.issued = self.sink.op(lane, self.sink.empty, reads, writes)
