"""Exploring every schedule: exact counts, shortest bad schedules, and what ends it early."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from streamorder import CUDA, HIP, Limits, Outcome, catalogue, check
from streamorder.model.explore import explore as visit
from streamorder.model.host import Host
from streamorder.sim.explore import explore
from streamorder.sim.sample import sample

if TYPE_CHECKING:
    from streamorder import Gpu

PREFILL = "fp8-prefill/"


def host_of(name: str, steps: int, **parameters: Any) -> Host:
    """A traced entry of the catalogue."""
    return Host(catalogue()[name].bind(parameters), steps)


@pytest.mark.parametrize(
    ("slots", "states", "transitions", "executions"), [(2, 456, 847, 393), (3, 511, 957, 448)]
)
def test_staged_slots_are_exhausted(
    slots: int, states: int, transitions: int, executions: int
) -> None:
    """Three steps of two layers in well under five seconds; an execution begins anew for each step
    between states but those that another one goes on with.
    """
    started = time.process_time()
    found = explore(host_of(PREFILL + "staged", 3, slots=slots, layers=2), CUDA.readings()[0])
    assert time.process_time() - started < 5
    assert found.holds
    assert (found.states, found.transitions, found.executions) == (states, transitions, executions)
    # Each execution takes one step that ends where another has been, or the program ends.
    assert executions == transitions - states + 2


@pytest.mark.parametrize(
    ("variant", "contract", "length"),
    [
        ("staged-no-wait", CUDA, 22),
        ("staged-no-wait", HIP, 22),
        ("staged-stuck-slot", CUDA, 14),
        ("direct", CUDA, 18),
        ("direct", HIP, 17),
        ("direct-graph", HIP, 18),
        ("synchronize-first", CUDA, 19),
        ("direct-item-after", HIP, 21),
    ],
)
def test_the_shortest_bad_schedule(variant: str, contract: Any, length: int) -> None:
    """A broken variant's is found in under a second, and is as short as the machine's."""
    started = time.process_time()
    parameters = {"layers": 2} if variant != "direct-graph" else {}
    host = host_of(PREFILL + variant, 3, **parameters)
    found = explore(host, contract.readings()[0], shortest=True)
    (bad, *_others) = found.worst()
    assert time.process_time() - started < 1
    walk = visit(host_of(PREFILL + variant, 3, **parameters), contract.readings()[0])
    assert bad.kind == "race"
    assert len(bad.schedule) == len(walk.path(walk.hazards[0][0])) == length


def test_an_exhausted_program_has_the_same_shortest_schedule() -> None:
    """Depth-first and complete, or breadth-first up to the first: one length."""
    whole = explore(host_of(PREFILL + "direct", 3), CUDA.readings()[0])
    assert whole.complete
    first = explore(host_of(PREFILL + "direct", 3), CUDA.readings()[0], shortest=True)
    assert not first.complete
    assert first.states < whole.states
    assert len(whole.worst()[0].schedule) == len(first.worst()[0].schedule)


def test_each_pair_of_lines_once() -> None:
    """Every distinct fault is reported, with all the memory concerned, shortest first."""
    found = check(catalogue()[PREFILL + "direct"], "cuda", steps=3, engine="sim")
    by_order = check(catalogue()[PREFILL + "direct"], "cuda", steps=3)
    assert [len(edge.schedule) for edge in found.missing_edges] == sorted(
        len(edge.schedule) for edge in found.missing_edges
    )
    assert {(e.first.where, e.second.where) for e in found.missing_edges} == {
        (e.first.where, e.second.where) for e in by_order.missing_edges
    }
    for edge in found.missing_edges:
        assert edge.kind == "wrong version"
        assert edge.consequence is not None
        assert edge.marks is not None
        roles = {edge.counterexample[number - 1].role for number in edge.marks}
        assert roles == {"first", "second"}


def many(gpu: Gpu) -> None:
    """Streams, each with its own memory: nothing wrong, and more states than are to be visited."""
    streams = [gpu.stream(f"s{i}") for i in range(4)]
    memory = [gpu.device(f"d{i}") for i in range(4)]
    for n in gpu.steps():
        for stream, buffer in zip(streams, memory, strict=True):
            gpu.launch("kernel", stream, writes={buffer: n})
            gpu.launch("check", stream, reads={buffer: n})


def many_wrong(gpu: Gpu) -> None:
    """The same with a copy at the end that nothing orders after one of them."""
    many(gpu)
    left, right = gpu.stream("left"), gpu.stream("right")
    shared = gpu.device("shared")
    for _n in range(6):
        gpu.launch("pad", left, writes={shared: 1})
    gpu.launch("use", right, reads={shared: 1})


def test_too_large_and_nothing_found() -> None:
    """Sampling that shows nothing proves nothing."""
    limits = Limits(states=300, seconds=20)
    found = check(many, steps=2, engine="sim", limits=limits)
    assert found.outcome is Outcome.UNDETERMINED
    assert found.exit_code == 3
    assert found.reason is not None
    assert "states visited and more to come" in found.reason
    assert "500 PCT and 500 random schedules showed nothing wrong" in found.reason


def test_too_large_and_something_found() -> None:
    """What a sample shows is a refutation, with a schedule that can be carried out."""
    limits = Limits(states=300, seconds=20)
    found = check(many_wrong, steps=2, engine="sim", limits=limits)
    assert found.outcome is Outcome.REFUTED
    (edge,) = found.missing_edges
    assert edge.region == "shared"
    assert len(edge.schedule) > 10
    assert any("300" in note or "301" in note for note in found.warnings)


def test_pct_finds_what_a_random_walk_hardly_does() -> None:
    """The slot is written again before a copy of 8 slots earlier: one thread must be far ahead."""
    host = host_of(PREFILL + "staged-no-wait", 12, slots=8, layers=4)
    pct = sample(host, CUDA.readings()[0], way="pct", runs=20, seed=1)
    walk = sample(host, CUDA.readings()[0], way="random", runs=20, seed=1)
    assert pct.bad is not None
    assert pct.bad.kind == "race"
    assert walk.bad is None
    assert walk.runs == 20
    assert pct.lanes == 2
    assert pct.chance == pytest.approx(1 / (pct.lanes * pct.longest**2))


def test_a_seed_draws_the_same_schedules() -> None:
    """And another one others."""
    drawn = [
        sample(host_of(PREFILL + "staged-stuck-slot", 8), CUDA.readings()[0], seed=seed)
        for seed in (3, 3, 4, 5)
    ]
    assert drawn[0] == drawn[1]
    assert {d.bad.schedule for d in drawn if d.bad} != {drawn[0].bad and drawn[0].bad.schedule}


def test_the_longest_schedule_is_cut() -> None:
    """A bound on steps is kept, and told."""
    found = sample(host_of(PREFILL + "staged", 4), CUDA.readings()[0], runs=5, max_steps=10)
    assert found.bad is None
    assert (found.cut, found.longest) == (5, 10)


def test_concurrent_is_left_to_the_order_engine() -> None:
    """The simulator decides accesses and hangs; that two operations overlap it does not claim."""

    def body(gpu: Gpu) -> None:
        first = gpu.launch("a", gpu.stream("s1"))
        gpu.concurrent(first, gpu.launch("b", gpu.stream("s2")))

    found = check(body, engine="sim")
    assert found.outcome is Outcome.UNDETERMINED
    assert found.reason == "the simulator does not decide concurrent(): use the engine order"


def test_a_promise_that_is_left_open() -> None:
    """Each way of keeping it is decided; that they differ is told."""
    entry = catalogue()["fp8-prefill/pageable-slots"]
    found, expected = (check(entry, "cuda-hmm", steps=3, engine=e) for e in ("sim", "order"))
    assert found.outcome is Outcome.UNDETERMINED
    assert found.reason == expected.reason
