"""The stream API, the host's side: its own accesses, its control, its threads."""

from __future__ import annotations

from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any

from .checks import Checks
from .errors import BadProtocol
from .memory import Buffer, Idempotent, Opaque, Region
from .objects import Cell, Handle, HostThread, Lock, Queue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class HostCalls(Checks):
    """What the host does by itself."""

    # --- the host's own accesses ---

    def write(self, target: Buffer | Region, value: object, idempotent: bool = False) -> None:
        """Store `value` into host memory now, in every part of `target` (R9.1).

        `idempotent` writers of one equal version need no order among themselves; readers still do.
        """
        version = self.check_version(value)
        version = Idempotent(version) if idempotent else version
        self._call(("write", self._host_memory(target, "write"), version))

    def read(self, target: Buffer | Region, expect: object = None) -> Any:
        """Load from host memory now.

        Returns `expect` (a run in which anything else was read is already refuted), or without
        one an opaque object on which nothing may depend.
        """
        regions = self._host_memory(target, "read")
        self.check_version(expect)
        self._call(("read", tuple((region, expect) for region in regions)))
        return Opaque(repr(target)) if expect is None else expect

    # --- the host's control ---

    def steps(self) -> Iterable[int]:
        """The step loop: 0, 1, ...; how many steps is the checker's choice, not the protocol's.

        In a proof for every number of steps the step is opaque (see `step`).
        """
        return self._counted_steps() if self.loop is None else self.loop

    def _counted_steps(self) -> Iterator[int]:
        """A bounded number of steps."""
        for step in (*range(self.step_count), None):
            if self.editor is not None:
                self.editor.step(step)
            self.reading.mark("step", step)
            if step is not None:
                yield step

    def choose(self, *options: Any) -> Any:
        """The host does one of several things; every one is explored. Returns the option."""
        if not options:
            raise BadProtocol("choose() needs at least one option")
        if len(options) == 1 and is_many(options[0]):
            raise BadProtocol(
                f"choose(*options) takes the options one by one, and {options[0]!r} is a single "
                "one: write choose('real', 'dummy'), or choose(*options)"
            )
        plain = (str, int, bool, type(None))
        names = tuple(o if isinstance(o, plain) else f"#{i}" for i, o in enumerate(options))
        return options[self._call(("choose", len(options), names))]

    @contextmanager
    def sync_allowed(self, why: str) -> Iterator[None]:
        """Declare the host waits inside as intended; `streamorder audit` reports the others."""
        if not isinstance(why, str) or not why.strip():
            raise BadProtocol("sync_allowed() needs a reason in words")
        reading = self.reading
        outer, reading.allowed = reading.allowed, why
        reading.mark("allow", why)
        try:
            yield
        finally:
            reading.allowed = outer
            reading.mark("allow", outer)

    def thread(self, fn: Callable[..., None], *args: object) -> HostThread:
        """Start a host thread that runs `fn(*args)`; threads may share API objects only."""
        if not callable(fn):
            raise BadProtocol(f"thread() takes a function, not {fn!r}")
        name = getattr(fn, "__name__", "thread").replace("<lambda>", "thread")
        thread = self._make(HostThread, self.threads, name)
        self._call(("thread", thread, fn, args))
        return thread

    def join(self, thread: HostThread) -> None:
        """`thread.join()`."""
        self._own(thread, HostThread)
        self._call(("join", thread))

    def acquire(self, lock: Lock) -> None:
        """`lock.acquire()`."""
        self._own(lock, Lock)
        self._call(("acquire", lock))

    def release(self, lock: Lock) -> None:
        """`lock.release()`."""
        self._own(lock, Lock)
        self._call(("release", lock))

    def put(self, queue: Queue, item: object) -> None:
        """`queue.put(item)`."""
        self._own(queue, Queue)
        if not is_plain(item):
            raise BadProtocol(
                f"queue {queue.name!r}: an item must be immutable (a number, a string, an API "
                f"object or a tuple of these), not {item!r}"
            )
        self._call(("put", queue, item))

    def get(self, queue: Queue) -> Any:
        """`queue.get()`."""
        self._own(queue, Queue)
        return self._call(("get", queue))

    def lock(self, name: str = "lock") -> Lock:
        """Make a lock for host threads."""
        return self._make(Lock, self.syncs, name)

    def queue(self, capacity: int | None = None, name: str = "queue") -> Queue:
        """Make a queue between host threads; at most `capacity` items, None for no bound."""
        if capacity is not None and (type(capacity) is not int or capacity < 1):
            raise BadProtocol(f"queue {name!r}: capacity must be a positive int or None")
        return self._make(Queue, self.syncs, name, capacity)

    # --- cells ---

    def cell(self, name: str) -> Cell:
        """Make a cell, holding 0 (R8.2, R8.3)."""
        self.cells_used = True
        return self._make(Cell, self.syncs, name)

    def set_cell(self, cell: Cell, value: int) -> None:
        """`cell.set(value)`."""
        self._own(cell, Cell)
        self._call(("set_cell", cell, self._word(value)))

    def wait_cell(self, cell: Cell, value: int) -> None:
        """`cell.wait(value)`."""
        self._own(cell, Cell)
        self._call(("wait_cell", cell, self._word(value)))


def is_many(option: object) -> bool:
    """Whether somebody who gives this alone must mean what is in it."""
    return hasattr(type(option), "__iter__") and not isinstance(option, (str, bytes, Opaque))


def is_plain(item: object) -> bool:
    """Whether an item of a queue cannot change: a constant, an API object, a tuple of these."""
    if isinstance(item, tuple) and not hasattr(item, "__dict__"):
        return all(is_plain(part) for part in item)
    if isinstance(item, (Handle, Region, Enum)):
        return True
    return item is None or type(item) in {int, bool, float, str, bytes}
