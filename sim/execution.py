"""One untimed run, choice by choice, and everything that can be asked of the state it is in."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.memory import Idempotent, conflict
from ..model.trace import described
from ..model.verdict import Site
from .contents import Held
from .control import CONTROL
from .cursors import Cursor, Traced
from .gpu import SimGpu
from .untimed import Gates, site_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..model.calls import Reads
    from ..model.contract import Contract
    from ..model.host import Host
    from ..model.memory import Region
    from .contents import Wrong
    from .ops import Op
    from .untimed import Choice

State = tuple[Any, ...]


class Access(NamedTuple):
    """An access that is possible in a state: whose, of which region, and how (`mode`).

    `age` counts operations in the order in which they were issued; a host's next call is youngest.
    """

    age: float
    key: tuple[str, int]
    site: Site
    region: Region
    mode: bool | Idempotent


class Execution:
    """A run from the start, under one reading of a contract.

    `numbers` is shared by all executions of a program, so that their states can be compared.
    """

    def __init__(
        self,
        host: Host,
        contract: Contract,
        uncertain: tuple[str, ...],
        numbers: dict[Any, int],
    ) -> None:
        self.gates = Gates(numbers)
        self.sim = SimGpu(Traced(host), contract, self.gates, uncertain)
        self.sim.start()
        self.sim.run()

    # --- choices ---

    def enabled(self) -> list[Choice]:
        """Everything that can happen next."""
        return self.gates.env.enabled()

    def take(self, choice: Choice) -> list[tuple[Site, Wrong]]:
        """One atomic step; the accesses in it that found a wrong version."""
        self.gates.wrongs = []
        self.gates.env.release(choice)
        self.sim.run()
        return self.gates.wrongs

    def replay(self, choices: Iterable[Choice]) -> None:
        """Take choices that an earlier execution has taken."""
        for choice in choices:
            self.gates.env.release(choice)
            self.sim.run()

    @property
    def finished(self) -> bool:
        """Whether every thread has returned and nothing is pending."""
        return not (self.sim.pending or self.sim.blocked)

    # --- the state ---

    def state(self) -> State:
        """Everything that what can still happen depends on."""
        sim = self.sim
        return (
            tuple(place(sim.threads[thread]) for thread in sorted(sim.threads)),
            frozenset(waiting(op) for op in sim.pending),
            tuple(
                (slot, numbers(front)) for slot, front in enumerate(sim.front.cells) if front
                and any(not op.finished for op in front)
            ),
            sim.contents.as_key(),
            frozenset((lock, holder) for lock, (holder, _request) in sim.holders.items()),
            frozenset((q, tuple(store.items)) for q, store in sim.queues.items() if store.items),
            frozenset(sim.front.notes.items()),
            None if sim.occupant is None else sim.occupant.number,
        )  # fmt: skip

    def outcome(self) -> frozenset[tuple[str, Any]]:
        """What memory holds: (region, version) of every region that was written."""
        regions = self.sim.gpu.regions
        versions = sorted(self.sim.contents.versions.items(), key=lambda item: item[0])
        return frozenset({repr(regions[slot]): version for slot, version in versions}.items())

    # --- hazards ---

    def hazards(self) -> list[tuple[Access, Access]]:
        """Every two accesses of one region, one a write, that are both possible now; of each two
        the older one first.
        """
        by_slot: dict[int, list[Access]] = {}
        for access in self.accesses():
            by_slot.setdefault(access.region.slot, []).append(access)
        return [
            pair
            for several in by_slot.values()
            for pair in combinations(sorted(several, key=lambda access: access.age), 2)
            if conflict(pair[0].mode, pair[1].mode) and pair[0].key != pair[1].key
        ]

    def accesses(self) -> Iterator[Access]:
        """Every access that is possible now."""
        for key, gate in list(self.gates.env.gates.items()):
            if key[0] == "host" and gate.results():
                yield from self.of_host(key, gate.who)
        for age, op in enumerate(self.sim.pending):
            gate = self.gates.env.gates.get(("op", op.number))
            if gate is not None and gate.results() == (None,):
                yield from self.of_op(age, op)

    def of_op(self, age: int, op: Op) -> Iterator[Access]:
        """What an operation reads and writes."""
        at, key = site_of(op), ("op", op.number)
        yield from (Access(age, key, at, region, False) for region, _expected in op.reads)
        yield from (Access(age, key, at, region, mode(version)) for region, version in op.writes)

    def of_host(self, key: tuple[str, int], cursor: Any) -> Iterator[Access]:
        """What a host thread itself accesses in its next step."""
        age = float("inf")
        reads, writes = self.host_accesses(cursor)
        at = Site(cursor.where, described(cursor.call)) if reads or writes else None
        if at is not None:
            yield from (Access(age, key, at, region, False) for region, _expected in reads)
            yield from (Access(age, key, at, region, mode(version)) for region, version in writes)

    def host_accesses(self, cursor: Cursor) -> tuple[Reads, Reads]:
        """What a host thread itself reads and writes in its next step."""
        assert cursor.call is not None
        if cursor.rest is None and (cursor.call[0] in CONTROL or cursor.call[0] in SILENT):
            return (), ()
        return self.sim.probed(cursor)


SILENT = frozenset(
    {"launch", "host_func", "record", "wait", "synchronize_event", "synchronize_stream"}
    | {"synchronize_device", "poll", "destroy", "capture", "end_capture", "write_value"}
    | {"wait_value", "set_cell", "post", "malloc_async", "free_async"}
)
"""Calls in which the host itself accesses no memory."""


def mode(version: object) -> bool | Idempotent:
    """How a write conflicts: with any access, an idempotent one not with its equal."""
    return version if isinstance(version, Idempotent) else True


def place(cursor: Cursor) -> tuple[Any, ...]:
    """Where a thread is: at which call, in which phase of it, waiting for what."""
    return cursor.key, cursor.phase, numbers(cursor.awaited)


def waiting(op: Op) -> tuple[Any, ...]:
    """A pending operation: what it still waits for, and the versions that it carries."""
    carried = tuple(version for _region, version in op.writes if isinstance(version, Held))
    return op.number, numbers(op.before), carried


def numbers(ops: Iterable[Op]) -> frozenset[int]:
    """Those of the operations that are not finished."""
    return frozenset(op.number for op in ops if not op.finished)


def stuck(execution: Execution) -> tuple[Site, ...]:
    """Who waits where, in a state in which nothing can go on."""
    sim = execution.sim
    ready = [op for op in sim.pending if ("op", op.number) in execution.gates.env.gates]
    return tuple(site_of(who) for who in (*sim.blocked, *ready))


def named(region: Region) -> str:
    """A region by the first name that its memory had."""
    return repr(region.buffer.gpu.regions[region.slot])
