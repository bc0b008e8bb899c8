"""The machine as an engine: explicit states, for programs small enough."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .again import from_the_start
from .decision import Decision
from .errors import BudgetSpent, NotModelled
from .explore import Exploration, explore
from .host import Host
from .masking import UNMASKED
from .sync import FALSES
from .tree import reuse_in, schedule_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from .contract import Contract
    from .gpu import Gpu
    from .machine import Transition
    from .schedule import Step


def decide_states(
    body: Callable[[Gpu], None],
    steps: int,
    contract: Contract,
    uncertain: tuple[str, ...] = (),
    *,
    max_states: int = 2_000_000,
    seconds: float = 60.0,
    until: float | None = None,
) -> Decision:
    """Decide a program by visiting every state that it can be in, up to the first thing wrong.

    With `until` (on `time.monotonic`) it is looked at past that, to see what hangs.
    """
    found = Decision()
    host = found.host = Host(body, steps)
    deadline = time.monotonic() + seconds
    try:
        walk = explore(
            host, contract, uncertain, first_only=True, max_states=max_states, deadline=deadline
        )
    except BudgetSpent as error:
        found.spent = f"the search ended early: {error}"
        host.verify()
        return found
    host.verify()
    found.states, found.ops = walk.states, len(walk.machine.ops)
    found.consulted = walk.machine.effects.front.consulted
    found.threads, found.once = len(host.gpu.threads), reuse_in(host).once()
    found.branches = host.branches()
    found.bounded_queries = any(n >= FALSES for node in host.nodes() for n in node.falses.values())
    found.hazards, found.hangs = bool(walk.hazards or walk.wrongs), bool(walk.deadlocks)
    found.note_queues(host.gpu)
    if (
        contract.masking == UNMASKED
        and walk.holds
        and any(node.call is not None and node.call[0] == "concurrent" for node in host.nodes())
    ):
        found.spent = "the machine does not decide concurrent(): use the engine order"
        return found
    found.holds, found.spins = walk.holds, host.gpu.cells_used
    if walk.deadlocks and not (walk.hazards or walk.wrongs):
        found.walk, found.hang = walk, True
    elif not walk.holds:
        found.walk = walk
        found.bad = [from_the_start(lambda: completed(host, contract, host_steps(walk)))]
    found.stopped = not walk.complete
    if found.stopped and until is not None:
        limits = {"max_states": max_states, "deadline": min(deadline, until)}
        look_on(found, host, lambda: explore(host, contract, uncertain, **limits))
    return found


def look_on(found: Decision, host: Host, whole: Callable[[], Exploration]) -> None:
    """Add what there is past the first thing wrong, or why that is not known."""
    try:
        walk = whole()
    except (BudgetSpent, NotModelled) as error:
        found.spent = f"the search ended early: {error}"
        return
    host.verify()
    found.stopped, found.walk = False, walk
    found.hazards, found.hangs = bool(walk.hazards or walk.wrongs), bool(walk.deadlocks)
    found.consulted |= walk.machine.effects.front.consulted
    found.spins = host.gpu.cells_used
    found.note_queues(host.gpu)


def host_steps(walk: Exploration) -> list[Step]:
    """The host schedule of the first thing that the walk found wrong."""
    path = shortest(walk)
    return [(thread, result) for kind, thread, result in padded(path) if kind == "host"]


def shortest(walk: Exploration) -> list[Transition]:
    """The path to the first thing that the walk found wrong."""
    if walk.hazards:
        return walk.path(walk.hazards[0][0])
    if walk.wrongs:
        state, transition, _wrong = walk.wrongs[0]
        return [*walk.path(state), transition]
    return walk.path(walk.deadlocks[0])


def padded(path: list[Transition]) -> list[Transition]:
    """Transitions of one length."""
    return [step if len(step) == 3 else (*step, None) for step in path]


def completed(host: Host, contract: Contract, steps: list[Step]) -> list[Step]:
    """A host schedule that begins with these steps, carried on to its end."""
    schedule = schedule_of(host, contract, ())
    for thread, result in steps:
        schedule.take(thread, result)
    while options := schedule.options():
        schedule.take(*options[0])
    return schedule.steps
