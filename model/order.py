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
from .direct import Branches, Direct, Echo, Spent, run
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
) -> Decision:
    """Decide a program for a number of steps under one reading of a contract."""
    deadline = time.monotonic() + seconds
    try:
        return decide_directly(body, steps, contract, uncertain, deadline)
    except Branches:
        from .tree import decide_tree

        return decide_tree(body, steps, contract, uncertain, max_executions, deadline)


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
    elif found.spent is None:
        if echo.digest != direct.digest:
            from .tree import unrepeatable

            raise unrepeatable(body, steps)
        found.once = echo.reuse.once()
    return found
