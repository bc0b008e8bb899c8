"""Who goes when: how a run on a device is paced.

- `Free`: nobody holds anything; the device does as it likes;
- `Jittered`: operations and host calls are held up for random times, to see more of what it may do;
- `Together`: operations are held and let go at once, so that those that nothing orders overlap;
- `Armed`: launches are issued ahead of the call before them, so that they start at once;
- `Directed` (see `director`): every turn is taken as a script says.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from .bench import Hold

if TYPE_CHECKING:
    from random import Random

    from ..model.calls import Call
    from .bench import Slot
    from .device_gpu import Key, TorchGpu


class Pace:
    """What a run asks before and after each call; the base does nothing."""

    marks = False
    """Whether a copy is followed by a kernel that says that it is done."""

    def begin(self, gpu: TorchGpu) -> None:
        """A run begins."""

    def end(self) -> None:
        """The protocol has returned or failed: hold nothing any more."""

    def before(self, thread: int, depth: int, call: Call, blocks: bool) -> None:
        """A call is about to be made; `blocks`: it may wait for the device."""

    def after(self, thread: int, depth: int, call: Call, blocks: bool) -> None:
        """A call has returned."""

    def hold(self, key: Key) -> Hold | None:
        """How a gate holds an operation; None for no gate."""
        del key
        return None

    def ahead(self, thread: int, depth: int) -> list[tuple[int, Call]]:
        """Launches that come right after this call and may be issued ahead of it."""
        del thread, depth
        return []

    def issued(self, key: Key, slot: Slot, run: int) -> None:
        """An operation has its row, and is about to be issued."""

    def choice(self, thread: int, depth: int, count: int) -> int:
        """Which of so many options the host takes."""
        del thread, depth, count
        return 0

    def answer(self, thread: int, depth: int, asked: Any) -> bool:
        """The answer of a query, asked of the device."""
        del thread, depth
        return asked()


class Free(Pace):
    """Nobody holds anything."""


class Jittered(Pace):
    """Half of all operations start late by up to `most` ns, and so do half of all host calls."""

    def __init__(self, random: Random, most: int) -> None:
        self.random = random
        self.most = most

    def before(self, thread: int, depth: int, call: Call, blocks: bool) -> None:
        """Let the host dawdle."""
        del thread, depth, call, blocks
        wait = self.some()
        if wait:
            until = time.perf_counter_ns() + wait
            while time.perf_counter_ns() < until:
                pass

    def some(self) -> int:
        """A random time, often none."""
        if self.random.random() < 0.5:
            return 0
        return int(self.most * self.random.random() ** 3)

    def hold(self, key: Key) -> Hold | None:
        """A gate that nobody opens is a delay."""
        del key
        wait = self.some()
        return Hold(wait) if wait else None

    def choice(self, thread: int, depth: int, count: int) -> int:
        """Any option."""
        del thread, depth
        return self.random.randrange(count)


class Together(Pace):
    """Holds every operation until the host is about to wait, sometimes less long; then lets all go,
    each after a random delay of up to `most` ns.
    """

    LIMIT = 50_000_000

    def __init__(self, random: Random, most: int) -> None:
        self.random = random
        self.most = most
        self.held: list[tuple[Slot, int]] = []
        self.waiting = 0

    def before(self, thread: int, depth: int, call: Call, blocks: bool) -> None:
        """Let all go before a call that may wait, and sometimes before another."""
        del thread, depth, call
        self.waiting += blocks
        if blocks or self.random.random() < 0.3:
            self.let_go()

    def after(self, thread: int, depth: int, call: Call, blocks: bool) -> None:
        """Hold again once the host no longer waits."""
        del thread, depth, call
        self.waiting -= blocks

    def let_go(self) -> None:
        """Open every gate."""
        held, self.held = self.held, []
        for slot, run in held:
            slot.open(run)

    def end(self) -> None:
        """Hold nothing any more."""
        self.let_go()

    def hold(self, key: Key) -> Hold | None:
        """A gate, and a delay behind it."""
        del key
        limit = 0 if self.waiting else self.LIMIT
        return Hold(limit, int(self.most * self.random.random()))

    def issued(self, key: Key, slot: Slot, run: int) -> None:
        """Another operation is held."""
        del key
        self.held.append((slot, run))

    def choice(self, thread: int, depth: int, count: int) -> int:
        """Any option."""
        del thread, depth
        return self.random.randrange(count)


class Armed(Pace):
    """Free, but for launches that are issued ahead of a blocking copy from pageable memory.

    `trace` maps the depth of such a copy on the main thread to the launches right after it.
    """

    def __init__(self, trace: dict[int, list[tuple[int, Call]]]) -> None:
        self.trace = trace

    def ahead(self, thread: int, depth: int) -> list[tuple[int, Call]]:
        """What the program launches next."""
        return [] if thread else self.trace.get(depth, [])
