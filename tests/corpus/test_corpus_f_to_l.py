"""The corpus from C31 to C72: each form's verdict, and what it is refuted through.

Verdicts here are those of a bounded check: HOLDS where an entry states PROVED.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import pytest

from streamorder.model.check import check
from streamorder.model.protocol import Protocol

if TYPE_CHECKING:
    from streamorder.model.verdict import MissingEdge, Verdict

MODULES = (
    "corpus_f_buffers",
    "corpus_f_pingpong",
    "corpus_g_allocators",
    "corpus_h_graphs",
    "corpus_i_events",
    "corpus_j_blocks",
    "corpus_j_offload",
    "corpus_k_agents",
    "corpus_l_queues",
)
CONTRACTS = ("cuda", "hip")


class Row(NamedTuple):
    """A verdict; where it is REFUTED, the kind of the main finding and its two calls.

    A hang has no two calls that lack an order: who waits for what is in `HANGS`.
    """

    verdict: str
    kind: str | None = None
    first: str | None = None
    second: str | None = None


def wrong(first: str, second: str) -> Row:
    """Two calls that nothing orders, and a read that finds a wrong version; or a late write."""
    return Row("REFUTED", "wrong version", first, second)


def race(first: str, second: str) -> Row:
    """Two calls that nothing orders, and no read that shows it."""
    return Row("REFUTED", "race", first, second)


def lost(first: str, second: str) -> Row:
    """Two operations that are to overlap and do not."""
    return Row("REFUTED", "overlap lost", first, second)


HOLDS, HANGS_UP, OPEN = Row("HOLDS"), Row("REFUTED", "deadlock"), Row("UNDETERMINED")

TABLE = {
    "C31-shared-map/forward-edge-only": wrong(
        "launch(forward, compute)", "launch(update, schedule)"
    ),
    "C31-shared-map/both-edges": HOLDS,
    "C31-shared-map/host-sync-behind-forward": lost(
        "launch(forward, compute)", "launch(prepare, other)"
    ),
    "C31-shared-map/host-sync-elsewhere": HOLDS,
    "C33-gradient-buckets/forward-edge-only": wrong(
        "launch(allreduce, reduction)", "launch(copy, default)"
    ),
    "C33-gradient-buckets/both-edges": HOLDS,
    "C34-ping-pong/index-reset": wrong("launch(allreduce, reduction)", "launch(copy, default)"),
    "C34-ping-pong/two-way-wait": HOLDS,
    "C34-ping-pong/two-way-wait-overlap": lost(
        "launch(allreduce, reduction)", "launch(copy, default)"
    ),
    "C34-ping-pong/index-kept": HOLDS,
    "C37-pool-by-stream/freed-at-once": wrong("launch(consume, main)", "launch(produce_next, aux)"),
    "C37-pool-by-stream/record-stream": HOLDS,
    "C37-pool-by-stream/stream-ordered": HOLDS,
    "C37-pool-by-stream/freed-on-one-stream": wrong(
        "launch(consume, main)", "free_async(tensor, aux)"
    ),
    "C37-pool-by-stream/launch-blocking": HOLDS,
    "C39-merged-free-list/old-event": race("launch(first_owner, a)", "launch(next_owner, c)"),
    "C39-merged-free-list/event-renewed": HOLDS,
    "C39-merged-free-list/two-streams": HOLDS,
    "C42-captured-upload/source-reused": wrong(
        "memcpy_async(table, staging, compute) in graph.launch(compute)",
        "launch(concat, compute) in graph.launch(compute)",
    ),
    "C42-captured-upload/source-kept": HOLDS,
    "C43-upload-left-out/memory-reused": wrong(
        "launch(matmul, compute) in graph.launch(compute)",
        "launch(gather, compute) in graph.launch(compute)",
    ),
    "C43-upload-left-out/captured": HOLDS,
    "C45-hidden-workspace/freed": wrong(
        "free(workspace)", "launch(gemm, compute) in first.launch(compute)"
    ),
    "C45-hidden-workspace/reused": wrong(
        "launch(gemm, compute) in first.launch(compute)", "launch(sample, compute)"
    ),
    "C45-hidden-workspace/one-each": HOLDS,
    "C50-output-thread/one-event": HOLDS,
    "C50-output-thread/one-event-released-late": HANGS_UP,
    "C50-output-thread/event-per-step": HOLDS,
    "C50-output-thread/one-event-overlap": lost(
        "memcpy_async(output, tokens, compute)", "launch(answer, answers)"
    ),
    "C50-output-thread/event-per-step-overlap": HOLDS,
    "C51-halo-fills/finished-between": wrong(
        "launch(exchange, network)", "launch(unpack, compute)"
    ),
    "C51-halo-fills/finished-after": HOLDS,
    "C51-halo-fills/event-per-fill": HOLDS,
    "C54-late-output/freed-at-once": wrong("launch(forward, compute)", "nic.write(reused_block)"),
    "C54-late-output/freed-by-step": HOLDS,
    "C54-late-output/filled-in-order": HOLDS,
    "C54-late-output/retry-for-ever": HANGS_UP,
    "C54-late-output/retry-after-output": HOLDS,
    "C56-late-zeros/zeroed-for-a-load": wrong("launch(zero, compute)", "nic.write(block)"),
    "C56-late-zeros/left-out": HOLDS,
    "C56-late-zeros/left-out-too-late": wrong("launch(zero, compute)", "nic.write(reused_block)"),
    "C56-late-zeros/load-waits": HOLDS,
    "C58-block-copies/by-logical-id": wrong(
        "memcpy_async(saved, block, offload)", "memcpy_async(block, stored, onboard)"
    ),
    "C58-block-copies/partial-copy-untracked": wrong(
        "memcpy_async(partial, block, compute)", "memcpy_async(block, stored, onboard)"
    ),
    "C58-block-copies/by-physical-block": HOLDS,
    "C60-packed-send/at-once": wrong("launch(pack, packing)", "nic.read(buffer)"),
    "C60-packed-send/default-stream": wrong("launch(pack, NULL)", "nic.read(buffer)"),
    "C60-packed-send/synchronise-first": HOLDS,
    "C66-early-launch/wait-left-out": wrong("launch(producer, stream)", "launch(consumer, stream)"),
    "C66-early-launch/waits": HOLDS,
    "C66-early-launch/wait-after-first-read": wrong(
        "launch(producer, stream)", "launch(consumer_prologue, stream)"
    ),
    "C66-early-launch/waits-for-the-last": OPEN,
    "C66-early-launch/each-waits": HOLDS,
    "C67-hardware-queues/shared": HANGS_UP,
    "C67-hardware-queues/unshared-first": HOLDS,
    "C67-hardware-queues/more-streams-than-queues": HANGS_UP,
    "C71-full-launch-queue/shared": HANGS_UP,
    "C71-full-launch-queue/unbounded": HOLDS,
    "C71-full-launch-queue/own-queue": HOLDS,
    "C71-full-launch-queue/no-driver-call": HOLDS,
    "C72-launch-blocking/off": HOLDS,
    "C72-launch-blocking/on": HANGS_UP,
    "C72-launch-blocking/work-first": HOLDS,
    "C72-launch-blocking/two-devices": HANGS_UP,
}
"""What each form is under CUDA and, unless `UNDER_HIP` says otherwise, under HIP."""

UNDER_HIP = {
    "C66-early-launch/wait-left-out": HOLDS,
    "C66-early-launch/wait-after-first-read": HOLDS,
    "C66-early-launch/waits-for-the-last": HOLDS,
}
"""HIP has no early launch."""

HANGS = {
    "C50-output-thread/one-event-released-late": (
        "host waits at # for output to return",
        "output waits at # in copied.synchronize()",
        "compute waits at # for cell 'handled' to reach 1",
    ),
    "C54-late-output/retry-for-ever": ("host waits at # for queue 'free_blocks', which is empty",),
    "C67-hardware-queues/shared": ("queue0 waits at # for cell 'ready' to reach 1",),
    "C67-hardware-queues/more-streams-than-queues": (
        "queue0 waits at # for cell 'ready' to reach 1",
    ),
    "C71-full-launch-queue/shared": (
        "host waits at # for proxy to return",
        "proxy waits at # for queue 'launch_queue', which is full",
        "device waits at # in collective_done.synchronize()",
        "compute waits at # for cell 'served' to reach 1",
    ),
    "C72-launch-blocking/on": (
        "host waits at # in compute.synchronize()",
        "proxy waits at # for queue 'work', which is empty",
        "compute waits at # for cell 'served' to reach 1",
    ),
    "C72-launch-blocking/two-devices": (
        "host waits at # in compute0.synchronize()",
        "compute0 waits at # for cell 'arrived1' to reach 1",
    ),
}
"""Who waits for what in each hang; # is the source line."""


