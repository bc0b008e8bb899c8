"""Protocols with a mistake, forced on a device: does it show?

Every entry of the catalogue that the model refutes is a mutant of a safe one beside it. For each
missing edge a script makes the two accesses take the wrong order; the device must then read the
version that the model predicts. Unforced runs are reported as they come.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from ..model.catalogue import catalogue
from ..model.check import check
from ..model.contract import CONTRACTS
from ..model.errors import NotModelled
from .bench import Bench
from .device_gpu import TorchGpu
from .director import Directed
from .outcome_scripts import facts
from .pace import Free, Jittered
from .runtime import Unsupported
from .script import scripts

if TYPE_CHECKING:
    from ..model.protocol import Protocol
    from ..model.verdict import Verdict
    from .pace import Pace
    from .runtime import Runtime
    from .script import Script

PROFILES = {"cuda": "cuda-13", "hip": "rocm-10"}
"""The profile of each backend."""

SCALE = 60_000
"""Longest random delay of a jittered run, ns."""

HANGS = 3
"""After how many hangs a protocol is left alone: each takes as long as it takes to call it one."""


class Trials:
    """Runs of one protocol on a device."""

    def __init__(self, runtime: Runtime, entry: Protocol, steps: int, nbytes: int) -> None:
        self.entry = entry
        self.body = entry.bind({})
        self.bench = Bench(runtime, nbytes)
        self.steps = steps
        contract = CONTRACTS["hip" if runtime.info.backend == "hip" else "cuda"]
        self.facts = facts(self.body, contract, steps).verbs
        self.count = 0

    def run(self, pace: Pace) -> TorchGpu:
        """One run."""
        gpu = TorchGpu(self.bench, self.steps, pace, self.count, self.facts)
        self.count += 1
        gpu.run(self.body)
        return gpu


def refuted(contract: str = "cuda") -> list[str]:
    """The names of all mutants: entries that the catalogue states refuted under a contract."""
    return [name for name, entry in catalogue().items() if entry.expects.get(contract) == "REFUTED"]


def safe(contract: str = "cuda") -> list[str]:
    """The names of all controls: entries that the catalogue states safe under a contract."""
    good = {"PROVED", "HOLDS"}
    return [name for name, entry in catalogue().items() if entry.expects.get(contract) in good]


def run_mutant(
    runtime: Runtime, name: str, replays: int = 300, nbytes: int = 1 << 14, seconds: float = 40.0
) -> dict[str, Any]:
    """Force every missing edge of a protocol that gates can force; then let it run freely."""
    entry = catalogue()[name]
    contract = CONTRACTS["hip" if runtime.info.backend == "hip" else "cuda"]
    data: dict[str, Any] = {"name": name, "contract": contract.name, "hazards": []}
    until = time.monotonic() + seconds
    try:
        verdict = check(entry, contract)
        steps = verdict.steps or 1
        data["hang"] = hanging(verdict)
        found = scripts(entry, contract, steps)
        data["profile"], data["on_profile"] = on_profile(entry, contract.name)
        trials = Trials(runtime, entry, steps, nbytes)
        trials.run(Free())
        for script in found:
            data["hazards"].append(force(trials, script, replays, until))
        data["free"] = unforced(trials, [Free() for _ in range(min(replays, 100))])
        mixed = random.Random(1)  # noqa: S311 - delays, not secrets
        data["jittered"] = unforced(
            trials, [Jittered(mixed, SCALE) for _ in range(min(replays, 100))]
        )
    except (Unsupported, NotModelled) as error:
        data["not_run"] = str(error)
    return data


def hanging(verdict: Verdict) -> str | None:
    """Where a protocol can hang by the model, in words."""
    for edge in verdict.missing_edges:
        if edge.kind == "deadlock":
            return edge.sentence
    return None


def on_profile(entry: Protocol, contract: str) -> tuple[str, str | None]:
    """Whether the runtime's profile exposes a refuted protocol."""
    name = PROFILES[contract]
    seen = check(entry, runtime=name).runtime
    return name, None if seen is None else seen.found.hazard


def run_control(runtime: Runtime, name: str, replays: int = 100, nbytes: int = 1 << 14) -> Any:
    """A safe protocol, freely and with random delays: nothing may go wrong."""
    entry = catalogue()[name]
    contract = CONTRACTS["hip" if runtime.info.backend == "hip" else "cuda"]
    try:
        steps = check(entry, contract).steps or 1
        trials = Trials(runtime, entry, steps, nbytes)
        mixed = random.Random(1)  # noqa: S311 - delays, not secrets
        paces: list[Pace] = [Free() for _ in range(replays)]
        paces += [Jittered(mixed, SCALE) for _ in range(replays)]
        return {"name": name, "contract": contract.name, **unforced(trials, paces)}
    except (Unsupported, NotModelled) as error:
        return {"name": name, "contract": contract.name, "not_run": str(error)}


def run_controls(runtime: Runtime, names: list[str], replays: int) -> list[Any]:
    """Several safe protocols."""
    return [run_control(runtime, name, replays) for name in names]


def described(script: Script) -> dict[str, Any]:
    """What a script forces, in words."""
    return {
        "kind": script.kind,
        "first": script.first and str(script.first),
        "second": script.second and str(script.second),
        "predicted": [
            f"{e.region}: expects {e.expected!r}, finds {e.found!r}" for e in script.expected[:3]
        ],
        "forceable": bool(script.expected),
        "why_not": why_not(script),
    }


def why_not(script: Script) -> str | None:
    """Why gates cannot force a hazard."""
    if script.expected:
        return None
    return "late upload" if script.late else "no read tells"


def force(trials: Trials, script: Script, replays: int, until: float) -> dict[str, Any]:
    """Replay a script: how often the wrong version was read, and how often as predicted."""
    data = {**described(script), "replays": 0, "shown": 0, "as_predicted": 0, "stalled": {}}
    if not script.expected:
        return data
    why: Counter[str] = Counter()
    wanted = {(e.key, e.region, e.found) for e in script.expected}
    started = time.perf_counter()
    for attempt in range(replays):
        pace = Directed(script)
        gpu = trials.run(pace)
        wrong = {(s.key, s.region, s.found) for s in gpu.sights if s.wrong}
        data["replays"] += 1
        stalled = "the run hung" if gpu.hung else pace.stalled
        if stalled is not None:
            why[stalled] += 1
        else:
            data["shown"] += bool(wrong)
            data["as_predicted"] += wanted <= wrong
        if (attempt == 2 and sum(why.values()) == 3) or time.monotonic() > until:
            break
    data["seconds"] = time.perf_counter() - started
    data["stalled"] = dict(why)
    return data


def unforced(trials: Trials, paces: list[Pace]) -> dict[str, Any]:
    """Runs that nothing directs: in how many a read was wrong, and what was read."""
    shown, reads, idle, runs, hung = 0, 0, 0, 0, 0
    what: Counter[str] = Counter()
    for pace in paces:
        if hung == HANGS:
            break
        gpu = trials.run(pace)
        runs += 1
        hung += gpu.hung
        wrong = [sight for sight in gpu.sights if sight.wrong]
        shown += bool(wrong)
        reads += sum(sight.expected is not None for sight in gpu.sights)
        idle += gpu.hung or bool(gpu.unfinished())
        what.update(f"{s.region}: expects {s.expected!r}, finds {s.found!r}" for s in wrong[:1])
    return {
        "runs": runs,
        "hung": hung,
        "wrong": shown,
        "reads_checked": reads,
        "unfinished": idle,
        "examples": dict(what.most_common(3)),
    }
