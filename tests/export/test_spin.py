"""SPIN decides exported models as we decide the protocols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder import Gpu, catalogue, check, promela
from streamorder.model.export import checkers

if TYPE_CHECKING:
    from collections.abc import Callable

# Broken and mended, of every kind: slots, graphs, events, threads, locks, queues, cells, frees.
ENTRIES = (
    "fp8-prefill/direct", "fp8-prefill/direct-item-after", "fp8-prefill/direct-blocking-stream",
    "fp8-prefill/synchronize-first", "fp8-prefill/no-async-scheduling",
    "fp8-prefill/synchronize-around", "fp8-prefill/no-fp8-prefill", "fp8-prefill/staged",
    "fp8-prefill/staged-packed", "fp8-prefill/pageable-slots", "fp8-prefill/staged-no-wait",
    "fp8-prefill/staged-stuck-slot", "fp8-prefill/staged-one-event",
    "fp8-prefill/staged-stuck-both", "fp8-prefill/planner-on-stream",
    "fp8-prefill/planner-on-device", "fp8-prefill/direct-graph", "fp8-prefill/staged-graph",
    "sparse-decode/event-wait", "sparse-decode/cross-stream-async",
    "sparse-decode/cross-stream-async-both-edges",
    "corpus/C45-hidden-workspace/freed", "corpus/C45-hidden-workspace/one-each",
    "corpus/C54-late-output/retry-for-ever", "corpus/C54-late-output/retry-after-output",
    "corpus/C66-early-launch/wait-left-out", "corpus/C66-early-launch/waits",
    "corpus/C66-early-launch/waits-for-the-last",
)  # fmt: skip


BATCHED = (
    "fp8-prefill/direct", "fp8-prefill/staged-no-wait", "fp8-prefill/staged-stuck-slot",
    "fp8-prefill/staged-one-event", "fp8-prefill/staged-graph", "sparse-decode/event-wait",
    "sparse-decode/cross-stream-async", "corpus/C50-output-thread/event-per-step",
)  # fmt: skip


def threaded() -> list[str]:
    """Entries with several host threads or with cells."""
    known = catalogue()
    wanted = ("C10-", "C20-", "C27-", "C51-", "C61-", "C67-", "C69-", "C71-")
    return [name for name in known if name.startswith(tuple(f"corpus/{each}" for each in wanted))]


@pytest.mark.parametrize("name", [*ENTRIES, *threaded()])
def test_catalogue_entry(spin: Any, compare: Callable[..., Any], name: str) -> None:
    """One contract each."""
    contract = "cuda" if "C66" in name or "one-each" in name else "hip"
    compared = compare(spin, name, contract)
    assert compared.agree, compared
    assert compared.theirs, "not exported"


@pytest.mark.slow
@pytest.mark.parametrize("contract", ["cuda", "hip"])
def test_whole_catalogue(spin: Any, compare: Callable[..., Any], contract: str) -> None:
    """Every entry under both contracts; few are refused."""
    found = {name: compare(spin, name, contract) for name in catalogue()}
    assert not {name: each for name, each in found.items() if not each.agree}
    assert sum(each.theirs is None for each in found.values()) <= 12


WAIT = "(done_compute >= copied{}_in_compute);"


@pytest.mark.parametrize("slot", [0, 1])
def test_a_wait_left_out_is_found(spin: Any, slot: int) -> None:
    """The model holds because of its waits: without either, SPIN refutes it."""
    model = promela(catalogue()["fp8-prefill/staged"], "cuda")
    assert model.count(WAIT.format(slot)) == 1
    assert spin(model).outcome == "HOLDS"
    assert spin(model.replace(WAIT.format(slot), "")).outcome == "REFUTED"


def test_a_dropped_order_is_found(spin: Any) -> None:
    """So is an operation that does not wait for one of another lane."""
    name = "corpus/C66-early-launch/waits"
    model = promela(catalogue()[name], "cuda", broken=["early_wait_transitive"])
    assert spin(model).outcome == "HOLDS"
    mutant = model.replace("(done_stream >= after_stream);", "")
    assert mutant != model
    assert spin(mutant).outcome == "REFUTED"


def test_states_are_counted(spin: Any) -> None:
    """The model is what it was: SPIN stores as many states, with its partial-order reduction."""
    entry = catalogue()["fp8-prefill/staged"]
    plain, batched = spin(promela(entry)), spin(promela(entry, batched=True))
    assert (plain.outcome, plain.states) == ("HOLDS", 716)
    assert (batched.outcome, batched.states) == ("HOLDS", 141)


def test_reduction_leaves_one_way_through(spin: Any) -> None:
    """With one slot, batched, SPIN's reduction finds that there is one order: states are linear."""
    entry = catalogue()["fp8-prefill/staged"]
    found = [spin(promela(entry, steps=n, slots=1, batched=True)) for n in (4, 8, 12)]
    assert {each.outcome for each in found} == {"HOLDS"}
    assert all(each.states == each.transitions for each in found)
    assert found[2].states - found[1].states == found[1].states - found[0].states


