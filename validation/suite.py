"""What `streamorder validate` and `streamorder litmus --gpu` run, and what comes of it as data."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.errors import BadInput
from .experiment import TORCH, Experiment, Finished, run_all
from .litmus import program, title
from .litmus_model import chosen
from .unseen import REASONS, reason_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HERE = "streamorder.validation"
CONTROLS = 12
"""Safe protocols in one process."""

ABOUT = {
    "reproducer": "real FP8 attention behind a rewritten plan, in every way of publishing one",
    "plans": "the host's plan and the plan read back from the device, byte by byte",
    "overhead": "what publishing a plan costs the host and the device, beside one plain copy",
    "sync-free": "the staged path under torch's sync debug mode `error`",
    "mutants": "refuted protocols forced into their counterexamples, and safe ones as controls",
    "uploads": "how often a blocking upload from pageable memory lands late, by size (R2.2)",
    "pageable-waits": "at which sizes asynchronous copies of pageable memory hold the host (R2.6)",
}
"""The parts of `streamorder validate`."""


class Scale(NamedTuple):
    """How much of everything."""

    replays: int = 300
    free: int = 100
    staged: int = 1000
    trials: int = 300
    heads: int = 16


QUICK = Scale(replays=30, free=20, staged=20, trials=30, heads=4)


def experiments(part: str, scale: Scale) -> list[Experiment]:
    """The experiments of a part; raises `BadInput` for an unknown one."""
    if part not in ABOUT:
        raise BadInput(f"unknown experiment {part!r}: it is one of {', '.join(ABOUT)}")
    makers = {
        "reproducer": reproducer_experiments,
        "mutants": mutant_experiments,
        "plans": lambda s: one("plans", "plans:compare_plans", heads=s.heads),
        "overhead": lambda s: one("overhead", "overhead:measure_overhead", runs=s.trials),
        "sync-free": lambda _s: one("sync-free", "sync_free:check_sync_free"),
        "uploads": lambda s: one(
            "uploads", "late_upload:late_uploads", 120.0, trials=s.trials, two_trials=s.free
        ),
        "pageable-waits": lambda _s: one("pageable-waits", "pageable_waits:pageable_waits", 120.0),
    }
    return makers[part](scale)


def one(name: str, target: str, limit: float = 90.0, **arguments: Any) -> list[Experiment]:
    """A part of one experiment."""
    return [Experiment(name, f"{HERE}.{target}", arguments, limit)]


def reproducer_experiments(scale: Scale) -> list[Experiment]:
    """Every mode; the staged one runs freely as often as it takes to say that it never fails."""
    from .reproducer import MODES

    target = f"{HERE}.reproducer:reproduce"
    made = []
    for mode in MODES:
        free = scale.staged if mode == "staged" else scale.free
        arguments = {"mode": mode, "forced": scale.free, "unforced": free, "heads": scale.heads}
        made.append(Experiment(mode, target, arguments, 150.0))
    return made


def mutant_experiments(scale: Scale) -> list[Experiment]:
    """Every refuted protocol; then the safe ones, some to a process."""
    from .mutants import refuted, safe

    target = f"{HERE}.mutants:"
    made = [
        Experiment(name, f"{target}run_mutant", {"name": name, "replays": scale.replays}, 75.0)
        for name in refuted()
    ]
    names = safe()
    for at in range(0, len(names), CONTROLS):
        some = names[at : at + CONTROLS]
        arguments = {"names": some, "replays": min(scale.free, 50)}
        made.append(Experiment(f"controls {at}", f"{target}run_controls", arguments, 75.0))
    return made


def litmus_experiments(patterns: Sequence[str], quick: bool = False) -> list[Experiment]:
    """Each litmus program in a process of its own."""
    target = f"{HERE}.litmus_run:run_program"
    effort = (20, 20, 5, 3.0) if quick else (60, 150, 30, 6.0)
    return [
        Experiment(name, target, {"name": name, "effort": effort}, 45.0)
        for name in chosen(patterns)
    ]


def run_parts(
    parts: Sequence[str],
    scale: Scale,
    told: Callable[[Finished], None] = lambda _finished: None,
    runtime: str = TORCH,
    deadline: float | None = None,
) -> dict[str, Any]:
    """Run parts and collect them; stamped with the device and the date."""
    plan = [(part, experiment) for part in parts for experiment in experiments(part, scale)]
    found: dict[str, list[dict[str, Any]]] = {part: [] for part in parts}
    info = None
    results = run_all([e for _part, e in plan], runtime, told=told, deadline=deadline)
    for (part, _experiment), finished in zip(plan, results, strict=True):
        info = info or finished.info
        found[part].append(as_data(finished))
    return {**stamp(info), "parts": found}


def run_litmus(
    patterns: Sequence[str],
    told: Callable[[Finished], None] = lambda _finished: None,
    runtime: str = TORCH,
    quick: bool = False,
    deadline: float | None = None,
) -> dict[str, Any]:
    """Run litmus programs and compare with the model."""
    rows, info = [], None
    made = litmus_experiments(patterns, quick)
    for finished in run_all(made, runtime, told=told, deadline=deadline):
        info = info or finished.info
        rows.append(judged(finished))
    return {**stamp(info), "programs": rows, "summary": summary(rows)}


def stamp(info: Any) -> dict[str, Any]:
    """What was run on, and when."""
    now = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    return {"date": now, "device": info._asdict() if info is not None else None}


def as_data(finished: Finished) -> dict[str, Any]:
    """An experiment's end as plain data."""
    return {
        "name": finished.name,
        "fault": finished.fault,
        "seconds": round(finished.seconds, 2),
        "data": finished.data,
    }


def judged(finished: Finished) -> dict[str, Any]:
    """A litmus program: what was seen, what was not and why, and what must not be."""
    data = finished.data or {}
    row: dict[str, Any] = {"name": finished.name, "title": title(finished.name), **data}
    row["seconds"] = round(finished.seconds, 2)
    if finished.fault is not None:
        row["not_run"] = f"fault: {finished.fault}"
    seen = row.get("seen", {})
    allowed = row.get("allowed", [])
    stated = program(finished.name).ALLOWED.get(row.get("contract", "cuda"), set())
    beyond = {outcome: n for outcome, n in seen.items() if outcome not in allowed}
    row["forbidden_seen"] = {o: n for o, n in beyond.items() if o not in stated}
    row["gap_seen"] = {o: n for o, n in beyond.items() if o in stated}
    row["unseen"] = {
        outcome: reason_for(outcome, row) for outcome in allowed if not seen.get(outcome)
    }
    return row


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts over the suite; `allowed` and `seen` are of programs that ran."""
    ran = [row for row in rows if "not_run" not in row]
    allowed = sum(len(row["allowed"]) for row in ran)
    unseen = sum(len(row["unseen"]) for row in ran)
    why = Counter(reason for row in ran for reason in row["unseen"].values())
    assert set(why) <= set(REASONS)
    return {
        "programs": len(rows),
        "ran": len(ran),
        "not_run": {row["name"]: row["not_run"] for row in rows if "not_run" in row},
        "allowed": allowed,
        "seen": allowed - unseen,
        "share": (allowed - unseen) / allowed if allowed else 0.0,
        "allowed_of_all": sum(len(row.get("allowed", [])) for row in rows),
        "gap_seen": [row["name"] for row in rows if row["gap_seen"]],
        "forbidden_seen": [row["name"] for row in rows if row["forbidden_seen"]],
        "why_unseen": dict(why),
        "runs": sum(row.get("runs", 0) for row in ran),
    }
