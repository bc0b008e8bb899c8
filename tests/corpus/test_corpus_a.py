"""Public bugs, sections A to E: each form's verdict under each contract, and what refutes it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from streamorder.model.check import check
from streamorder.model.protocol import Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder.model.verdict import Verdict

MODULES = ("corpus_a", "corpus_a_reuse", "corpus_b", "corpus_c", "corpus_d", "corpus_e")

REFUTED = {"cuda": "REFUTED", "hip": "REFUTED"}
PROVED = {"cuda": "PROVED", "hip": "PROVED"}
HOLDS = {"cuda": "HOLDS", "hip": "HOLDS"}
STAGED = {"cuda": "PROVED", "hip": "PROVED", "cuda-hmm": "UNDETERMINED"}
UPLOAD = {"cuda": "REFUTED", "hip": "PROVED"}

WRONG, HANG, OVERLAP = "wrong version", "deadlock", "overlap lost"

# Each form: its verdicts, and where it is refuted the kind of finding and its two calls.
TABLE: dict[str, tuple[dict[str, str], tuple[str, str, str] | None]] = {
    "C01-mask-staging/one-buffer": (
        REFUTED,
        (WRONG, "memcpy_async(mask, host_mask, compute)", "write(host_mask, 1)"),
    ),
    "C01-mask-staging/two-buffers": (PROVED, None),
    "C01-mask-staging/two-buffers-two-ahead": (
        REFUTED,
        (WRONG, "memcpy_async(mask, host_mask0, compute)", "write(host_mask0, 2)"),
    ),
    "C02-idle-rank/dummy-step": (
        REFUTED,
        (WRONG, "memcpy_async(inputs, host_inputs, compute)", "write(host_inputs, 1)"),
    ),
    "C02-idle-rank/dummy-step-joins": (PROVED, None),
    "C04-page-table/one-buffer": (
        REFUTED,
        (WRONG, "memcpy_async(table, host_table, compute)", "write(host_table, 1)"),
    ),
    "C04-page-table/event-wait": (PROVED, None),
    "C04-page-table/fresh-buffers": (HOLDS, None),
    "C06-slot-ring/sampling-only": (PROVED, None),
    "C06-slot-ring/encoder-only": (
        REFUTED,
        (WRONG, "launch(encode, compute)", "write(slot0, 2)"),
    ),
    "C06-slot-ring/encoder-waits": (PROVED, None),
    "C08-unpinned/pinned": (
        REFUTED,
        (WRONG, "memcpy_async(inputs, host_inputs, compute)", "write(host_inputs, 1)"),
    ),
    "C08-unpinned/pageable": (STAGED, None),
    "C10-kernel-arguments/one-thread": (PROVED, None),
    "C10-kernel-arguments/two-threads": (
        REFUTED,
        (
            WRONG,
            "memcpy_async(constant, host_arguments, b)",
            "write(host_arguments, 'arguments of a')",
        ),
    ),
    "C10-kernel-arguments/mutex": (HOLDS, None),
    "C11-local-vector/pageable": (HOLDS, None),
    "C11-local-vector/pinned": (
        REFUTED,
        (WRONG, "memcpy_async(view, block, stream)", "write(block, 'other')"),
    ),
    "C11-local-vector/synchronised": (HOLDS, None),
    "C12-batched-copy/single-copy": (STAGED, None),
    "C12-batched-copy/stream-order": (
        REFUTED,
        (WRONG, "memcpy_async(column, vector, stream)", "write(reused, 'other')"),
    ),
    "C12-batched-copy/any-order": (
        REFUTED,
        (WRONG, "memcpy_async(column, vector, stream)", "write(reused, 'other')"),
    ),
    "C12-batched-copy/during-call": (PROVED, None),
    "C12-batched-copy/synchronised": (PROVED, None),
    "C14-accepted-counts/no-wait": (
        REFUTED,
        (WRONG, "memcpy_async(counts, counted, compute)", "read(counts)"),
    ),
    "C14-accepted-counts/event-wait": (PROVED, None),
    "C14-accepted-counts/host-writes": (
        REFUTED,
        (WRONG, "memcpy_async(counts, counted, compute)", "write(counts.joining, 'one')"),
    ),
    "C14-accepted-counts/waits-first": (PROVED, None),
    "C16-cpu-operator/stream-wait": (
        REFUTED,
        (WRONG, "memcpy_async(value, result, copies)", "read(value)"),
    ),
    "C16-cpu-operator/host-wait": (PROVED, None),
    "C18-blocking-upload/non-blocking-stream": (
        UPLOAD,
        (WRONG, "memcpy(value, host)", "launch(infer, compute)"),
    ),
    "C18-blocking-upload/blocking-stream": (PROVED, None),
    "C18-blocking-upload/synchronised": (PROVED, None),
    "C18-blocking-upload/on-its-stream": (PROVED, None),
    "C19-device-copy/null-stream": (
        REFUTED,
        (WRONG, "memcpy(copied, made)", "launch(consume, compute)"),
    ),
    "C19-device-copy/kernels-stream": (PROVED, None),
    "C20-signal-words/null-memset": (
        REFUTED,
        (HANG, "wait_value(collective0, signal0, 1)", "wait_value(collective1, signal1, 1)"),
    ),
    "C20-signal-words/awaited-memset": (HOLDS, None),
    "C22-wrong-stream/downloads": (
        REFUTED,
        (
            WRONG,
            "memcpy_async(parameters, host_parameters, uploads)",
            "launch(forward_backward, main)",
        ),
    ),
    "C22-wrong-stream/uploads": (PROVED, None),
    "C24-gradient-bucket/one-producer": (
        REFUTED,
        (WRONG, "launch(gradient0, hook0)", "launch(all_reduce, reduction)"),
    ),
    "C24-gradient-bucket/all-producers": (PROVED, None),
    "C24-gradient-bucket/overlap-lost": (
        REFUTED,
        (OVERLAP, "launch(all_reduce, reduction)", "launch(gradient0, hook0)"),
    ),
    "C24-gradient-bucket/overlap-kept": (PROVED, None),
}

ROWS = [(name, contract) for name, (verdicts, _finding) in TABLE.items() for contract in verdicts]
CONTRACTS = ("cuda", "hip")


def entries() -> dict[str, Protocol]:
    """Return the entries of these sections by name, without the family's."""
    modules = [import_module(f"streamorder.model.protocols.{name}") for name in MODULES]
    found = [thing for module in modules for thing in vars(module).values()]
    return {
        thing.name.removeprefix("corpus/"): thing for thing in found if isinstance(thing, Protocol)
    }