@pytest.mark.parametrize("name", BATCHED)
def test_batched_entry(spin: Any, compare: Callable[..., Any], name: str) -> None:
    """What is issued in a row may be one message: nothing is lost."""
    compared = compare(spin, name, "hip", batched=True)
    assert compared.agree, compared


@pytest.mark.slow
@pytest.mark.parametrize("contract", ["cuda", "hip"])
def test_whole_catalogue_batched(spin: Any, compare: Callable[..., Any], contract: str) -> None:
    """Every entry under both contracts."""
    found = {name: compare(spin, name, contract, batched=True) for name in catalogue()}
    assert not {name: each for name, each in found.items() if not each.agree}


def test_a_row_that_another_thread_can_cut_is_no_batch(spin: Any) -> None:
    """Another thread synchronises the stream between two launches of this one: in one message, the
    second would always be waited for, too.
    """

    def cut(gpu: Gpu) -> None:
        """The second launch races with what the other thread does after its wait."""
        stream, data = gpu.stream("s"), gpu.pinned("data")

        def other() -> None:
            stream.synchronize()
            gpu.write(data, 2)

        thread = gpu.thread(other)
        gpu.launch("first", stream)
        gpu.launch("second", stream, reads={data: None})
        thread.join()

    model = promela(cut, batched=True)
    assert "BATCH" not in model
    assert spin(model).outcome == str(check(cut).outcome) == "REFUTED"


def test_a_search_cut_short_is_no_verdict(spin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pan's search was not deep enough it prints `errors: 0`: that is never a pass."""
    from streamorder.model.export import checkers

    monkeypatch.setattr(checkers, "DEPTHS", (10, 20))
    assert spin(promela(catalogue()["fp8-prefill/staged"], "cuda")).outcome == "UNDETERMINED"


@pytest.mark.parametrize("seconds", [0.0, 0.02])
def test_out_of_time_is_undetermined(spin: Any, seconds: float) -> None:
    """At whatever stage its time is over, it is no verdict and no failure."""
    model = promela(
        catalogue()["fp8-prefill/staged"], "cuda", broken=("null_sync_covers_blocking",)
    )
    assert spin(model).outcome == "HOLDS"
    found = checkers.spin(model, compiler="gcc -O2", seconds=seconds)
    assert (found.outcome, found.why) == ("UNDETERMINED", "time")


def test_a_partial_search_is_no_pass(spin: Any) -> None:
    """Pan that keeps bits for states may take two for one: without errors that says nothing."""
    for option in ("-DBITSTATE", "-DHC4"):
        holds = promela(catalogue()["fp8-prefill/staged"], "cuda")
        found = spin(holds, compiler=f"{checkers.quickest_compiler()} {option}")
        assert (found.outcome, "partial" in found.why) == ("UNDETERMINED", True)
    refuted = promela(catalogue()["fp8-prefill/direct"], "cuda")
    found = spin(refuted, compiler=f"{checkers.quickest_compiler()} -DBITSTATE")
    assert found.outcome == "REFUTED"
