"""Host threads of a protocol on a device: real threads, locks and queues, and waits that end.

A wait among host threads that lasts too long is given up, and the run then counts as a hang: a
deadlock is a result, not the end of the experiment.
"""

from __future__ import annotations

import queue
import threading
import time
from typing import TYPE_CHECKING, Any

from ..model.unrun import ran
from .device_copies import DeviceCopies

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model.calls import Call
    from .device_gpu import Lane

LONGEST = 2.0
"""After how long a wait among host threads counts as a hang, s."""

GLANCE = 0.02
"""How often such a wait looks up, s."""


class GaveUp(Exception):
    """A host thread waited too long: this run hangs."""


class DeviceThreads(DeviceCopies):
    """Choices, threads, locks and queues."""

    hung: bool

    def rescue(self) -> None:
        """Let everything go: the run hangs."""
        raise NotImplementedError

    def patiently(self, attempt: Callable[[float], bool]) -> None:
        """Try until it succeeds; raises `GaveUp` once the run hangs."""
        until = time.monotonic() + LONGEST
        while not attempt(GLANCE):
            if not self.hung and time.monotonic() > until:
                self.rescue()
            if self.hung:
                raise GaveUp

    def do_choose(self, lane: Lane, call: Call) -> int:
        """The host takes an option."""
        return self.pace.choice(lane.thread, lane.depth, call[1])

    def do_concurrent(self, _lane: Lane, _call: Call) -> None:
        """A property of the model's: nothing to do."""

    def do_thread(self, _lane: Lane, call: Call) -> None:
        """Start a real thread."""
        _verb, handle, fn, args = call

        def body() -> None:
            self.attach(self.make_lane(handle.slot))
            try:
                ran(fn(*args), f"host thread {handle.name!r}", None)
            except GaveUp:
                self.pace.end()
            except BaseException as error:  # noqa: BLE001 - raised again where the run ends
                self.failures.append(error)
                self.pace.end()

        thread = threading.Thread(target=body, daemon=True)
        self.running[handle] = thread
        thread.start()

    def do_join(self, _lane: Lane, call: Call) -> None:
        """Wait for a thread."""
        self.patiently(lambda seconds: self.has_ended(self.running[call[1]], seconds))

    def has_ended(self, thread: threading.Thread, seconds: float) -> bool:
        """Wait a while for a thread."""
        thread.join(seconds)
        return not thread.is_alive()

    def do_acquire(self, _lane: Lane, call: Call) -> None:
        """Take a lock."""
        lock = self.real(call[1], threading.Lock)
        self.patiently(lambda seconds: lock.acquire(timeout=seconds))

    def do_release(self, _lane: Lane, call: Call) -> None:
        """Give a lock back."""
        self.real(call[1], threading.Lock).release()

    def do_put(self, _lane: Lane, call: Call) -> None:
        """Append an item."""
        items = self.items(call[1])

        def attempt(seconds: float) -> bool:
            try:
                items.put(call[2], timeout=seconds)
            except queue.Full:
                return False
            return True

        self.patiently(attempt)

    def do_get(self, _lane: Lane, call: Call) -> Any:
        """Take an item."""
        items, taken = self.items(call[1]), []

        def attempt(seconds: float) -> bool:
            try:
                taken.append(items.get(timeout=seconds))
            except queue.Empty:
                return False
            return True

        self.patiently(attempt)
        return taken[0]

    def items(self, handle: Any) -> queue.Queue[Any]:
        """The real queue."""
        return self.real(handle, lambda: queue.Queue(handle.capacity or 0))

    def real(self, handle: Any, make: Any) -> Any:
        """The real thing behind a lock or a queue."""
        with self.making:
            if handle not in self.things:
                self.things[handle] = make()
            return self.things[handle]
