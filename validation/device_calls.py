"""The calls of the stream API on a device: one method a verb, each the runtime's own call."""

from __future__ import annotations

import ctypes
import time
from typing import TYPE_CHECKING, Any

from ..model.memory import PAGEABLE, Region
from .bench import Hold
from .device_threads import DeviceThreads
from .runtime import content, fill, int32_at

if TYPE_CHECKING:
    from ..model.calls import Call, Reads
    from .bench import Slot
    from .device_gpu import Lane

ARMED = 500_000_000
"""How long a launch made ahead waits at most, ns."""

BLOCKING = frozenset(
    {"synchronize_event", "synchronize_stream", "synchronize_device", "poll", "join", "wait_cell"}
    | {"acquire", "get", "put", "free", "destroy"}
)
"""Verbs that may wait."""


class DeviceCalls(DeviceThreads):
    """Streams, events, graphs, cells; host threads, copies and memory are in the bases."""

    def carry_out(self, lane: Lane, call: Call) -> Any:
        """Make a call when its turn has come."""
        verb = call[0]
        method = getattr(self, f"do_{verb}")
        if verb == "choose":
            return method(lane, call)
        blocks = verb in BLOCKING or self.copy_blocks(call)
        self.pace.before(lane.thread, lane.depth, call, blocks)
        try:
            return method(lane, call)
        finally:
            self.pace.after(lane.thread, lane.depth, call, blocks)

    # --- kernels ---

    def do_launch(self, lane: Lane, call: Call) -> Any:
        """A kernel that touches what the call says."""
        _verb, stream, _kernel, reads, writes, early = call
        key = (lane.thread, lane.depth, 0)
        if key in self.armed:
            self.fire(key, reported(reads, writes))
            return key
        reads = reported(reads, writes)
        slot = self.operation(key, reads)
        self.write_row(slot, reads, writes, self.pace.hold(key))
        kernel = "touch"
        if self.early_kernels:
            kernel = "waiting_touch" if early == "waits" else "early_touch"
        self.runtime.launch(kernel, slot.row, self.things[stream], early=bool(early))
        return key

    def write_row(self, slot: Slot, reads: Reads, writes: Reads, hold: Hold | None) -> None:
        """Tell a kernel what it touches."""
        slot.write(
            [self.address(region) for region, _expected in reads],
            [self.written(region, version) for region, version in writes],
            hold,
        )

    @property
    def early_kernels(self) -> bool:
        """Whether some kernel of the program starts early: then each lets its successor."""
        return "early" in self.facts

    def written(self, region: Region, version: Any) -> tuple[int, int, int]:
        """A write as a row has it: where, the word, or where to copy it from."""
        if isinstance(version, Region):
            return self.address(region), 0, self.address(version)
        return self.address(region), self.versions.word(version), 0

    def do_host_func(self, lane: Lane, call: Call) -> Any:
        """A host function in stream order; it reads and writes as the host does."""
        _verb, stream, _name, reads, writes = call
        key = (lane.thread, lane.depth, 0)
        captured = self.capturing is not None

        def function() -> None:
            if not captured:
                self.host_reads(key, reads)
            for region, version in writes:
                self.store(region, version)

        self.bracketed(key, stream, lambda: self.runtime.host_func(self.things[stream], function))
        return key

    # --- the host's own accesses ---

    def do_write(self, _lane: Lane, call: Call) -> None:
        """The host stores."""
        for region in call[1]:
            self.store(region, call[2])

    def do_read(self, lane: Lane, call: Call) -> None:
        """The host loads."""
        self.host_reads((lane.thread, lane.depth, 0), call[1])

    def host_reads(self, key: tuple[int, int, int], reads: Reads) -> None:
        """Load regions and keep what was found."""
        for region, expected in reads:
            found = self.versions.of_bytes(content(self.address(region), self.bench.nbytes))
            self.saw(key, region, expected, found)

    def store(self, region: Region, version: Any) -> None:
        """Store a version, or what another region holds, into host memory."""
        if isinstance(version, Region):
            ctypes.memmove(self.address(region), self.address(version), self.bench.nbytes)
        else:
            fill(self.address(region), self.versions.code(version), self.bench.nbytes)

    # --- launches made ahead ---

    def arm(self, lane: Lane) -> None:
        """Issue the launch that comes right after this copy ahead of it, held at a gate that opens
        when the copy returns: a launch that takes no time, where one takes longer than a copy is
        late. It is the first work of its stream, so nothing but the host's call comes before it.
        """
        for ahead, call in self.pace.ahead(lane.thread, lane.depth):
            _verb, stream, _kernel, reads, writes, _early = call
            known = {repr(region): region for region in self.regions}
            own = {repr(each): each for each in self.streams}
            if repr(stream) not in own:
                continue
            reads = tuple((known[repr(r)], expected) for r, expected in reported(reads, writes))
            writes = tuple(
                (known[repr(r)], known[repr(v)] if isinstance(v, Region) else v) for r, v in writes
            )
            slot = self.bench.slot()
            slot.reads, slot.counted = tuple(region for region, _expected in reads), True
            self.write_row(slot, reads, writes, Hold(ARMED))
            self.runtime.launch("touch", slot.row, self.things[own[repr(stream)]])
            self.armed[lane.thread, ahead, 0] = slot

    def fire(self, key: tuple[int, int, int], reads: Reads) -> None:
        """Launch what was issued ahead."""
        slot = self.armed.pop(key)
        self.operations[key] = slot, 1
        self.expectations.append((key, reads))

    # --- order ---

    def happening(self, event: Any) -> Any:
        """The runtime's event, made when it is first used."""
        if self.things.get(event) is None:
            self.things[event] = self.runtime.event("event nodes" in self.facts)
        return self.things[event]

    def do_record(self, _lane: Lane, call: Call) -> None:
        """Record an event."""
        _verb, event, stream, external = call
        self.runtime.record(self.happening(event), self.things[stream], external)

    def do_wait(self, _lane: Lane, call: Call) -> None:
        """Let a stream wait."""
        _verb, stream, event, external = call
        self.runtime.wait(self.things[stream], self.happening(event), external)

    def do_synchronize_event(self, _lane: Lane, call: Call) -> None:
        """Wait for an event."""
        self.runtime.event_synchronize(self.happening(call[1]))

    def do_synchronize_stream(self, _lane: Lane, call: Call) -> None:
        """Wait for a stream."""
        self.runtime.stream_synchronize(self.things[call[1]])

    def do_synchronize_device(self, _lane: Lane, call: Call) -> None:
        """Wait for the device."""
        self.runtime.synchronize(call[1])

    def do_query(self, lane: Lane, call: Call) -> bool:
        """Ask an event or a stream."""
        thing = call[1]

        def asked() -> bool:
            if thing in self.streams:
                return self.runtime.stream_query(self.things[thing])
            return self.runtime.event_query(self.happening(thing))

        return self.pace.answer(lane.thread, lane.depth, asked)

    def do_poll(self, _lane: Lane, call: Call) -> None:
        """Ask an event until it is complete."""
        while not self.runtime.event_query(self.happening(call[1])):
            time.sleep(0)

    def do_destroy(self, _lane: Lane, call: Call) -> None:
        """Destroy a stream."""
        self.runtime.destroy_stream(self.things[call[1]])

    # --- graphs ---

    def do_capture(self, _lane: Lane, call: Call) -> None:
        """Begin a capture; operations become nodes."""
        self.capturing = []
        self.runtime.begin_capture(self.things[call[1]])

    def do_end_capture(self, _lane: Lane, call: Call) -> None:
        """End a capture."""
        _verb, stream, graph = call
        nodes = self.capturing
        self.capturing = None
        self.things[graph] = self.runtime.end_capture(self.things[stream]), nodes, [0]

    def do_graph_launch(self, lane: Lane, call: Call) -> Any:
        """Replay a graph; each node runs once more."""
        _verb, graph, stream, reads = call
        made, nodes, runs = self.things[graph]
        runs[0] += 1
        for number, slot in enumerate(nodes):
            key = (lane.thread, lane.depth, number)
            self.operations[key] = slot, runs[0]
            self.expectations.append((key, reads))
            self.pace.issued(key, slot, runs[0])
        self.runtime.graph_launch(made, self.things[stream])
        return lane.thread, lane.depth, 0

    # --- cells and agents ---

    def do_write_value(self, lane: Lane, call: Call) -> None:
        """A stream stores a word."""
        _verb, stream, cell, value = call
        key = (lane.thread, lane.depth, 0)
        device, address = self.things[stream], self.things[cell]
        self.bracketed(key, stream, lambda: self.runtime.write_value(device, address, value))

    def do_wait_value(self, lane: Lane, call: Call) -> None:
        """A stream waits for a word."""
        _verb, stream, cell, value = call
        key = (lane.thread, lane.depth, 0)
        device, address = self.things[stream], self.things[cell]
        self.bracketed(
            key, stream, lambda: self.runtime.wait_value(device, address, value), gate=False
        )

    def do_set_cell(self, _lane: Lane, call: Call) -> None:
        """The host stores a word."""
        int32_at(self.things[call[1]]).value = call[2]

    def do_wait_cell(self, _lane: Lane, call: Call) -> None:
        """The host spins on a word."""
        word = int32_at(self.things[call[1]])
        while word.value < call[2]:
            time.sleep(0)

    def do_post(self, lane: Lane, call: Call) -> None:
        """An agent's access: a stream of its own, as nothing else is at hand."""
        _verb, _agent, event, reads, writes = call
        if any(region.kind == PAGEABLE for region, _version in (*reads, *writes)):
            self.unsupported("an agent that reads pageable memory")
        stream = self.bench.stream(("post", lane.thread, lane.depth), blocking=False, own=False)
        key = (lane.thread, lane.depth, 0)
        slot = self.operation(key, reads)
        self.write_row(slot, reads, writes, self.pace.hold(key))
        self.runtime.launch("touch", slot.row, stream)
        self.runtime.record(self.happening(event), stream)


def reported(reads: Reads, writes: Reads) -> Reads:
    """The reads that a kernel reports: not those that it makes only to copy what it finds, so that
    it copies at once.
    """
    copied = {version for _region, version in writes if isinstance(version, Region)}
    return tuple(pair for pair in reads if pair[1] is not None or pair[0] not in copied)
