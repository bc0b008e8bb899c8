"""Everything that was reported of the bugs this project began with, in one table.

FP8 prefill planning on an MI355X (vLLM issue 58886 and what was tried against it), the sparse
decode metadata, the draft's stale pointers: each row's verdict under each contract, the host's
waits for the device a step, and what each runtime makes of the unpatched code.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from streamorder import audit, check
from streamorder.model.catalogue import catalogue

P, R, U = "PROVED", "REFUTED", "UNDETERMINED"
SLOT, DRAIN, ITEM, NULL = "copied0", "gpu", "compute", "NULL"


class Row(NamedTuple):
    """A variant with its parameters, its verdicts under CUDA and HIP, and what the host waits for
    by itself once a step (blocking copies aside).
    """

    name: str
    cuda: str
    hip: str
    waits: tuple[str, ...] = ()
    parameters: tuple[tuple[str, int], ...] = ()


FP8 = "fp8-prefill/"
STAGED = [
    Row(FP8 + variant, P, P, (SLOT,), (("slots", slots), ("layers", layers)))
    for variant in ("staged", "staged-packed")
    for slots in (1, 2, 3, 16)
    for layers in (1, 61)
]

TABLE = [
    Row(FP8 + "direct", R, R),
    Row(FP8 + "direct-graph", R, R),
    Row(FP8 + "direct-item-after", R, R, (ITEM,)),
    Row(FP8 + "direct-blocking-stream", P, P),
    Row(FP8 + "synchronize-first", R, P, (DRAIN,)),
    Row(FP8 + "no-async-scheduling", R, P, ("ready",)),
    Row(FP8 + "synchronize-around", P, P, (DRAIN, NULL)),
    Row(FP8 + "no-fp8-prefill", P, P),
    *STAGED,
    Row(FP8 + "staged-no-wait", R, R),
    Row(FP8 + "staged-stuck-slot", R, R, (SLOT,)),
    Row(FP8 + "staged-one-event", P, P, ("copied",)),
    Row(FP8 + "staged-stuck-both", P, P, (SLOT,)),
    Row(FP8 + "pageable-slots", P, P),
    Row(FP8 + "planner-on-stream", P, P),
    Row(FP8 + "planner-on-device", P, P),
    Row("sparse-decode/unsynchronised", R, R, ("ready",)),
    Row("sparse-decode/synchronize-on-change", P, P, ("ready", "writer")),
    Row("sparse-decode/event-wait", P, P, ("ready",)),
    Row("sparse-decode/same-stream", P, P, ("ready",)),
    Row("sparse-decode/cross-stream-async", R, R),
    Row("sparse-decode/cross-stream-async-both-edges", P, P),
    Row("draft-kv-pointers/fp8-unpatched", R, R),
    Row("draft-kv-pointers/fp8-staged", R, R),
    Row("draft-kv-pointers/fp8-reread", P, P),
    Row("draft-kv-pointers/bf16-unpatched", R, R),
    Row("draft-kv-pointers/bf16-staged", R, R),
]

# (profile, environment, what is followed, what is not, what the latter needs to show a hazard)
RUNTIMES = [
    ("rocm-10", {}, "exposed", None, None),
    ("rocm-7.2", {}, "may be hidden", "exposed", ("",)),
    ("rocm-10", {"AMD_SERIALIZE_COPY": "1"}, "hidden", "exposed", ("",)),
    (
        "rocm-10",
        {"GPU_MAX_HW_QUEUES": "1"},
        "hidden",
        "may be hidden",
        ("copies by copy engine",),
    ),
    ("cuda-13", {}, "exposed", "exposed", ("",)),
]


def waits_of(row: Row, contract: str) -> tuple[str, ...]:
    """What the host itself waits for once a step, by its first line: blocking copies aside."""
    steps = 2 + dict(row.parameters).get("slots", 2)
    found = audit(catalogue()[row.name], contract, steps=steps, **dict(row.parameters)).waits
    own = [wait for wait in found if wait.in_steps and not wait.call.startswith("mem")]
    return tuple(wait.call.partition(".")[0] for wait in own if wait.per_step == 1)


def test_the_whole_table() -> None:
    """Every row under each contract, with its waits; every runtime's answer for `direct`."""
    wrong: list[object] = []
    for row in TABLE:
        for contract, expected in (("cuda", row.cuda), ("hip", row.hip)):
            sizes: dict[str, Any] = dict(row.parameters)
            verdict = check(catalogue()[row.name], contract, prove=True, **sizes)
            if verdict.verdict != expected:
                wrong.append((row.name, row.parameters, contract, verdict.verdict))
            if not row.name.startswith("draft") and waits_of(row, contract) != row.waits:
                wrong.append((row.name, contract, waits_of(row, contract)))
    unified = check(catalogue()[FP8 + "pageable-slots"], "cuda-hmm", prove=True)
    if unified.verdict != U:
        wrong.append(("pageable-slots", "cuda-hmm", unified.verdict))
    for profile, env, followed, against, needs in RUNTIMES:
        verdict = check(catalogue()[FP8 + "direct"], runtime=profile, env=env)
        assert verdict.runtime is not None
        other = verdict.runtime.against
        shows = other and tuple(choice.words for choice in other.choices if choice.shown)
        found = (verdict.runtime.found.hazard, other.hazard if other else None, shows)
        if (verdict.verdict, *found) != (R, followed, against, needs):
            wrong.append((profile, env, verdict.verdict, *found))
    assert wrong == []


def test_the_table_is_the_catalogue() -> None:
    """Every entry of these families stands in the table, but for those added for comparison."""
    added = {
        FP8 + "staged-graph",
        "sparse-decode/synchronize-before-rewrite",
    }
    families = ("fp8-prefill/", "sparse-decode/", "draft-kv-pointers/")
    listed = {name for name in catalogue() if name.startswith(families)}
    assert {row.name for row in TABLE} == listed - added