def entries() -> dict[str, Protocol]:
    """Return every protocol of these files by its name without the family's."""
    modules = [import_module(f"streamorder.model.protocols.{name}") for name in MODULES]
    things = [thing for module in modules for thing in vars(module).values()]
    return {
        thing.name.removeprefix("corpus/"): thing for thing in things if isinstance(thing, Protocol)
    }


ENTRIES = entries()


def row(name: str, contract: str) -> Row:
    """Return what the table says."""
    return UNDER_HIP.get(name, TABLE[name]) if contract == "hip" else TABLE[name]


def decided(name: str, contract: str = "cuda", **options: int | str) -> Verdict:
    """Decide one entry."""
    return check(ENTRIES[name], contract, **options)  # pyright: ignore[reportArgumentType]


def main_edge(name: str) -> MissingEdge:
    """Return the first finding under CUDA."""
    return decided(name).missing_edges[0]


# --- the table ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("name", TABLE)
def test_order_decides_as_the_table_says(name: str, contract: str) -> None:
    """The verdict, the one that the entry states, and the main finding."""
    expected = row(name, contract)
    found = decided(name, contract)
    assert found.verdict == expected.verdict
    assert found.as_expected is True
    assert [edge.kind for edge in found.missing_edges[:1]] == [expected.kind][: bool(expected.kind)]
    if expected.first is not None:
        edge = found.missing_edges[0]
        assert (edge.first.call, edge.second.call) == (expected.first, expected.second)


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("name", TABLE)
def test_the_machine_agrees(name: str, contract: str) -> None:
    """The same verdict and main kind, except for overlap, which is not the machine's to decide."""
    expected = row(name, contract)
    found = decided(name, contract, engine="machine")
    if found.reason is not None and "concurrent" in found.reason:
        assert found.verdict == "UNDETERMINED"
        return
    assert found.verdict == expected.verdict
    assert [edge.kind for edge in found.missing_edges[:1]] == [expected.kind][: bool(expected.kind)]


