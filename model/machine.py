"""The specification: every state that a program can be in, and what can happen next.

A *state* is where each host thread is, which operations are pending, and what memory holds:

    hosts      for each thread: (node, rest, awaited), or None before it is started
    pending    the set of issued operations that are not done, as a bit mask
    preds      for each pending operation, in bit order: those that it still waits for
    cells      the frontiers of streams and events, without operations that are done
    memory     the version of every region that holds one, and what staged copies carry
    shared     locks held, queues that are not empty, streams destroyed

What may happen: a host thread carries out its next call, or the rest of a call whose awaited
operations are done; or a pending operation whose predecessors are done is applied, reads then
writes, in one step. What must hold: no two accesses of one region, one of them a write, are both
possible in one state (a *hazard*); every read finds the version it expects; somebody can go on
until every thread has returned and nothing is pending.

While one thread makes all calls, `preds` and `cells` are functions of where it is, and are left
out of the state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import sync
from .clocks import UNWRITTEN
from .effects import Carried, Copied, Effect, Effects, Operation, bits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .contract import Contract
    from .host import Host, Node
    from .objects import Region

# ("host", thread, result) or ("op", index of the operation)
Transition = tuple[Any, ...]
Point = tuple["Node", Any, int]
State = tuple[Any, ...]


class Access(NamedTuple):
    """An access that is possible in a state: whose, of which region, load or store."""

    transition: Transition
    region: Region
    writes: bool


class Wrong(NamedTuple):
    """A read that found another version than it expects."""

    region: Region
    expected: object
    found: object


class Machine:
    """The transition system of one program under one contract."""

    def __init__(
        self, host: Host, contract: Contract, uncertain: tuple[str, ...] = (), alone: bool = True
    ) -> None:
        self.host = host
        self.alone = alone
        self.effects = Effects(host, contract, uncertain, alone)
        self.ops = self.effects.ops
        self.memories: list[dict[int, Any]] = [{}]
        self._memory_ids: dict[tuple[Any, ...], int] = {(): 0}
        self._applied: dict[tuple[int, Operation], tuple[int, list[Wrong]]] = {}
        self._accessed: dict[tuple[int, Effect], tuple[int, list[Wrong]]] = {}

    # --- initial ---

    def initial(self) -> State:
        """Nothing issued, nothing written, the main thread before its first call."""
        return ((self.host.root, 0, 0),), 0, (), (), 0, ()

    # --- enabled ---

    def enabled(self, state: State) -> list[Transition]:
        """Everything that can happen next."""
        able: list[Transition] = [("op", index) for index in self.ready(state)]
        for thread, point in enumerate(state[0]):
            if point is not None:
                able += [("host", thread, result) for result in self.results(state, thread)]
        return able

    def ready(self, state: State) -> list[int]:
        """The pending operations whose predecessors are done."""
        pending = state[1]
        if not self.alone:
            waits = zip(bits(pending), state[2], strict=True)
            return [index for index, before in waits if not before]
        ops = self.ops
        return [index for index in bits(pending) if not ops[index].before & pending]

    def results(self, state: State, thread: int) -> tuple[Any, ...]:
        """The results that a thread's next call can have; none while it waits or has returned."""
        node, rest, awaited = state[0][thread]
        if awaited or node.call is None:
            return ()
        if rest:
            return (None,)
        verb = node.call[0]
        if verb == "query":
            return self.answers(state, node)
        if verb in sync.CONTROL:
            return sync.results(node.call, self.thawed(state[5])[0], lambda t: ended(state, t))
        return (None,)

    def answers(self, state: State, node: Node) -> tuple[bool, ...]:
        """True once the work is done; false only while it is not."""
        frontier = self.effects.snapshot(node, self.cells(state, node))
        if not frontier & state[1]:
            return (True,)
        return (False,) if False in sync.answers(node.falses, done=False) else ()

    # --- apply ---

    def apply(self, state: State, transition: Transition) -> tuple[State, list[Wrong]]:
        """The state after a transition, and the reads in it that found a wrong version."""
        if transition[0] == "op":
            return self.complete(state, transition[1])
        return self.carry_out(state, transition[1], transition[2])

    def complete(self, state: State, index: int) -> tuple[State, list[Wrong]]:
        """Apply a pending operation: all its reads, then all its writes."""
        hosts, pending, preds, cells, memory, shared = state
        bit = 1 << index
        after, wrong = self.applied(memory, self.ops[index])
        if not self.alone:
            waits = zip(bits(pending), preds, strict=True)
            preds = tuple(before & ~bit for other, before in waits if other != index)
            cells = trimmed(cell & ~bit for cell in cells)
        hosts = tuple(self.returned(point, bit) for point in hosts)
        return (hosts, pending & ~bit, preds, cells, after, shared), wrong

    def returned(self, point: Point | None, bit: int) -> Point | None:
        """A thread's point once an operation is done: a call that only waited for it returns."""
        if point is None or not point[2] & bit:
            return point
        node, rest, awaited = point
        awaited &= ~bit
        if awaited or rest:
            return node, rest, awaited
        return self.host.child(node, returns(node)), 0, 0

    def carry_out(self, state: State, thread: int, result: Any) -> tuple[State, list[Wrong]]:
        """A host thread's next call, or the rest of one: accesses, then operations, then a wait."""
        hosts, pending, preds, cells, memory, shared = state
        node, rest, _awaited = hosts[thread]
        destroyed = self.thawed(shared)[1]
        effect = self.effects.of(node, rest, self.cells(state, node), result, destroyed)
        after, wrong = self.accessed(memory, effect)
        for op in effect.issued:
            pending |= op.bit
        if self.alone and effect.started is not None:
            raise SecondThread
        if not self.alone:
            preds = self.waits(state, effect, pending)
            cells = trimmed(cell & pending for cell in effect.cells)
        hosts = self.moved(hosts, thread, effect, pending, result)
        shared = self.agreed(shared, node, rest, thread)
        return (hosts, pending, preds, cells, after, shared), wrong

    def moved(
        self, hosts: tuple[Any, ...], thread: int, effect: Effect, pending: int, result: object
    ) -> tuple[Any, ...]:
        """The threads' points after a call: its awaited operations, its rest, or the next call."""
        node = hosts[thread][0]
        awaited = effect.awaited & pending
        points = list(hosts)
        if awaited or effect.rest:
            points[thread] = (node, effect.rest, awaited)
        else:
            points[thread] = (self.host.child(node, result), 0, 0)
        if effect.started is not None:
            points += [None] * (effect.started.thread + 1 - len(points))
            points[effect.started.thread] = (effect.started, 0, 0)
        return tuple(points)

    def waits(self, state: State, effect: Effect, pending: int) -> tuple[int, ...]:
        """What each pending operation waits for, in bit order."""
        before = dict(zip(bits(state[1]), state[2], strict=True))
        for op, preds in zip(effect.issued, effect.befores, strict=True):
            before[op.index] = preds & state[1]
        return tuple(before[index] for index in bits(pending))

    def agreed(
        self, shared: tuple[Any, ...], node: Node, rest: int, thread: int
    ) -> tuple[Any, ...]:
        """Locks, queues and destroyed streams after a call."""
        assert node.call is not None
        if not rest and node.call[0] in sync.CONTROL:
            things, destroyed = self.thawed(shared)
            sync.carry_out(node.call, thread, things)
            return frozen(things, destroyed)
        if node.call[0] == "destroy":
            things, destroyed = self.thawed(shared)
            return frozen(things, destroyed | {node.call[1].slot})
        return shared

    # --- memory ---

    def applied(self, memory: int, op: Operation) -> tuple[int, list[Wrong]]:
        """Memory after an operation; what it carried is forgotten."""
        known = self._applied.get((memory, op))
        if known is None:
            holds = dict(self.memories[memory])
            wrong = mismatches(holds, op.reads)
            store(holds, op.writes)
            for value in op.carried:
                holds.pop(value.key, None)
            known = self._applied[memory, op] = self.kept(holds), wrong
        return known

    def accessed(self, memory: int, effect: Effect) -> tuple[int, list[Wrong]]:
        """Memory after the accesses that the host makes in a call."""
        if not (effect.reads or effect.writes or effect.staged):
            return memory, []
        known = self._accessed.get((memory, effect))
        if known is None:
            holds = dict(self.memories[memory])
            wrong = mismatches(holds, effect.reads)
            carried = [(value.key, holds.get(value.region.slot)) for value in effect.staged]
            holds.update((key, version) for key, version in carried if version is not None)
            store(holds, effect.writes)
            for value in effect.used:
                holds.pop(value.key, None)
            known = self._accessed[memory, effect] = self.kept(holds), wrong
        return known

    def kept(self, holds: dict[int, Any]) -> int:
        """The number of a memory, the same for equal ones."""
        key = tuple(sorted(holds.items(), key=lambda item: item[0]))
        number = self._memory_ids.setdefault(key, len(self.memories))
        if number == len(self.memories):
            self.memories.append(holds)
        return number

    # --- properties ---

    def hazards(self, state: State) -> list[tuple[Access, Access]]:
        """Every two accesses of one region, one a write, that are both possible now."""
        if not self.conflicting(state):
            return []
        able = list(self.accesses(state))
        return [
            (first, second)
            for i, first in enumerate(able)
            for second in able[i + 1 :]
            if first.region is second.region
            and (first.writes or second.writes)
            and first.transition[:2] != second.transition[:2]
        ]

    def conflicting(self, state: State) -> bool:
        """Whether there is a hazard; masks of regions make this quick."""
        loads = stores = 0
        for reads, writes in self.touched(state):
            if writes & (loads | stores) or reads & stores:
                return True
            loads |= reads
            stores |= writes
        return False

    def touched(self, state: State) -> Iterator[tuple[int, int]]:
        """The regions read and written by each thing that can happen, as masks."""
        ops = self.ops
        for index in self.ready(state):
            op = ops[index]
            yield op.loads, op.stores
        for thread, point in enumerate(state[0]):
            if point is not None and not point[2] and self.results(state, thread):
                yield self.effects.touches(point[0], point[1])[:2]

    def accesses(self, state: State) -> Iterator[Access]:
        """Every access that is possible now."""
        for index in self.ready(state):
            for region, writes in self.ops[index].accesses():
                yield Access(("op", index), region, writes)
        for thread, point in enumerate(state[0]):
            if point is not None and not point[2] and self.results(state, thread):
                for region, writes in self.effects.touches(point[0], point[1])[2]:
                    yield Access(("host", thread), region, writes)

    def finished(self, state: State) -> bool:
        """Whether every thread has returned and nothing is pending."""
        return not state[1] and all(ended(state, thread) for thread in range(len(state[0])))

    # --- parts of the state ---

    def cells(self, state: State, node: Node) -> tuple[int, ...]:
        """The frontiers in a state."""
        return self.effects.cells_at(node, state[0][0][1]) if self.alone else state[3]

    def thawed(self, shared: tuple[Any, ...]) -> tuple[sync.Shared, frozenset[int]]:
        """Locks and queues as a dict, and the streams that were destroyed."""
        return (dict(shared[0]), shared[1]) if shared else ({}, frozenset())


