"""The specification: every state that a program can be in, and what can happen next.

A *state* is where each host thread is, which operations are pending, and what memory holds:

    hosts      for each thread: (node, rest, awaited), or None before it is started
    pending    the set of issued operations that are not done, as a bit mask
    preds      for each pending operation, in bit order: those that it still waits for
    cells      the frontiers of streams and events, without operations that are done
    memory     the version of every region that holds one, cells, and what staged copies carry
    shared     locks held, queues that are not empty, what is noted of streams, events and graphs

What may happen: a host thread carries out its next call, or the rest of a call whose awaited
operations are done; or a pending operation whose predecessors are done (and whose cell is large
enough) is applied, reads then writes, in one step. What must hold: no two accesses of one region,
one of them a write, are both possible in one state (a *hazard*); every read finds the version it
expects; somebody can go on until every thread has returned and nothing is pending.

Where streams are not assumed to make progress independently (R1.2), an operation that waits for a
cell can also *start* unsatisfied: from then on no other operation runs before it is done.

While one thread makes all calls, `preds` and `cells` are functions of where it is, and are left
out of the state; so is what is noted of streams and graphs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import sync
from .effects import CELLS, Effect, Effects, Late, Operation, bits, word
from .errors import Again, BadProtocol
from .memory import POISON, UNINITIALISED, UNWRITTEN, Idempotent, Region, conflict, spoiled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .contract import Contract
    from .host import Host, Node

# ("host", thread, result), ("op", index of the operation) or ("start", index)
Transition = tuple[Any, ...]
Point = tuple["Node", Any, int]
State = tuple[Any, ...]


class Access(NamedTuple):
    """An access that is possible in a state: whose, of which region, load or store."""

    transition: Transition
    region: Region
    writes: bool | Idempotent


class Wrong(NamedTuple):
    """An access that found another version than it expects, or freed memory."""

    region: Region
    expected: object
    found: object


class Machine:
    """The transition system of one program under one contract."""

    def __init__(self, host: Host, contract: Contract, uncertain: tuple[str, ...] = ()) -> None:
        self.host = host
        self.alone = not host.gpu.threads_used
        self.serial = not contract.streams_progress
        self.effects = Effects(host, contract, uncertain, self.alone)
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
        if self.serial:
            able += [("start", index) for index in self.startable(state)]
        for thread, point in enumerate(state[0]):
            if point is not None:
                able += [("host", thread, result) for result in self.results(state, thread)]
        return able

    def ready(self, state: State) -> list[int]:
        """The pending operations that can be done now."""
        ready = self.unhindered(state)
        if not self.host.gpu.cells_used:
            return ready
        holds = self.memories[state[4]]
        ready = [index for index in ready if self.ops[index].satisfied(holds)]
        if self.serial and (running := self.running(state)) is not None:
            return [index for index in ready if index == running]
        return ready

    def unhindered(self, state: State) -> list[int]:
        """The pending operations whose predecessors are done."""
        pending = state[1]
        if not self.alone:
            waits = zip(bits(pending), state[2])  # noqa: B905 - of one length
            return [index for index, before in waits if not before]
        ops = self.ops
        return [index for index in bits(pending) if not ops[index].before & pending]

    def startable(self, state: State) -> list[int]:
        """Unsatisfied waits that could occupy the device."""
        if self.running(state) is not None:
            return []
        holds = self.memories[state[4]]
        return [i for i in self.unhindered(state) if not self.ops[i].satisfied(holds)]

    def running(self, state: State) -> int | None:
        """The wait that occupies the device."""
        return thawed(state[5]).get(self.host.gpu.device_itself)

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
        if verb == "wait_cell":
            holds = self.memories[state[4]]
            return (None,) if word(holds, node.call[1]) >= node.call[2] else ()
        if verb in sync.CONTROL:
            return sync.results(node.call, thawed(state[5]), lambda t: ended(state, t))
        return (None,)

    def answers(self, state: State, node: Node) -> tuple[bool, ...]:
        """True once the work is done; false only while it is not."""
        frontier = self.effects.snapshot(node, state[3], thawed(state[5]))
        if not frontier & state[1]:
            return (True,)
        assert node.call is not None
        falses = node.falses.get((node.call[1], node.step), 0)
        return (False,) if False in sync.answers(falses, done=False) else ()

    # --- apply ---

    def apply(self, state: State, transition: Transition) -> tuple[State, list[Wrong]]:
        """The state after a transition, and the accesses in it that found a wrong version."""
        if transition[0] == "op":
            return self.complete(state, transition[1])
        if transition[0] == "start":
            return self.occupied(state, transition[1]), []
        return self.carry_out(state, transition[1], transition[2])

    def occupied(self, state: State, index: int | None) -> State:
        """The state in which a wait occupies the device, or none does any more."""
        shared = thawed(state[5])
        if index is None:
            shared.pop(self.host.gpu.device_itself, None)
        else:
            shared[self.host.gpu.device_itself] = index
        return (*state[:5], frozen(shared))

    def complete(self, state: State, index: int) -> tuple[State, list[Wrong]]:
        """Apply a pending operation: all its reads, then all its writes."""
        hosts, pending, preds, cells, memory, shared = state
        bit = 1 << index
        after, wrong = self.applied(memory, self.ops[index])
        if not self.alone:
            waits = zip(bits(pending), preds, strict=True)
            preds = tuple(before & ~bit for other, before in waits if other != index)
            cells = trimmed(cell & ~bit for cell in cells)
        if any(point is not None and point[2] & bit for point in hosts):
            hosts = tuple(self.returned(point, bit) for point in hosts)
        state = (hosts, pending & ~bit, preds, cells, after, shared)
        return (self.occupied(state, None) if self.serial else state), wrong

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
        things = thawed(shared)
        effect = self.effects.of(node, rest, cells, result, things)
        if self.alone and effect.started is not None:
            self.host.gpu.threads_used = True
            raise Again
        after, wrong = self.accessed(memory, effect)
        for op in effect.issued:
            pending |= op.bit
        if not self.alone:
            preds = self.waits(state, effect, pending)
            cells = trimmed(cell & pending for cell in effect.cells)
            things = effect.notes
        if not rest and node.call[0] in sync.CONTROL:
            self.control(node, thread, things)
        hosts = self.moved(hosts, thread, effect, pending, result)
        return (hosts, pending, preds, cells, after, frozen(things)), wrong

    def control(self, node: Node, thread: int, things: sync.Shared) -> None:
        """Locks and queues after a call."""
        assert node.call is not None
        try:
            sync.carry_out(node.call, thread, things)
        except BadProtocol as error:
            error.where = error.where or str(node.where)
            raise

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
            before[op.index] = preds & pending
        return tuple(before[index] for index in bits(pending))

    # --- memory ---

    def applied(self, memory: int, op: Operation) -> tuple[int, list[Wrong]]:
        """Memory after an operation; what it carried is forgotten."""
        known = self._applied.get((memory, op))
        if known is None:
            holds = dict(self.memories[memory])
            wrong = mismatches(holds, op.reads, op.writes)
            store(holds, op.writes)
            if op.cell is not None and not op.awaits:
                holds[CELLS + op.cell.slot] = op.value
            for value in op.carried:
                holds.pop(value.key, None)
            known = self._applied[memory, op] = self.kept(holds), wrong
        return known

    def accessed(self, memory: int, effect: Effect) -> tuple[int, list[Wrong]]:
        """Memory after the accesses that the host makes in a call."""
        if not (effect.reads or effect.writes or effect.staged or effect.signals):
            return memory, []
        known = self._accessed.get((memory, effect))
        if known is None:
            holds = dict(self.memories[memory])
            wrong = mismatches(holds, effect.reads, effect.writes)
            wrong += mismatches(holds, [(value.region, None) for value in effect.staged], ())
            carried = [(value.key, holds.get(value.region.slot)) for value in effect.staged]
            holds.update((key, version) for key, version in carried if version is not None)
            store(holds, effect.writes)
            holds.update({CELLS + cell.slot: value for cell, value in effect.signals})
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
        able = list(self.accesses(state))
        return [
            (first, second)
            for i, first in enumerate(able)
            for second in able[i + 1 :]
            if first.region.slot == second.region.slot
            and conflict(first.writes, second.writes)
            and first.transition[:2] != second.transition[:2]
        ]

    def conflicting(self, state: State, able: list[Transition]) -> bool:
        """Whether there may be a hazard among what can happen; masks of regions make this quick."""
        loads = stores = 0
        for kind, which, *_result in able:
            if kind == "op":
                op = self.ops[which]
                reads, writes = op.loads, op.stores
            elif kind == "host":
                reads, writes, _listed = self.touches(state, state[0][which])
            else:
                continue
            if writes & (loads | stores) or reads & stores:
                return True
            loads |= reads
            stores |= writes
        return False

    def accesses(self, state: State) -> Iterator[Access]:
        """Every access that is possible now."""
        for index in self.ready(state):
            for region, writes in self.ops[index].accesses():
                yield Access(("op", index), region, writes)
        for thread, point in enumerate(state[0]):
            if point is not None and not point[2] and self.results(state, thread):
                for region, writes in self.touches(state, point)[2]:
                    yield Access(("host", thread), region, writes)

    def finished(self, state: State) -> bool:
        """Whether every thread has returned and nothing is pending."""
        threads = (point for point in state[0] if point is not None)
        return not state[1] and all(point[0].call is None for point in threads)

    # --- parts of the state ---

    def touches(self, state: State, point: Point) -> tuple[int, int, Any]:
        """The host's own accesses in a thread's next phase."""
        node, rest, _awaited = point
        return self.effects.touches(node, rest, state[3], thawed(state[5]))


def ended(state: State, thread: int) -> bool:
    """Whether a thread was started and has returned."""
    hosts = state[0]
    return thread < len(hosts) and hosts[thread] is not None and hosts[thread][0].call is None


def returns(node: Node) -> object:
    """The result of a call that returns after a wait."""
    return True if node.call is not None and node.call[0] == "query" else None


def thawed(shared: tuple[Any, ...]) -> dict[Any, Any]:
    """What is shared, as a dict that may be changed."""
    return dict(shared)


def frozen(shared: dict[Any, Any]) -> tuple[Any, ...]:
    """What is shared, as part of a state."""
    return tuple(sorted(shared.items(), key=lambda item: item[0].serial)) if shared else ()


def trimmed(cells: Iterator[int]) -> tuple[int, ...]:
    """Cells without the empty ones at the end: an object that nothing used leaves no trace."""
    kept = list(cells)
    while kept and not kept[-1]:
        kept.pop()
    return tuple(kept)


def mismatches(holds: dict[int, Any], reads: Any, writes: Any) -> list[Wrong]:
    """The accesses that find another version than they expect, or freed memory."""
    wrong = [
        Wrong(region, expected, holds.get(region.slot, UNWRITTEN))
        for region, expected in reads
        if spoiled(holds.get(region.slot, UNWRITTEN), expected)
    ]
    return wrong + [
        Wrong(region, None, POISON)
        for region, version in writes
        if holds.get(region.slot) is POISON and version not in {UNINITIALISED, POISON}
    ]


def store(holds: dict[int, Any], writes: Any) -> None:
    """Write versions; a region or a carried value stands for what it holds before the writes."""
    values = [held(version, holds) for _region, version in writes]
    for (region, _version), value in zip(writes, values, strict=True):
        if value is UNWRITTEN:
            holds.pop(region.slot, None)
        else:
            holds[region.slot] = value


def held(version: Any, holds: dict[int, Any]) -> object:
    """What a written version stands for."""
    if isinstance(version, Late):
        return version.held_in(holds)
    return version.value if isinstance(version, Idempotent) else version
