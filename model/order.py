"""The order engine: decides every interleaving by happens-before.

Without value waits, one host schedule has exactly one happens-before order, whatever the device
does, so one pass of clocks decides it; host schedules are searched. A protocol with one host
thread and no choices is decided while it runs (`direct`), any other from its tree of calls.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .clocks import Found
from .decision import Decision
from .direct import BRANCHING, Branches, Direct, Echo, Spent, run
from .errors import NotModelled
from .gpu import Gpu
from .masking import UNMASKED

if TYPE_CHECKING:
    from collections.abc import Callable

    from .contract import Contract


def decide(
    body: Callable[[Gpu], None],
    steps: int,
    contract: Contract,
    uncertain: tuple[str, ...] = (),
    *,
    max_executions: int = 100_000,
    seconds: float = 60.0,
    until: float | None = None,
) -> Decision:
    """Decide a program for a number of steps under one reading of a contract; with `until` (on
    `time.monotonic`) also what hangs past a hazard.
    """
    deadline = time.monotonic() + seconds

    def by_tree(end: float) -> Decision:
        from .tree import decide_tree

        return decide_tree(body, steps, contract, uncertain, max_executions, end, until)

    try:
        found = decide_directly(body, steps, contract, uncertain, deadline)
    except Branches:
        return by_tree(deadline)
    if found.stopped and until is not None:
        return looked_on(found, lambda: by_tree(min(deadline, until)))
    return found


def looked_on(found: Decision, whole: Callable[[], Decision]) -> Decision:
    """A decision that stopped at a hazard, made whole; itself where the search ends before that."""
    try:
        more = whole()
    except NotModelled as error:
        found.spent = str(error)
        return found
    if more.holds:
        found.spent = more.spent
        return found
    return more


def decide_directly(
    body: Callable[[Gpu], None],
    steps: int,
    contract: Contract,
    uncertain: tuple[str, ...],
    deadline: float,
) -> Decision:
    """One pass while the protocol runs, and a second run that must issue the same calls."""
    found = Decision()
    gpu = Gpu(steps)
    direct = Direct(gpu, contract, uncertain, deadline)
    echo = Echo(gpu, deadline)
    try:
        run(gpu, body, direct)
        found.holds = direct.overlaps or contract.masking != UNMASKED
        if found.holds:
            run(gpu, body, echo)
    except Found:
        found.holds, found.hazards = False, True
    except Spent:
        found.spent = f"the search ended early: {direct.ops} operations decided and more to come"
    found.executions, found.ops, found.waits = 1, direct.ops, direct.waits
    found.consulted = direct.front.consulted
    found.note_queues(gpu)
    if not found.holds:
        from .tree import trace_single

        trace_single(found, body, steps, contract)
        found.stopped = goes_on(found, body, deadline)
    elif found.spent is None:
        if echo.digest != direct.digest:
            from .tree import unrepeatable

            raise unrepeatable(body, steps)
        found.once = echo.reuse.once()
    return found


def goes_on(found: Decision, body: Callable[[Gpu], None], deadline: float) -> bool:
    """Whether a program that was traced after a hazard has calls past it that nothing decided: it
    may wait for values there, or make choices.
    """
    assert found.host is not None
    if not found.cut:
        return any(node.call and node.call[0] in BRANCHING for node in found.host.nodes())
    gpu = Gpu(found.host.gpu.step_count)
    try:
        run(gpu, body, Echo(gpu, deadline))
    except (Branches, Spent):
        return True
    return False
