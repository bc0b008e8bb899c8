"""Litmus programs on a device: which outcomes it shows, and whether one is forbidden.

Each program runs freely, with random delays, and along a script for each outcome that gates can
force. A replay whose direction failed is counted apart: its outcome is one like any other, but it
says nothing of the script.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.contract import CONTRACTS
from ..model.errors import BadProtocol, BudgetSpent, NotModelled
from ..model.refined import is_named
from .bench import Bench
from .device_gpu import TorchGpu
from .director import Directed
from .litmus import program
from .litmus_model import answer, in_words
from .outcome_scripts import facts, outcome_scripts
from .pace import Armed, Free, Jittered, Together
from .runtime import Skipped, Unsupported
from .unseen import REFUSES

if TYPE_CHECKING:
    from .pace import Pace
    from .runtime import Runtime
    from .script import Script

SCALES = (40_000, 300_000)
"""Longest random delays, ns."""

LONG, SHORT = 1 << 18, 1 << 17
"""Bytes in a region: enough for accesses to overlap, or less where a late upload is to be caught
before it lands.
"""

HANGS = 3
"""How often a hang is forced: each takes as long as it takes to call it one."""

MOST_HANGS = 10
"""After how many hangs a program is left alone."""

OFFSETS = (3_000, 15_000, 60_000, 250_000)
"""Longest delays behind gates that are opened at once, ns."""


class Effort(NamedTuple):
    """How often a program runs: freely, with each scale of random delays, along each script."""

    free: int = 60
    jittered: int = 150
    forced: int = 30
    seconds: float = 12.0


class Runs:
    """The runs of one program on a device."""

    def __init__(self, runtime: Runtime, name: str, nbytes: int | None, seed: int) -> None:
        self.module = program(name)
        self.random = random.Random(seed)  # noqa: S311 - delays, not secrets
        self.contract = CONTRACTS[runtime.info.backend if runtime.info.backend == "hip" else "cuda"]
        self.facts, self.ahead = facts(self.module.litmus, self.contract, 1)
        late = any(self.ahead.values())
        self.bench = Bench(runtime, nbytes or (SHORT if late else LONG))
        self.skipped = 0
        self.seen: Counter[str] = Counter()
        self.count = 0
        self.idle = 0

    def run(self, pace: Pace) -> str | None:
        """One run; its outcome, None where it came to nothing."""
        gpu = TorchGpu(self.bench, 1, pace, self.count, self.facts)
        self.count += 1
        try:
            gpu.run(self.module.litmus)
        except Skipped:
            self.skipped += 1
            return None
        if gpu.unfinished():
            self.idle += 1
        if gpu.hung:
            self.seen["hang"] += 1
            return "hang"
        observed = gpu.observed(self.module.OBSERVE)
        names = [name for name in observed if is_named(name, tuple(self.module.OBSERVE))]
        outcome = in_words(tuple((name, plain(observed[name])) for name in names))
        self.seen[outcome] += 1
        return outcome


def plain(version: Any) -> Any:
    """Memory that nothing has written counts as 0, as in the model."""
    return 0 if repr(version) == "nothing" else version


def run_program(
    runtime: Runtime, name: str, nbytes: int | None = None, seed: int = 1, effort: Any = ()
) -> dict[str, Any]:
    """Everything about one program, as plain data."""
    often = Effort(*effort)
    contract = "hip" if runtime.info.backend == "hip" else "cuda"
    allowed = answer(name, contract).outcomes
    data: dict[str, Any] = {"name": name, "contract": contract, "allowed": list(allowed)}
    try:
        runs = Runs(runtime, name, nbytes, seed)
        scripts = outcome_scripts(runs.module.litmus, runs.contract, runs.module.OBSERVE)
        measured = measure(runs, scripts, often)
    except (BadProtocol, NotModelled) as error:
        return {**data, "not_run": f"{REFUSES}: {error}"}
    except (Unsupported, BudgetSpent) as error:
        return {**data, "not_run": f"{error}"}
    return {**data, **measured, "facts": sorted(runs.facts), "nbytes": runs.bench.nbytes}


def measure(runs: Runs, scripts: dict[str, Script], often: Effort) -> dict[str, Any]:
    """Run along scripts, freely, and with random delays, as long as there is time."""
    until = time.monotonic() + often.seconds
    runs.run(Free())
    runs.seen.clear()
    forced = {outcome: force(runs, outcome, script, often) for outcome, script in scripts.items()}
    for repeat in range(often.free):
        if time.monotonic() < until or repeat < 5:
            runs.run(Free())
        if runs.seen["hang"] > MOST_HANGS:
            break
    free = Counter(runs.seen)
    for repeat in range(often.jittered):
        if runs.seen["hang"] > MOST_HANGS:
            break
        for pace in loose(runs):
            if time.monotonic() < until or repeat < 5:
                runs.run(pace)
    if runs.count == runs.skipped:
        raise Unsupported("every run was skipped: the allocator handed out another address")
    return {
        "seen": dict(runs.seen),
        "forced": forced,
        "free_runs": often.free,
        "runs": runs.count,
        "unfinished": runs.idle,
        "skipped": runs.skipped,
        "free": dict(free),
    }


def loose(runs: Runs) -> list[Pace]:
    """A run of each kind that is neither free nor directed."""
    paces: list[Pace] = [Jittered(runs.random, scale) for scale in SCALES]
    paces += [Together(runs.random, scale) for scale in OFFSETS]
    if any(runs.ahead.values()):
        paces.append(Armed(runs.ahead))
    return paces


def force(runs: Runs, outcome: str, script: Script, often: Effort) -> dict[str, Any]:
    """Follow the script for an outcome: how often it was followed, and how often it came."""
    followed, came, why = 0, 0, Counter()
    for attempt in range(often.forced if outcome != "hang" else min(often.forced, HANGS)):
        pace = Directed(script)
        found = runs.run(pace)
        if pace.stalled is None:
            followed += 1
            came += found == outcome
        else:
            why[pace.stalled] += 1
            if attempt == 2 and not followed:
                break
    return {"followed": followed, "came": came, "stalled": dict(why)}
