"""The refined machine: operations that take time, for the outcomes that a device may show.

The machine applies an operation in one step, which is enough to find every hazard; a real one
starts, touches its regions one after another in any order, and ends. Here an operation is split
into those steps: reads first, then each write in two, between which the region is *torn*. The
host's own stores are split likewise. The outcomes of a program are the memories it can end with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .again import from_the_start
from .effects import Carried, Copied, Effects, Late
from .errors import BudgetSpent
from .host import Host
from .machine import Machine
from .memory import UNWRITTEN, Idempotent, Region, Special

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .calls import Reads
    from .contract import Contract
    from .gpu import Gpu
    from .host import Node
    from .objects import Stream

TORN = Special("torn")
"""The version of a region of which a part is old and a part new, or of two writes at once."""

MOST_STATES = 500_000


def unwrapped(version: object) -> object:
    """What is in memory in the end: an idempotent write leaves its version as any other does."""
    return version.value if isinstance(version, Idempotent) else version


class Begun(Late):
    """The version of a region while one write of it is under way."""

    __slots__ = ("version", "write")

    def __init__(self, write: tuple[Any, ...], version: object = None) -> None:
        self.write = write
        self.version = unwrapped(version)

    def held_in(self, holds: dict[int, Any]) -> object:
        """Itself."""
        del holds
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Begun) and self.write == other.write

    def __hash__(self) -> int:
        return hash(self.write)


class Ended(Late):
    """The version that a write leaves: its own, or a torn one where another write came between."""

    __slots__ = ("slot", "version", "write")

    def __init__(self, write: tuple[Any, ...], slot: int, version: object) -> None:
        self.write = write
        self.slot = slot
        self.version = unwrapped(version)

    def held_in(self, holds: dict[int, Any]) -> object:
        """What is there in the end."""
        there = holds.get(self.slot)
        if there != Begun(self.write):
            same = there.version if isinstance(there, Begun) else there
            return there if same is not None and same == self.version else TORN
        held = self.version.held_in(holds) if isinstance(self.version, Late) else self.version
        return TORN if isinstance(held, Begun) else held


class Taken(Late):
    """What a region held when it was read: torn while a write of it is under way."""

    __slots__ = ("slot",)

    def __init__(self, slot: int) -> None:
        self.slot = slot

    def held_in(self, holds: dict[int, Any]) -> object:
        """The version read."""
        held = holds.get(self.slot, UNWRITTEN)
        return TORN if isinstance(held, Begun) else held


class Settled(Late):
    """A version as someone reads it who cannot see how it is written: torn while it is."""

    __slots__ = ("version",)

    def __init__(self, version: Late) -> None:
        self.version = version

    def held_in(self, holds: dict[int, Any]) -> object:
        """The version read."""
        held = self.version.held_in(holds)
        return TORN if isinstance(held, Begun) else held


class RefinedEffects(Effects):
    """The machine's sink, with every operation split into its steps."""

    def op(self, stream: Stream, before: int, reads: Reads, writes: Reads) -> int:
        """Start after `before`; read each region, then write each in two steps; end."""
        taken: dict[int, tuple[int, Region]] = {}
        for region, _expected in reads:
            if region.slot not in taken:
                held = self.host.gpu.scratch(region, self.identity(stream))
                bit = super().op(stream, before, (), ((held, Taken(region.slot)),))
                taken[region.slot] = (bit, held)
        started = before
        for bit, _held in taken.values():
            started |= bit
        ended = started
        for region, version in writes:
            source = Copied(taken[version.slot][1]) if isinstance(version, Region) else version
            write = (self.node, self.phase, len(self.effect.issued))
            begun = super().op(stream, started, (), ((region, Begun(write, source)),))
            final = Ended(write, region.slot, source)
            ended |= super().op(stream, begun, (), ((region, final),))
        return super().op(stream, ended, (), ())

    def host_write(self, writes: Reads) -> None:
        """What the CPU copies may be torn already."""
        carried = [version for _region, version in writes if isinstance(version, Carried)]
        super().host_write(
            tuple((r, Settled(v) if isinstance(v, Carried) else v) for r, v in writes)
        )
        self.effect.used += carried

    def identity(self, _stream: Stream) -> int:
        """A number for what the current phase reads next, the same in every trace."""
        return hash((self.node.depth, self.node.thread, self.phase, len(self.effect.issued)))

    def run(self, node: Node, phase: int, result: object) -> Any:
        """A store of the host takes two phases: begun, and ended."""
        assert node.call is not None
        if node.call[0] != "write" or phase:
            return super().run(node, phase, result)
        _verb, regions, version = node.call
        writes = tuple((region, Begun((node, region.slot), version)) for region in regions)
        self.host_write(writes)
        ends = tuple((r, Ended((node, r.slot), r.slot, version)) for r in regions)
        return 0, lambda _call: self.host_write(ends)


class RefinedMachine(Machine):
    """The machine over split operations."""

    def __init__(self, host: Host, contract: Contract) -> None:
        super().__init__(host, contract)
        self.effects = RefinedEffects(host, contract, (), self.alone)
        self.ops = self.effects.ops


Outcome = tuple[tuple[str, Any], ...]


def outcomes(
    body: Callable[[Gpu], None], contract: Contract, observe: Iterable[str], steps: int = 1
) -> list[Outcome]:
    """Every combination of versions that the observed buffers can end with.

    A region that nothing has written counts as 0; uncertain promises are taken both ways. An
    outcome `hang` stands for a program that can stop for ever. Raises `BudgetSpent` for a program
    with too many states.
    """
    found: set[Outcome] = set()
    names = tuple(observe)
    for reading in contract.readings(contract.uncertain):
        for way in reading.ways():
            host = Host(body, steps)
            found |= from_the_start(lambda h=host, c=way: _outcomes(RefinedMachine(h, c), names))
            if not host.gpu.cells_used:
                break
    return sorted(found, key=repr)


def _outcomes(machine: RefinedMachine, names: tuple[str, ...]) -> set[Outcome]:
    found: set[Outcome] = set()
    start = machine.initial()
    seen, waiting = {start}, [start]
    while waiting:
        state = waiting.pop()
        able = machine.enabled(state)
        if not able:
            done = machine.finished(state)
            found.add(_observed(machine, state[4], names) if done else (("hang", True),))
        for transition in able:
            after, _wrong = machine.apply(state, transition)
            if after not in seen:
                seen.add(after)
                waiting.append(after)
        if len(seen) > MOST_STATES:
            raise BudgetSpent(f"more than {MOST_STATES} states")
    return found


def _observed(machine: RefinedMachine, memory: int, names: tuple[str, ...]) -> Outcome:
    holds = machine.memories[memory]
    regions = {repr(region): region.slot for region in machine.host.gpu.regions}
    chosen = [name for name in regions if is_named(name, names)]
    return tuple((name, holds.get(regions[name], 0)) for name in chosen)


def is_named(region: str, names: tuple[str, ...]) -> bool:
    """Whether a region is one of these, or a part of one."""
    return any(region == name or region.startswith(f"{name}.") for name in names) and (
        "(read)" not in region
    )
