"""A cache of page-locked host blocks, as frameworks keep: a block comes back after its last use.

Written over an event's `record` and `query`. A query may answer either way while the work is
pending, so a check explores both: the block is handed out again, or a new one is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..gpu import Gpu
    from ..memory import Buffer
    from ..objects import Event, Stream


class HostCache:
    """Blocks by age of their last use; the oldest is reused once its event is done.

    At most `most` blocks are made; then the host waits for the oldest.
    """

    def __init__(self, gpu: Gpu, name: str, most: int) -> None:
        self.gpu = gpu
        self.name = name
        self.most = most
        self.made = 0
        self.given_back: list[tuple[Buffer, Event]] = []

    def take(self) -> tuple[Buffer, Event]:
        """A block that no copy reads any more, with the event to give it back by."""
        if self.given_back and self.given_back[0][1].query():
            return self.given_back.pop(0)
        if self.made < self.most:
            self.made += 1
            block = self.gpu.pinned(f"{self.name}{self.made}")
            return block, self.gpu.event(f"{self.name}{self.made}.read")
        block, read = self.given_back.pop(0)
        read.poll()
        return block, read

    def give_back(self, block: Buffer, read: Event, stream: Stream) -> None:
        """The block may be reused when what was issued to the stream so far is done."""
        read.record(stream)
        self.given_back.append((block, read))