@pytest.fixture(scope="session")
def decide() -> Callable[..., Verdict]:
    """`decide(name, contract, **more)`: the verdict of an entry."""
    known = entries()

    def decided(name: str, contract: str, engine: str = "order", **parameters: Any) -> Verdict:
        return check(known[name], contract, engine=engine, **parameters)

    return decided


def findings(verdict: Verdict) -> set[tuple[str, str, str]]:
    """Return every missing edge as its kind and its two calls."""
    return {(edge.kind, edge.first.call, edge.second.call) for edge in verdict.missing_edges}


def test_the_entries_state_the_table() -> None:
    """What the entries expect is the table, in its order, no row more and no row less."""
    stated = {name: entry.expects for name, entry in entries().items()}
    assert list(stated.items()) == [(name, verdicts) for name, (verdicts, _) in TABLE.items()]


@pytest.mark.parametrize(("name", "contract"), ROWS)
@pytest.mark.usefixtures("alarm")
def test_verdict(name: str, contract: str, decide: Callable[..., Verdict]) -> None:
    """The order engine decides as the table says, and through the calls it names."""
    verdicts, finding = TABLE[name]
    verdict = decide(name, contract)
    assert verdict.outcome.satisfies(verdicts[contract])
    assert (finding in findings(verdict)) == (verdicts[contract] == "REFUTED")


