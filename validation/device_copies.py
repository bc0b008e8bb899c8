"""Copies, fills and allocation on a device, and what brackets them: a gate before, a mark after."""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any

from ..model.memory import (
    DEVICE,
    MANAGED,
    PAGEABLE,
    PINNED,
    POISON,
    UNINITIALISED,
    Buffer,
    Pairs,
    Region,
)
from .runtime import Skipped, Unsupported
from .runtime_library import (
    DEFAULT,
    DEVICE_TO_DEVICE,
    DEVICE_TO_HOST,
    HOST_TO_DEVICE,
    HOST_TO_HOST,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from ..model.calls import Call, Reads
    from .bench import Bench, Slot
    from .device_gpu import Key, Lane, Sight
    from .pace import Pace
    from .runtime import Runtime
    from .versions import Versions

HOST = (PINNED, PAGEABLE)


def direction(dst: str, src: str) -> int:
    """The runtime's word for which way a copy goes."""
    if MANAGED in {dst, src}:
        return DEFAULT
    if src in HOST:
        return HOST_TO_HOST if dst in HOST else HOST_TO_DEVICE
    return DEVICE_TO_HOST if dst in HOST else DEVICE_TO_DEVICE


class DeviceCopies:
    """Copies, fills, allocation."""

    bench: Bench
    runtime: Runtime
    pace: Pace
    versions: Versions
    things: dict[Any, Any]
    twins: dict[Buffer, int]
    operations: dict[Key, tuple[Slot, int]]
    expectations: list[tuple[Key, Any]]
    sights: list[Sight]
    capturing: list[Slot] | None
    later: list[Callable[[], None]]
    facts: frozenset[str]
    streams: list[Any]
    regions: list[Region]
    failures: list[BaseException]
    running: dict[Any, threading.Thread]
    freed: set[Buffer]
    handed_back: set[Buffer]
    armed: dict[Key, Slot]
    making = threading.Lock()

    def address(self, region: Region) -> int:
        """Where a region is."""
        raise NotImplementedError

    def unsupported(self, what: str) -> NoReturn:
        """Refuse what this device or this implementation cannot do."""
        raise Unsupported(what)

    def attach(self, reading: Any) -> None:
        """Hand this thread's calls to a reading."""
        raise NotImplementedError

    def arm(self, lane: Lane) -> None:
        """Issue launches ahead of a call."""
        raise NotImplementedError

    def make_lane(self, thread: int) -> Any:
        """The reading of another host thread."""
        from .device_gpu import Lane

        return Lane(self, thread)  # type: ignore[arg-type] - it is a TorchGpu

    def saw(self, key: Key, region: Region, expected: object, found: object) -> None:
        """Keep what a read found."""
        from .device_gpu import Sight

        self.sights.append(Sight(key, repr(region), expected, found))

    # --- operations ---

    def operation(self, key: Key, reads: Reads) -> Slot:
        """A row for an operation; in a capture, for a node."""
        slot = self.bench.slot()
        slot.reads = tuple(region for region, _expected in reads)
        slot.counted = True
        if self.capturing is not None:
            self.capturing.append(slot)
        else:
            self.operations[key] = slot, 1
            self.expectations.append((key, reads))
            self.pace.issued(key, slot, 1)
        return slot

    def bracketed(
        self, key: Key, stream: Any, action: Callable[[], None], gate: bool = True
    ) -> None:
        """Issue what is no kernel of ours: held at a gate before, and marked as done after."""
        hold = self.pace.hold(key) if gate else None
        if hold is None and not self.pace.marks:
            if self.capturing is not None:
                self.capturing.append(self.bench.slot())
            action()
            return
        slot = self.operation(key, ())
        slot.counted = self.pace.marks
        slot.write([], [], hold)
        device = self.things[stream]
        if hold is not None:
            self.runtime.launch("gate", slot.row, device)
        action()
        if self.pace.marks:
            self.runtime.launch("touch", slot.row, device)

    # --- copies ---

    def copy_blocks(self, call: Call) -> bool:
        """Whether a copy or a fill may keep the host waiting for the device."""
        verb = call[0]
        if verb == "memcpy":
            return (
                call[1].dst in HOST or call[1].src in HOST or MANAGED in {call[1].dst, call[1].src}
            )
        if verb == "memcpy_async":
            pairs = call[1]
            return PAGEABLE in {pairs.dst, pairs.src} or (pairs.dst in HOST and pairs.src in HOST)
        return verb == "memset" and call[1][0].kind != DEVICE

    def do_memcpy(self, lane: Lane, call: Call) -> None:
        """The runtime's own blocking copy."""
        _verb, pairs, null = call
        where = self.ends(pairs)
        key = (lane.thread, lane.depth, 0)
        gate = pairs.src != PAGEABLE
        self.arm(lane)

        def copy() -> None:
            self.runtime.memcpy(*where)
            for slot in self.armed.values():
                slot.open()

        self.bracketed(key, null, copy, gate)

    def do_memcpy_async(self, lane: Lane, call: Call) -> Any:
        """A copy on a stream; one that reads its source within the call has the host read it."""
        _verb, pairs, stream, source = call
        key = (lane.thread, lane.depth, 0)
        dst, src, nbytes, kind = self.ends(pairs)
        if source == "any" or (source == "stream" and pairs.src == PAGEABLE):
            self.unsupported("a copy that reads pageable memory later than its call")
        gate = pairs.src != PAGEABLE
        if source == "call":
            held = self.bench.region_memory(PINNED, len(pairs))
            ctypes.memmove(held, src, nbytes)
            src, gate = held, True
        device = self.things[stream]
        self.bracketed(
            key, stream, lambda: self.runtime.memcpy_async(dst, src, nbytes, kind, device), gate
        )
        return key

    def ends(self, pairs: Pairs) -> tuple[int, int, int, int]:
        """Where a copy goes from and to, how much it moves, and which way."""
        dst, src = self.address(pairs[0][0]), self.address(pairs[0][1])
        return dst, src, len(pairs) * self.bench.nbytes, direction(pairs.dst, pairs.src)

    # --- fills ---

    def do_memset(self, lane: Lane, call: Call) -> None:
        """The fill without a stream."""
        _verb, regions, version, null = call
        where = self.filling(regions, version)
        key = (lane.thread, lane.depth, 0)
        self.bracketed(key, null, lambda: self.runtime.memset(*where))

    def do_memset_async(self, lane: Lane, call: Call) -> Any:
        """A fill on a stream."""
        _verb, regions, version, stream = call
        key = (lane.thread, lane.depth, 0)
        self.fill_on(key, stream, regions, version)
        return key

    def fill_on(self, key: Key, stream: Any, regions: Any, version: object) -> None:
        """Fill regions that lie side by side, in stream order."""
        where = self.filling(regions, version)
        device = self.things[stream]
        self.bracketed(key, stream, lambda: self.runtime.memset_async(*where, device))

    def filling(self, regions: Any, version: object) -> tuple[int, int, int]:
        """Where, with which byte, and how much to fill."""
        code = self.versions.code(version)
        return self.address(regions[0]), code, len(regions) * self.bench.nbytes

    # --- allocation ---

    def do_malloc(self, _lane: Lane, call: Call) -> None:
        """The memory is there already; an address that is used again holds nothing of use."""
        _verb, buffer, of = call
        if of is not None and of in self.handed_back:
            self.spoil(buffer, UNINITIALISED)

    def do_free(self, _lane: Lane, call: Call) -> None:
        """Free a twin of the buffer, so that the runtime waits as it does, then poison the buffer:
        a use after the free is seen, not suffered.
        """
        buffer = call[1]
        self.handed_back.add(buffer)
        if buffer in self.twins:
            self.runtime.free(self.twins.pop(buffer))
        self.spoil(buffer, POISON)

    def spoil(self, buffer: Buffer, version: object) -> None:
        """Fill a buffer from outside every stream."""
        nbytes = len(buffer.regions) * self.bench.nbytes
        code = self.versions.code(version)
        self.bench.fill(buffer.kind, self.things[buffer], code, nbytes)

    def do_malloc_async(self, lane: Lane, call: Call) -> None:
        """Allocate from the device's pool; what is there then counts as uninitialised."""
        _verb, buffer, of, stream = call
        if self.capturing is not None:
            self.unsupported("an allocation inside a capture")
        key = (lane.thread, lane.depth, 0)
        if of is not None and not of.pooled:
            self.things[buffer] = self.things[of]  # a pool of ours, which keeps books on the host
            self.freed.add(buffer)
        else:
            nbytes = len(buffer.regions) * self.bench.nbytes
            at = self.things[buffer] = self.runtime.malloc_async(nbytes, self.things[stream])
            self.later.append(lambda: self.give_back(buffer, at))
            if "free" in self.facts:
                self.twins[buffer] = self.runtime.malloc_async(nbytes, self.things[stream])
            if of is not None and at != self.things[of]:
                raise Skipped("the allocator handed out another address")
        self.fill_on(key, stream, buffer.regions, UNINITIALISED)

    def do_free_async(self, lane: Lane, call: Call) -> None:
        """Poison in stream order, then free to the pool."""
        _verb, buffer, stream, used_by = call
        if self.capturing is not None:
            self.unsupported("a free inside a capture")
        for user in used_by:
            event = self.runtime.event()
            self.runtime.record(event, self.things[user])
            self.runtime.wait(self.things[stream], event)
        key = (lane.thread, lane.depth, 0)
        self.handed_back.add(buffer)
        self.fill_on(key, stream, buffer.regions, POISON)
        if buffer.pooled and buffer not in self.freed:
            self.runtime.free_async(self.things[buffer], self.things[stream])
            self.freed.add(buffer)

    def give_back(self, buffer: Buffer, address: int) -> None:
        """Free what a protocol left allocated."""
        if buffer not in self.freed:
            self.runtime.free(address)