def test_the_files_hold_the_table() -> None:
    """No form more and no form less; each entry has a form that is refuted and one that holds."""
    assert list(ENTRIES) == list(TABLE)
    for entry in {name.partition("/")[0] for name in TABLE}:
        verdicts = {r.verdict for name, r in TABLE.items() if name.startswith(f"{entry}/")}
        assert {"HOLDS", "REFUTED"} <= verdicts


# --- sizes at which it shows --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("C31-shared-map/forward-edge-only", 2),
        ("C33-gradient-buckets/forward-edge-only", 3),
        ("C34-ping-pong/index-reset", 2),
        ("C43-upload-left-out/memory-reused", 2),
        ("C50-output-thread/one-event-released-late", 2),
    ],
)
def test_it_shows_from_so_many_steps_on(name: str, steps: int) -> None:
    """A third gradient bucket, a second replay: with a step less nothing is wrong."""
    below, enough = decided(name, steps=steps - 1), decided(name, steps=steps)
    assert (below.verdict, below.below_size) == ("HOLDS", True)
    assert enough.verdict == "REFUTED"


# --- what the verdicts say beside ---------------------------------------------------------------


@pytest.mark.parametrize("contract", CONTRACTS)
def test_only_serial_streams_endanger_what_spins_across_streams(contract: str) -> None:
    """A wait for another stream's write may hang where streams are serialised; the host's not."""
    warned = {
        name
        for name in TABLE
        if any("holds up the others" in warning for warning in decided(name, contract).warnings)
    }
    assert warned == {
        "C67-hardware-queues/unshared-first",
        "C71-full-launch-queue/unbounded",
        "C71-full-launch-queue/own-queue",
    }


def test_an_open_promise_is_named() -> None:
    """Whether an early wait reaches further back is CUDA's to say."""
    found = decided("C66-early-launch/waits-for-the-last")
    assert found.reason is not None
    assert "early_wait_transitive" in found.reason


# --- hangs --------------------------------------------------------------------------------------


def waits(edge: MissingEdge) -> list[str]:
    """Return who waits for what, with # for the source line."""
    said = edge.sentence.removeprefix("nothing can go on: ").split("; ")
    return [" ".join("#" if ".py:" in word else word for word in wait.split(" ")) for wait in said]


@pytest.mark.parametrize("name", HANGS)
def test_a_hang_reports_every_wait_by_name(name: str) -> None:
    """Each host thread and each stream that cannot go on: where it waits, and for what."""
    assert waits(main_edge(name)) == list(HANGS[name])


@pytest.mark.parametrize("name", HANGS)
def test_the_machine_names_the_same_calls(name: str) -> None:
    """Its sentence says which calls are never over, threads first."""
    edge = decided(name, engine="machine").missing_edges[0]
    for wait in HANGS[name]:
        _who, _waits, what = wait.partition(" waits at # ")
        assert call_of(what) in edge.sentence