@pytest.mark.parametrize(("name", "contract"), [row for row in ROWS if "overlap" not in row[0]])
@pytest.mark.usefixtures("alarm")
def test_the_machine_agrees(name: str, contract: str, decide: Callable[..., Verdict]) -> None:
    """So does the walk through all states; only overlap is for the order engine alone."""
    verdict = decide(name, contract, engine="machine")
    assert verdict.outcome.satisfies(TABLE[name][0][contract])
    assert verdict.states > 0


# --- what the verdicts depend on ----------------------------------------------------------------


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize(("ahead", "expected"), [(0, "HOLDS"), (1, "HOLDS"), (2, "REFUTED")])
def test_two_buffers_are_for_one_step_ahead(
    ahead: int, expected: str, contract: str, decide: Callable[..., Verdict]
) -> None:
    """C01: the number of buffers and how far the host runs ahead belong together."""
    verdict = decide("C01-mask-staging/two-buffers", contract, ahead=ahead)
    assert verdict.verdict == expected


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize(("slots", "expected"), [(1, "REFUTED"), (2, "HOLDS"), (3, "HOLDS")])
def test_a_queue_of_one_step_is_for_two_slots(
    slots: int, expected: str, contract: str, decide: Callable[..., Verdict]
) -> None:
    """C06: the future of step n - 1 guards a ring of two slots or more, not one."""
    assert decide("C06-slot-ring/sampling-only", contract, slots=slots).verdict == expected


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_an_event_a_slot_guards_any_ring(slots: int, decide: Callable[..., Verdict]) -> None:
    """C06: the mend does not count steps."""
    assert decide("C06-slot-ring/encoder-waits", "cuda", slots=slots).verdict == "HOLDS"


@pytest.mark.parametrize("buffers", [1, 2, 3])
def test_the_cache_may_be_of_any_size(buffers: int, decide: Callable[..., Verdict]) -> None:
    """C04: a cache that asks its events is right with one block as with three."""
    assert decide("C04-page-table/fresh-buffers", "cuda", buffers=buffers).verdict == "HOLDS"


def test_a_dummy_step_is_enough_after_a_real_one(decide: Callable[..., Verdict]) -> None:
    """C02: the step after a dummy step is the one that is wronged, so that two steps show it."""
    found = [decide("C02-idle-rank/dummy-step", "cuda", steps=steps) for steps in (1, 2)]
    assert [verdict.verdict for verdict in found] == ["HOLDS", "REFUTED"]


def test_a_copy_on_the_null_stream_fails_both_ways(decide: Callable[..., Verdict]) -> None:
    """C19: it may come before the kernel that makes its source, and after the one that reads."""
    calls = {edge[1:] for edge in findings(decide("C19-device-copy/null-stream", "cuda"))}
    assert calls >= {
        ("launch(produce, compute)", "memcpy(copied, made)"),
        ("memcpy(copied, made)", "launch(consume, compute)"),
    }


@pytest.mark.parametrize("contract", CONTRACTS)
def test_kernels_that_meet_need_devices_at_work_together(
    contract: str, decide: Callable[..., Verdict]
) -> None:
    """C20: the mend holds where streams make progress side by side, and the verdict says so."""
    verdict = decide("C20-signal-words/awaited-memset", contract)
    assert "streams that make progress independently" in verdict.bounds
    assert any("can hang" in warning for warning in verdict.warnings)


def test_the_upload_is_staged_where_the_gpu_cannot_read_it(
    decide: Callable[..., Verdict],
) -> None:
    """C08, C12: why these are left open where the GPU may read pageable memory itself."""
    for name in ("C08-unpinned/pageable", "C12-batched-copy/single-copy"):
        assert "pageable_staged" in (decide(name, "cuda-hmm").reason or "")


@pytest.mark.parametrize("form", ["stream-order", "any-order"])
def test_a_vector_read_after_its_memory_was_given_away(
    form: str, decide: Callable[..., Verdict]
) -> None:
    """C12: against the new owner's write, who got the memory; against the old owner's, nothing."""
    found = decide(f"C12-batched-copy/{form}", "cuda").missing_edges
    said = {edge.second.call.partition(",")[0]: edge.sentence for edge in found}
    assert "malloc(reused)" in said["write(reused"]
    assert "handed" not in said["write(vector"]
