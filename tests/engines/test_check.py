"""`check` from Python: what it takes, what it gives, and that a budget never makes a pass."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from streamorder import (
    CUDA,
    HIP,
    BadInput,
    Limits,
    Outcome,
    Verdict,
    catalogue,
    check,
    protocol,
)
from streamorder.model.check import DOUBTED
from streamorder.model.proof import Refuted

if TYPE_CHECKING:
    from streamorder import Gpu

STAGED = catalogue()["fp8-prefill/staged"]
DIRECT = catalogue()["fp8-prefill/direct"]


def plain(gpu: Gpu, kernels: int = 2) -> None:
    """Launch some kernels on one stream: a function, not a declared protocol."""
    stream = gpu.stream("s")
    for _ in range(kernels):
        gpu.launch("k", stream)


def test_a_long_run_looks_at_the_clock() -> None:
    """Both readings of one schedule do, now and then, and go on while there is time."""
    verdict = check(plain, kernels=50_000)
    assert (verdict.outcome, verdict.ops) == (Outcome.HOLDS, 50_000)


def paths(gpu: Gpu) -> None:
    """Take one of 16 paths; the last of them races."""
    d, s, t = gpu.device("d"), gpu.stream("s"), gpu.stream("t")
    bits = [gpu.choose(0, 1) for _ in range(4)]
    gpu.launch("one", s, writes={d: 1})
    if not all(bits):
        t.wait(made := gpu.event("made"))
        made.record(s)
        s.synchronize()
    gpu.launch("two", t, writes={d: 2})


def harmless_paths(gpu: Gpu) -> None:
    """Take one of 16 paths, all of them safe."""
    for _ in range(4):
        gpu.choose(0, 1)
    gpu.launch("k", gpu.stream("s"))


def endless_choices(gpu: Gpu) -> None:
    """Go on for as long as the host chooses to."""
    while gpu.choose("again", "stop") == "again":
        pass


def endless_launches(gpu: Gpu) -> None:
    """Never return."""
    stream = gpu.stream("s")
    while True:
        gpu.launch("k", stream)


def stated_overlap(gpu: Gpu) -> None:
    """State a property that only the order engine decides."""
    s, t = gpu.stream("s"), gpu.stream("t")
    gpu.concurrent(gpu.launch("k", s), gpu.launch("l", t))


def test_a_verdict_has_types() -> None:
    """Every field has the type that it is annotated with, and converts to JSON."""
    verdict = check(DIRECT, HIP, steps=2, layers=3)
    assert isinstance(verdict, Verdict)
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.parameters == {"layers": 3}
    assert (verdict.name, verdict.contract, verdict.engine) == (DIRECT.name, "hip", "order")
    assert (verdict.steps, verdict.ops, verdict.executions) == (2, 22, 1)
    assert isinstance(verdict.seconds, float)
    assert verdict.seconds > 0
    assert str(verdict.outcome) == verdict.verdict == "REFUTED"
    assert json.loads(json.dumps(verdict.as_data())) == verdict.as_data()


@pytest.mark.parametrize("contract", [CUDA, "cuda"])
def test_a_contract_by_name_or_as_data(contract: object) -> None:
    """Both forms mean the same."""
    assert check(STAGED, contract)[:6] == check(STAGED, CUDA)[:6]  # type: ignore[arg-type]


def test_a_contract_of_ones_own() -> None:
    """A changed promise changes the verdict: CUDA with HIP's uploads needs no second wait."""
    entry = catalogue()["fp8-prefill/synchronize-first"]
    assert check(entry, CUDA).outcome is Outcome.REFUTED
    assert check(entry, CUDA._replace(upload_awaits_write=True)).outcome is Outcome.HOLDS


def test_a_plain_function() -> None:
    """It is a protocol by its own name; its defaults are its parameters."""
    assert check(plain).name == "plain"
    assert check(plain).expected is None
    assert check(plain, kernels=5).ops == 5


def test_a_bound_protocol_has_its_steps() -> None:
    """Without a number of steps the check takes enough to use each slot twice."""
    assert check(STAGED).steps == 4
    assert check(STAGED, slots=7).steps == 16
    assert check(STAGED, slots=7).warnings == ()
    assert check(STAGED, steps=7, slots=7).warnings


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"steps": 0}, "positive whole number"),
        ({"steps": True}, "positive whole number"),
        ({"steps": 1.5}, "positive whole number"),
        ({"engine": "spin"}, "unknown engine 'spin'"),
        ({"contract": "opencl"}, "unknown contract 'opencl'"),
        ({"depth": 3}, "no parameter depth; it has: slots, layers"),
        ({"slots": 0}, ": slots must be at least 1, not 0"),
        ({"slots": "2"}, ": slots takes a whole number"),
    ],
    ids=str,
)
def test_wrong_arguments(arguments: dict[str, object], said: str) -> None:
    """Each is refused with the reason."""
    with pytest.raises(BadInput, match=said):
        check(STAGED, **arguments)  # type: ignore[arg-type]


# --- budgets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [harmless_paths])
@pytest.mark.parametrize(
    ("engine", "limits"),
    [
        ("order", Limits(executions=1)),
        ("order", Limits(executions=15)),
        ("order", Limits(seconds=0.0)),
        ("machine", Limits(states=1)),
        ("machine", Limits(states=20)),
        ("machine", Limits(seconds=1e-9)),
    ],
    ids=str,
)
def test_a_spent_budget_is_undetermined(body: object, engine: str, limits: Limits) -> None:
    """It says that the search ended early, and exits 3."""
    verdict = check(body, engine=engine, limits=limits)  # type: ignore[arg-type]
    assert verdict.outcome is Outcome.UNDETERMINED
    assert verdict.exit_code == 3
    assert "ended early" in (verdict.reason or "")
    assert "more to come" in (verdict.reason or "")


