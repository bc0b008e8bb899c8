"""A counterexample's moments in an order in which the machine can carry them out.

Issue order agrees with every happens-before order, but not with a query that was answered false:
what it asked about must not be done yet. Then operations are carried out as late as possible, and
an answer `true` counts from where its thread goes on. Where that does not do, because threads must
take turns in another order too, the machine is searched for a way through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .again import from_the_start
from .effects import bits
from .machine import Machine, thawed
from .replay import possible, transition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .contract import Contract
    from .machine import State
    from .recorder import Moment, Recording

NODES = 20_000
"""How many states a search for an order looks at."""


def linear(recording: Recording, contract: Contract, needed: dict[int, int]) -> list[Moment]:
    """The moments of a down-set, in issue order unless a query was answered false.

    Issue order too where no other is found; the replay then refuses it.
    """
    kept = [m for m in recording.moments if m.tick <= needed.get(m.lane, 0)]
    if not any(is_query(moment) and moment.result is False for moment in kept):
        return kept

    def attempt() -> list[Moment]:
        machine = Machine(recording.host, contract)
        return Late(machine, kept).order_all() or Through(machine, recording, kept).order() or kept

    return from_the_start(attempt)


def is_query(moment: Moment) -> bool:
    """Whether a moment is a query."""
    call = moment.node.call
    return moment.on_host and call is not None and call[0] == "query" and not moment.phase


class Late:
    """Steps the machine along the host's calls, each operation only when something needs it."""

    def __init__(self, machine: Machine, moments: list[Moment]) -> None:
        self.machine = machine
        self.state = machine.initial()
        self.moments = moments
        self.waiting = [moment for moment in moments if not moment.on_host]
        self.order: list[Moment] = []

    def order_all(self) -> list[Moment] | None:
        """The order; None where this way finds none."""
        for moment in self.host_order():
            while not possible(self.machine, self.state, transition(self.machine, moment)):
                if not self.carry_out_for(self.awaited(moment)):
                    return None
            self.take(moment)
        while self.carry_out_for(0):
            pass
        return [*self.order, *self.waiting]

    def host_order(self) -> list[Moment]:
        """The host's moments, queries answered true put off to where their thread goes on."""
        late: dict[int, Moment] = {}
        order: list[Moment] = []
        for moment in (moment for moment in self.moments if moment.on_host):
            call = moment.node.call
            lanes = [moment.lane]
            if call is not None and call[0] == "join":
                lanes.append(-1 - call[1].slot)
            order += [late.pop(lane) for lane in lanes if lane in late]
            if is_query(moment) and moment.result:
                late[moment.lane] = moment
            else:
                order.append(moment)
        return [*order, *late.values()]

    def awaited(self, moment: Moment) -> int:
        """The operations that must be done before a host's moment is possible."""
        points, call = self.state[0], moment.node.call
        mask = self.awaited_by(-1 - moment.lane)
        if is_query(moment) and moment.result:
            effects = self.machine.effects
            mask |= effects.snapshot(moment.node, self.state[3], thawed(self.state[5]))
        if call is not None and call[0] == "join" and call[1].slot < len(points):
            mask |= self.awaited_by(call[1].slot)
        return mask & self.state[1]

    def awaited_by(self, thread: int) -> int:
        """What a thread waits for in its current call."""
        points = self.state[0]
        point = points[thread] if thread < len(points) else None
        return point[2] if point is not None else 0

    def carry_out_for(self, mask: int) -> bool:
        """Carry out one operation, if possible one that some of these start after."""
        indices = {self.index(moment): moment for moment in self.waiting}
        ready = [indices[at] for at in sorted(self.machine.ready(self.state)) if at in indices]
        if not ready:
            return False
        targets = [indices[at] for at in bits(mask) if at in indices]
        useful = [m for m in ready if any(m is t or precedes(m, t) for t in targets)]
        chosen = (useful or ready)[0]
        self.waiting.remove(chosen)
        self.take(chosen)
        return True

    def index(self, moment: Moment) -> int:
        """The machine's index of an operation."""
        return self.machine.effects.index_of(moment.node, moment.phase, moment.number)

    def take(self, moment: Moment) -> None:
        """Take one transition."""
        step = transition(self.machine, moment)
        self.state = self.machine.apply(self.state, step)[0]
        self.order.append(moment)


def precedes(first: Moment, second: Moment) -> bool:
    """Whether one operation happened before another."""
    return first.tick <= second.clock.get(first.lane, 0)


class Through:
    """A depth-first search for an order of all moments, host calls before operations.

    Threads take turns freely, except that calls which depend on each other keep their order; an
    answer `true` holds up its own thread only.
    """

    def __init__(self, machine: Machine, recording: Recording, moments: list[Moment]) -> None:
        self.machine = machine
        self.moments = sorted(moments, key=lambda moment: not moment.on_host)
        self.place = {moment: at for at, moment in enumerate(recording.host_moments)}
        self.below = [self.needs(recording.before.get(m, {}), m) for m in self.moments]
        self.seen: set[tuple[int, State]] = set()

    def needs(self, before: dict[int, int], moment: Moment) -> int:
        """The host's moments that come before one of them, as a mask."""
        return sum(
            1 << at
            for at, other in enumerate(self.moments)
            if other.on_host
            and other is not moment
            and self.place[other] < before.get(-1 - other.lane, 0)
            and (other.lane == moment.lane or not (is_query(other) and other.result))
        )

    def order(self) -> list[Moment] | None:
        """The first order found; None where there is none, or none within the budget."""
        path: list[Moment] = []
        levels = [self.successors(0, self.machine.initial())]
        while levels and len(path) < len(self.moments) and len(self.seen) < NODES:
            found = next(levels[-1], None)
            if found is None:
                levels.pop()
                del path[-1:]
            else:
                moment, taken, state = found
                path.append(moment)
                levels.append(self.successors(taken, state))
        return path if len(path) == len(self.moments) else None

    def successors(self, taken: int, state: State) -> Iterator[tuple[Moment, int, State]]:
        """What can come next, and where it leads; nothing where the search has been before."""
        if (taken, state) in self.seen:
            return
        self.seen.add((taken, state))
        for at, moment in enumerate(self.moments):
            if not taken >> at & 1 and not self.below[at] & ~taken:
                step = transition(self.machine, moment)
                if possible(self.machine, state, step):
                    yield moment, taken | 1 << at, self.machine.apply(state, step)[0]