def call_of(wait: str) -> str:
    """Return the part of a call's text that a wait names: its object, or the call itself."""
    words = wait.removeprefix("in ").split()
    if words[0] != "for":
        return words[0]
    return words[2].strip("',") if words[1] in {"cell", "queue"} else words[1]


def test_every_hang_is_in_the_list() -> None:
    """Both tables speak of the same forms."""
    assert set(HANGS) == {name for name, r in TABLE.items() if r.kind == "deadlock"}


# --- uses after a free --------------------------------------------------------------------------


def test_a_late_use_names_the_free_and_the_new_owner() -> None:
    """In stream order: the late read against the free, and against the next owner's write."""
    found = decided("C37-pool-by-stream/freed-on-one-stream")
    against = {edge.second.call: edge for edge in found.missing_edges}
    assert {edge.first.call for edge in found.missing_edges} == {"launch(consume, main)"}
    assert {"free_async(tensor, aux)", "launch(produce_next, aux)"} <= against.keys()
    assert "which frees it" in against["free_async(tensor, aux)"].sentence
    assert "freed memory" in str(against["free_async(tensor, aux)"].consequence)


def test_a_late_replay_names_the_free() -> None:
    """A graph's node uses what the host has freed: in order, and wrong all the same."""
    edge = main_edge("C45-hidden-workspace/freed")
    assert edge.ordered
    assert "first.launch(compute)" in edge.sentence
    assert "writes workspace, which free(workspace)" in edge.sentence
    assert edge.sentence.endswith("freed before")
    assert "touches workspace after it was freed" in str(edge.consequence)


def test_a_late_replay_over_a_new_owner_names_its_read() -> None:
    """The new owner's read, what it finds, and whose write that was."""
    edge = main_edge("C45-hidden-workspace/reused")
    assert (edge.ordered, edge.region) == (True, "activations")
    assert "launch(sample, compute)" in edge.sentence
    assert "first.launch(compute)" in edge.sentence


LATE = [
    # entry; its late access, how its memory was given up and handed out again
    ("C37-pool-by-stream/freed-at-once", "launch(consume", ["malloc(next_tensor)"]),
    (
        "C37-pool-by-stream/freed-on-one-stream",
        "launch(consume",
        ["free_async(tensor, aux)", "malloc_async(next_tensor)"],
    ),
    ("C39-merged-free-list/old-event", "launch(first_owner", ["malloc(reused_block)"]),
    ("C42-captured-upload/source-reused", "memcpy_async(table", ["malloc(prefill_staging)"]),
    ("C43-upload-left-out/memory-reused", "launch(gather", ["malloc(output)"]),
    ("C45-hidden-workspace/freed", "launch(gemm", ["free(workspace)"]),
    (
        "C45-hidden-workspace/reused",
        "launch(gemm",
        ["free(workspace)", "malloc(activations)"],
    ),
    ("C54-late-output/freed-at-once", "launch(forward", ["malloc(reused_block)"]),
    ("C56-late-zeros/left-out-too-late", "launch(zero", ["malloc(reused_block)"]),
]
"""A pool that keeps books on the host only has no free but the allocation that comes next; after
the free of C45 nobody gets the memory.
"""


@pytest.mark.parametrize(("name", "late", "given_up"), LATE, ids=[row[0] for row in LATE])
def test_a_use_after_free_names_free_owner_and_access(
    name: str, late: str, given_up: list[str]
) -> None:
    """Every sentence on memory that changed hands names who gave it up, who got it, who is late."""
    for edge in decided(name).missing_edges:
        for words in (late, *given_up):
            assert words in edge.sentence, edge.sentence
        for what in ("freed it", "handed it out again", "freed before"):
            assert edge.sentence.count(what) <= 1


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("C37-pool-by-stream/freed-at-once", "which reads tensor", "next_tensor"),
        ("C39-merged-free-list/old-event", "which writes block", "reused_block"),
        ("C54-late-output/freed-at-once", "which writes block", "reused_block"),
    ],
)
def test_each_access_is_told_by_its_own_name(name: str, old: str, new: str) -> None:
    """Where an address was handed out again, the earlier owner's access has the earlier name."""
    sentence = main_edge(name).sentence
    assert old in sentence
    assert f"which writes {new}" in sentence


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("C42-captured-upload/source-reused", "concat"),
        ("C43-upload-left-out/memory-reused", "gather"),
    ],
)
def test_a_node_is_told_by_its_own_name(name: str, node: str) -> None:
    """Which node of the replayed graph read the wrong version."""
    assert node in main_edge(name).sentence