class SecondThread(Exception):
    """A second host thread starts: start again with `alone=False`, with `preds` and `cells`."""


def ended(state: State, thread: int) -> bool:
    """Whether a thread was started and has returned."""
    hosts = state[0]
    return thread < len(hosts) and hosts[thread] is not None and hosts[thread][0].call is None


def returns(node: Node) -> object:
    """The result of a call that returns after a wait."""
    return True if node.call is not None and node.call[0] == "query" else None


def frozen(things: sync.Shared, destroyed: frozenset[int]) -> tuple[Any, ...]:
    """Locks, queues and destroyed streams as part of a state."""
    if not things and not destroyed:
        return ()
    return tuple(sorted(things.items(), key=lambda item: item[0].slot)), destroyed


def trimmed(cells: Iterator[int]) -> tuple[int, ...]:
    """Cells without the empty ones at the end: an object that nothing used leaves no trace."""
    kept = list(cells)
    while kept and not kept[-1]:
        kept.pop()
    return tuple(kept)


def mismatches(holds: dict[int, Any], reads: Any) -> list[Wrong]:
    """The reads that find another version than they expect."""
    return [
        Wrong(region, expected, holds.get(region.slot, UNWRITTEN))
        for region, expected in reads
        if expected is not None and holds.get(region.slot, UNWRITTEN) != expected
    ]


def store(holds: dict[int, Any], writes: Any) -> None:
    """Write versions; a region or a carried value stands for what it holds before the writes."""
    values = [
        version.held_in(holds) if isinstance(version, (Carried, Copied)) else version
        for _region, version in writes
    ]
    for (region, _version), value in zip(writes, values, strict=True):
        if value is UNWRITTEN:
            holds.pop(region.slot, None)
        else:
            holds[region.slot] = value
