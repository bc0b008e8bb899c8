"""The mend that each project landed is among the first three repairs offered, for at least 80 %.

A mend is mapped to what one would write: on which side of which source line, and what. Where the
project landed several mends, or the same order can be had by an event or by a whole stream, each
counts. What is not found is listed with the reason; that list is checked as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from streamorder.model.catalogue import catalogue

if TYPE_CHECKING:
    from collections.abc import Callable


class Mend(NamedTuple):
    """What a project landed: the broken form, and the instructions that amount to the mend.

    An instruction is (side, part of its source line, part of its text); each of the `ways` is a
    list of instructions that all must be there.
    """

    broken: str
    ways: tuple[tuple[tuple[str, str, str], ...], ...]


def one(broken: str, *instructions: tuple[str, str, str]) -> Mend:
    """A mend that can be written in one way."""
    return Mend(broken, (instructions,))


LANDED = (
    one("C01-mask-staging/one-buffer", ("once", "", "one more slot for host_mask")),
    one(
        "C02-idle-rank/dummy-step",
        ("after", "memcpy_async(inputs", ".record(compute)"),
        ("before", "gpu.write(host", ".synchronize()"),
    ),
    one(
        "C04-page-table/one-buffer",
        ("after", "memcpy_async(table", ".record(compute)"),
        ("before", "gpu.write(host", ".synchronize()"),
    ),
    one(
        "C06-slot-ring/encoder-only",
        ("after", 'gpu.launch("encode"', "[{slot0|slot1}].record(compute)"),
        ("before", "gpu.write(ring", "[{slot0|slot1}].synchronize()"),
    ),
    one("C08-unpinned/pinned", ("once", "", 'not pinned: gpu.pageable("host_inputs")')),
    one(
        "C10-kernel-arguments/two-threads",
        ("before", "free.synchronize()", "lock.acquire()"),
        ("after", "free.record(stream)", "lock.release()"),
    ),
    one("C11-local-vector/pinned", ("after", "memcpy_async(view", "stream.synchronize()")),
    one("C12-batched-copy/stream-order", ("at", "memcpy_async(column", "source='call'")),
    one(
        "C14-accepted-counts/no-wait",
        ("after", "memcpy_async(counts", ".record(compute)"),
        ("before", "gpu.read(counts", ".synchronize()"),
    ),
    one("C16-cpu-operator/stream-wait", ("before", "gpu.read(value", "copied.synchronize()")),
    one(
        "C18-blocking-upload/non-blocking-stream",
        ("after", "gpu.memcpy(value", "NULL.synchronize()"),
    ),
    one("C19-device-copy/null-stream", ("at", "gpu.memcpy(copied", "compute)")),
    # The project also moved the memset to a stream; that it is awaited is what mends.
    one("C20-signal-words/null-memset", ("after", "gpu.write_value(gpu.null(i)", ".synchronize()")),
    one(
        "C22-wrong-stream/downloads",
        ("at", "uploaded.record(downloads)", "uploaded.record(uploads)"),
    ),
    one(
        "C24-gradient-bucket/one-producer",
        ("after", "gpu.launch(f", ".record(hook0)"),
        ("before", 'gpu.launch("all_reduce"', "reduction.wait("),
    ),
    one(
        "C31-shared-map/forward-edge-only",
        ("after", 'gpu.launch("forward"', ".record(compute)"),
        ("before", 'gpu.launch("update"', "schedule.wait("),
    ),
    # The project waits right after the copy instead of right before it: the same edge back.
    one(
        "C33-gradient-buckets/forward-edge-only",
        ("after", 'gpu.launch("allreduce"', ".record(reduction)"),
        ("before", 'gpu.launch("copy"', "default.wait("),
    ),
    one("C34-ping-pong/index-reset", ("once", "", "one more slot for bucket0")),
    one(
        "C37-pool-by-stream/freed-on-one-stream",
        ("at", "gpu.free_async(tensor", "used_by=[main]"),
    ),
    one("C39-merged-free-list/old-event", ("after", "b.wait(freed_on_a)", "freed_on_b.record(b)")),
    one("C42-captured-upload/source-reused", ("once", "", "prefill_staging gets memory of")),
    one("C43-upload-left-out/memory-reused", ("at", "memcpy_async(table", "captured first")),
    one("C45-hidden-workspace/freed", ("at", 'gpu.launch("gemm"', "memory of its own")),
    one("C50-output-thread/one-event-released-late", ("once", "", "a new event in each step")),
    one(
        "C51-halo-fills/finished-between",
        ("after", 'gpu.launch("exchange"', ".record(network)"),
        ("before", 'gpu.launch("unpack"', "compute.wait("),
    ),
    one(
        "C54-late-output/freed-at-once",
        ("after", 'gpu.launch("forward"', ".record(compute)"),
        ("before", "nic.write(reused", ".synchronize()"),
    ),
    one("C56-late-zeros/zeroed-for-a-load", ("at", 'gpu.launch("zero"', "leave out launch(zero")),
    one(
        "C58-block-copies/by-logical-id",
        ("before", "gpu.memcpy_async(block, stored, onboard)", "onboard.wait("),
    ),
    one("C60-packed-send/at-once", ("before", "nic.read(buffer", "packing.synchronize()")),
    one("C66-early-launch/wait-left-out", ("at", 'gpu.launch("consumer"', "early='waits'")),
    one("C67-hardware-queues/shared", ("at", "gpu.write_value(writing", "on a new stream")),
    one("C72-launch-blocking/on", ("before", "compute.synchronize()", "work.put('collective')")),
)
"""For each entry, its first broken form that a project mended."""

NOT_FOUND = {
    "C71-full-launch-queue/shared": "the project gave the proxy a launch queue of its own, or no "
    "driver call at all; what is offered is one more place in the queue that both use",
}
"""What is not among the first three, and why."""


def offers_mend(offers: list[list[list[Any]]], mend: Mend) -> bool:
    """Whether one of these offers, at one of its places, has all instructions of the mend."""
    return any(
        all(any(fits(given, wanted) for given in edits) for wanted in way)
        for way in mend.ways
        for places in offers
        for edits in places
    )


def fits(given: Any, wanted: tuple[str, str, str]) -> bool:
    """Whether an instruction is the one that is wanted."""
    side, line, code = wanted
    return given.side == side and line in given.line and code in given.code


@pytest.mark.parametrize(
    "mend",
    [
        pytest.param(mend, id=mend.broken, marks=pytest.mark.xdist_group(f"corpus/{mend.broken}"))
        for mend in LANDED
    ],
)
def test_landed_mend_is_among_the_first_three(
    mend: Mend, repaired: Callable[[str], Any], texts: Callable[[Any], Any]
) -> None:
    """The project's own mend is offered."""
    found = repaired(f"corpus/{mend.broken}")
    offers = [texts(offer) for offer in found.offers[:3]]
    assert offers_mend(offers, mend), offers


def test_share_is_large_enough() -> None:
    """At least 80 % of all entries are mapped, each a test above; the others give a reason."""
    entries = {name.split("/")[1] for name in catalogue() if name.startswith("corpus/")}
    mapped = {mend.broken.split("/")[0] for mend in LANDED}
    listed = {name.split("/")[0] for name in NOT_FOUND}
    assert mapped | listed == entries
    assert not mapped & listed
    assert len(mapped) >= 0.8 * len(entries)


@pytest.mark.parametrize("name", NOT_FOUND)
@pytest.mark.xfail(reason="a launch queue of its own is no addition that is tried")
def test_not_found(name: str, repaired: Callable[[str], Any], texts: Callable[[Any], Any]) -> None:
    """What is listed as not found is not found."""
    offers = [texts(offer) for offer in repaired(f"corpus/{name}").offers[:3]]
    assert offers_mend(offers, one(name, ("once", "", "queue of its own")))