def test_engines_that_do_not_agree_are_undetermined(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof's search that finds what a bounded run does not: one of them is wrong, so no pass."""
    monkeypatch.setattr("streamorder.model.prove.prove_readings", lambda *_: Refuted(3))
    verdict = check(plain, prove=True)
    assert (verdict.outcome, verdict.reason) == (Outcome.UNDETERMINED, DOUBTED)
    assert verdict.exit_code == 3
    assert check(plain).outcome is Outcome.HOLDS


@pytest.mark.parametrize("engine", ["order", "machine"])
def test_enough_is_enough(engine: str) -> None:
    """The same search with what it needs is a pass."""
    limits = Limits(executions=17, states=200)
    assert check(harmless_paths, engine=engine, limits=limits).outcome is Outcome.HOLDS


@pytest.mark.parametrize("executions", [1, 15, 16, 100])
def test_a_refutation_needs_no_complete_search(executions: int) -> None:
    """What was found before the budget ran out counts; before that nothing is known."""
    verdict = check(paths, limits=Limits(executions=executions))
    wanted = Outcome.REFUTED if executions >= 16 else Outcome.UNDETERMINED
    assert verdict.outcome is wanted
    if executions == 16:
        assert "more missing edges may exist" in verdict.warnings[0]


@pytest.mark.parametrize("steps", [None, 3])
@pytest.mark.parametrize("name", ["fp8-prefill/staged-stuck-slot", "fp8-prefill/staged-stuck-both"])
def test_a_budget_on_an_entry_is_not_as_expected(name: str, steps: int | None) -> None:
    """UNDETERMINED satisfies neither PROVED nor REFUTED."""
    verdict = check(catalogue()[name], steps=steps, limits=Limits(states=3), engine="machine")
    assert verdict.outcome is Outcome.UNDETERMINED
    assert verdict.as_expected is False
    assert verdict.exit_code == 3


def test_below_the_size_where_it_is_left_open() -> None:
    """With too few steps an entry that is UNDETERMINED holds: as expected, and said so."""
    verdict = check(catalogue()["fp8-prefill/pageable-slots"], "cuda-hmm", steps=1)
    assert verdict.outcome is Outcome.HOLDS
    assert verdict.below_size
    assert verdict.exit_code == 0


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("engine", ["order", "machine"])
@pytest.mark.parametrize("body", [endless_choices, endless_launches])
def test_a_protocol_that_never_ends(body: object, engine: str) -> None:
    """The budget ends it: UNDETERMINED, in time."""
    limits = Limits(executions=100, states=1000, seconds=0.5)
    verdict = check(body, engine=engine, limits=limits)  # type: ignore[arg-type]
    assert verdict.outcome is Outcome.UNDETERMINED


def test_concurrent_on_the_machine_is_never_a_pass() -> None:
    """The machine says that it does not decide it; the order engine does."""
    declared = protocol()(stated_overlap)
    assert check(declared).outcome is Outcome.HOLDS
    verdict = check(declared, engine="machine")
    assert verdict.outcome is Outcome.UNDETERMINED
    assert "does not decide concurrent" in (verdict.reason or "")


def two_of_one_name(gpu: Gpu) -> None:
    """Two streams that their maker called alike, with nothing between them."""
    first, second, d = gpu.stream("s"), gpu.stream("s"), gpu.device("d")
    gpu.launch("make", first, writes={d: 1})
    gpu.launch("use", second, reads={d: 1})


@pytest.mark.parametrize("engine", ["order", "machine", "sim"])
def test_streams_of_one_name_are_two_lanes(engine: str) -> None:
    """In one lane the two kernels would look as if they were in order."""
    (edge,) = check(two_of_one_name, "cuda", steps=1, engine=engine).missing_edges
    ran = {event.label: event.lane for event in edge.counterexample if not event.on_host}
    assert sorted(ran.values()) == ["s", "s#2"]
    assert len(ran) == 2


def two_of_one_function(gpu: Gpu) -> None:
    """Two host threads that run one function."""
    p = gpu.pinned("p")

    def worker(version: int) -> None:
        gpu.write(p, version)

    for thread in [gpu.thread(worker, 1), gpu.thread(worker, 2)]:
        thread.join()
    gpu.read(p, 2)


@pytest.mark.parametrize("engine", ["order", "machine", "sim"])
def test_threads_of_one_function_are_two_lanes(engine: str) -> None:
    """In one lane the two stores would look as if they were in order."""
    edge, *_more = check(two_of_one_function, "cuda", steps=1, engine=engine).missing_edges
    stores = {event.label: event.lane for event in edge.counterexample if "write" in event.label}
    assert sorted(stores.values()) == ["worker", "worker#2"]


def asked_again(gpu: Gpu) -> None:
    """An event that was found pending twice, is recorded anew and may be pending once more."""
    s, e, p = gpu.stream("s"), gpu.event("e"), gpu.pinned("p")
    gpu.launch("first", s, reads=[p])
    e.record(s)
    early = [e.query(), e.query()]
    gpu.launch("second", s, reads=[p])
    e.record(s)
    if not (any(early) or e.query()):
        gpu.write(p, 1)


@pytest.mark.parametrize("engine", ["order", "machine", "sim"])
def test_a_record_makes_a_query_open_again(engine: str) -> None:
    """Answers of false are bounded in a row: a record begins a new row."""
    verdict = check(asked_again, "cuda", steps=1, engine=engine)
    assert verdict.outcome is Outcome.REFUTED
    assert {edge.second.call for edge in verdict.missing_edges} == {"write(p, 1)"}
