"""What must be offered for the protocols that this is about, and what is true of every offer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder import check, protocol
from streamorder.model.catalogue import catalogue
from streamorder.model.repair import repair
from streamorder.model.repair.changes import Drop
from streamorder.model.repair.editor import edited
from streamorder.model.repair.inserts import Insert
from streamorder.model.repair.places import around
from streamorder.model.repair.redundant import in_one
from streamorder.model.repair.search import edits_of
from streamorder.report.repairs import repairs_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Gpu
    from streamorder.model.repair.edits import Edit

GOOD = {"PROVED", "HOLDS"}


def outcomes(name: str, edits: frozenset[Edit], steps: int = 4) -> set[str]:
    """The bounded verdicts of a catalogue entry with edits, by a check of its own."""
    entry = catalogue()[name]
    program = edited(entry.bind({}), tuple(sorted(edits, key=repr)))
    return {check(program, contract, steps=steps).verdict for contract in ("cuda", "hip")}


def offers_of(found: Any) -> list[tuple[Any, ...]]:
    """Every set of additions that is offered, those at other places too."""
    return [additions for o in found.offers for additions in (o.additions, *o.others)]


# --- what is to come out ------------------------------------------------------------------------


def test_direct_is_offered_the_copy_on_the_stream_and_the_host_wait() -> None:
    """First the stream-ordered staging copy; a host wait on both sides of the copies as well."""
    found = repair(catalogue()["fp8-prefill/direct"])
    first = found.offers[0]
    assert first.kinds == ("copy moved",)
    assert not first.stalls
    assert {verdict.verdict for verdict in first.verdicts} == {"PROVED"}
    waits = [o for o in found.offers if set(o.kinds) == {"host waits for an event"}]
    assert [len(offer.additions) for offer in waits] == [2]
    assert waits[0].stalls
    assert {verdict.verdict for verdict in waits[0].verdicts} == {"PROVED"}


def test_item_after_the_rewrite_is_redundant(repaired: Callable[[str], Any]) -> None:
    """`.item()` protects nothing but its own download."""
    found = repaired("fp8-prefill/direct-item-after")
    assert [(one.call, one.stalls) for one in found.redundant] == [("compute.synchronize()", True)]
    assert found.redundant[0].download is not None
    assert found.offers[0].redundant == found.redundant


def test_synchronize_first_is_offered_something_without_a_host_stall() -> None:
    """The copy on the stream, which makes the device wait redundant; or one event."""
    found = repair(catalogue()["fp8-prefill/synchronize-first"])
    assert [verdict.verdict for verdict in found.verdicts] == ["REFUTED", "PROVED"]
    free = [offer for offer in found.offers if not offer.stalls]
    assert [offer.kinds for offer in free] == [("copy moved",), ("event edge",)]
    assert [one.call for one in free[0].redundant] == ["gpu.synchronize()"]
    assert all(v.verdict == "PROVED" for offer in free for v in offer.verdicts)


def test_both_edges(texts: Callable[[Any], Any]) -> None:
    """A producer on one stream, a consumer on another, and neither waits: an event each way."""
    found = repair(neither_waits, prove=False)
    [both] = [offer for offer in found.offers if offer.kinds == ("event edge", "event edge")]
    assert not both.stalls
    [written, *_others] = texts(both)
    assert [(one.side, one.code) for one in written] == [
        ("after", "make_done.record(a)"),
        ("before", "b.wait(make_done)"),
        ("after", "use_done.record(b)"),
        ("before", "a.wait(use_done)"),
    ]


@protocol()
def neither_waits(gpu: Gpu) -> None:
    """Each step makes something on one stream and uses it on another."""
    first, second, made = gpu.stream("a"), gpu.stream("b"), gpu.device("made")
    for n in gpu.steps():
        gpu.launch("make", first, writes={made: n})
        gpu.launch("use", second, reads={made: n})


def test_host_stalls_come_last(refuted_name: str, repaired: Callable[[str], Any]) -> None:
    """No repair with a host stall stands before one without."""
    stalls = [offer.stalling for offer in repaired(refuted_name).offers]
    assert stalls == sorted(stalls)
    assert all((offer.stalling == 2) == offer.stalls for offer in repaired(refuted_name).offers)


@protocol()
def too_few_slots(gpu: Gpu) -> None:
    """The host may be two steps ahead, in two pinned slots."""
    compute, table = gpu.stream("compute"), gpu.device("table")
    slots = [gpu.pinned(f"slot{i}") for i in range(2)]
    done = [gpu.event(f"done{i}") for i in range(3)]
    for n in gpu.steps():
        done[n % 3].synchronize()
        gpu.write(slots[n % 2], n)
        gpu.memcpy_async(table, slots[n % 2], compute)
        gpu.launch("attention", compute, reads={table: n})
        done[n % 3].record(compute)


def test_a_copy_from_memory_that_is_not_pinned_may_wait() -> None:
    """It comes after one more slot, with which the host waits for nothing more (R2.6)."""
    slot, unpinned, *_waits = repair(too_few_slots, prove=False).offers
    assert (slot.kinds, slot.stalling) == (("more slots",), 0)
    assert (unpinned.kinds, unpinned.stalling) == (("not pinned",), 1)
    assert not unpinned.stalls
    assert [found.most_per_step for found in unpinned.prices.values()] == [2, 2]
    assert unpinned.as_data()["may_stall"]


@protocol()
def copied_from_pageable(gpu: Gpu) -> None:
    """A blocking copy from pageable memory, that no stream of its own waits for."""
    compute, plan, vector = gpu.stream("compute"), gpu.device("plan"), gpu.pageable("vector")
    for n in gpu.steps():
        gpu.write(vector, n)
        gpu.memcpy(plan, vector)
        gpu.launch("attention", compute, reads={plan: n})


def test_a_copy_that_may_wait_already_is_no_stall_that_is_added() -> None:
    """The same copy on the other stream may wait as it did before."""
    first = repair(copied_from_pageable, prove=False).offers[0]
    assert (first.kinds, first.stalling) == (("copy moved",), 0)


# --- what is called redundant -------------------------------------------------------------------


@protocol()
def swapped_out(gpu: Gpu) -> None:
    """A block is downloaded on a side stream, which does not wait for who fills it."""
    compute, swap = gpu.stream("compute"), gpu.stream("swap")
    block, host, out = gpu.device("block"), gpu.pinned("host"), gpu.event("out")
    for n in gpu.steps():
        gpu.launch("attention", compute, writes={block: n})
        gpu.memcpy_async(host, block, swap)
        out.record(swap)
        out.synchronize()
        gpu.read(host, expect=n)


def test_a_wait_for_a_download_is_told_apart_after_each_repair() -> None:
    """It is needed there: it is never said to be redundant without its download."""
    found = repair(swapped_out, prove=False)
    serving = [one for one in found.redundant if one.download is not None]
    assert [one.call for one in serving] == ["out.synchronize()"]
    for offer in found.offers:
        edits = edits_of(frozenset(offer.additions))
        for one in offer.redundant:
            assert one.where is not None
            drop = Drop(around(one.where)[0][0], ("synchronize_event",), one.call)
            program = edited(swapped_out.bind({}), tuple(sorted(edits | {drop}, key=repr)))
            holds = {check(program, name, steps=4).verdict for name in ("cuda", "hip")} <= GOOD
            assert holds == (one.download is None), offer
    said = [line for line in repairs_text(found).splitlines() if "then redundant" in line]
    assert any(line.endswith("()") for line in said)
    assert any("orders nothing but its own download" in line for line in said)


def test_a_wait_that_a_repair_needs_is_listed_under_the_others_only() -> None:
    """Two slots race alike without it; with a third one it is what guards them."""
    found = repair(too_few_slots, prove=False)
    assert found.redundant == ()
    slot, *others = found.offers
    assert slot.kinds == ("more slots",)
    assert slot.redundant == ()
    words = {one.call for offer in others for one in offer.redundant}
    assert words == {"{done0|done1|done2}.synchronize()"}


@protocol()
def read_by_a_thread(gpu: Gpu) -> None:
    """A thread reads a buffer that the next step's download rewrites."""
    compute, sampled, out = gpu.stream("compute"), gpu.device("sampled"), gpu.pinned("out")
    copied, ready = gpu.event("copied"), gpu.queue(name="ready")

    def detokenize() -> None:
        for n in gpu.steps():
            ready.get()
            gpu.read(out, expect=n)

    gpu.thread(detokenize)
    for n in gpu.steps():
        gpu.launch("sample", compute, writes={sampled: n})
        gpu.memcpy_async(out, sampled, compute)
        copied.record(compute)
        copied.synchronize()
        ready.put(n)


def test_the_same_lines_steps_apart_are_not_the_same() -> None:
    """Without the wait the read races with its own step's download as well."""
    found = repair(read_by_a_thread, steps=3, prove=False)
    assert all(one.download is not None for one in found.redundant)


@protocol(slots=8, ahead=6)
def many_slots(gpu: Gpu, slots: int, ahead: int) -> None:
    """A ring that holds, with more slots than there are steps at first."""
    compute, table = gpu.stream("compute"), gpu.device("table")
    slot = [gpu.pinned(f"slot{i}") for i in range(slots)]
    done = [gpu.event(f"done{i}") for i in range(ahead + 1)]
    for n in gpu.steps():
        done[n % (ahead + 1)].synchronize()
        gpu.write(slot[n % slots], n)
        gpu.memcpy_async(table, slot[n % slots], compute)
        done[n % (ahead + 1)].record(compute)


def test_a_wait_that_later_steps_need_is_not_redundant() -> None:
    """What holds without it in four steps need not hold in nine."""
    assert repair(many_slots, steps=4).redundant == ()
    assert repair(many_slots).redundant == ()


@protocol()
def useless(gpu: Gpu) -> None:
    """A wait for nothing, next to a race that it does not concern."""
    compute, other, made = gpu.stream("compute"), gpu.stream("other"), gpu.device("made")
    idle = gpu.stream("idle")
    for n in gpu.steps():
        idle.synchronize()
        gpu.launch("make", compute, writes={made: n})
        gpu.launch("use", other, reads={made: n})


def test_a_wait_for_nothing_is_redundant_before_and_after() -> None:
    """The same is wrong without it, and each repair holds without it."""
    found = repair(useless, prove=False)
    assert found.offers
    assert [one.call for one in found.redundant] == ["idle.synchronize()"]
    assert "without it the same is wrong" in repairs_text(found)


def test_names_in_one_text() -> None:
    """Calls of one line that differ in their objects only; others one by one."""
    assert in_one(["e.record(a)", "e.record(a)"]) == "e.record(a)"
    assert in_one(["e.record(a)", "f.record(b)"]) == "{e|f}.record({a|b})"
    assert in_one(["e.record(a)", "e.synchronize()"]) == "e.record(a) or e.synchronize()"


def test_what_a_wait_of_one_contract_hides_is_compared_under_each() -> None:
    """Without the device wait the same is wrong under CUDA; under HIP it is what mends."""
    found = repair(catalogue()["fp8-prefill/synchronize-first"], most=2, prove=False)
    assert found.redundant == ()


# --- a lock between threads ----------------------------------------------------------------------


@protocol()
def two_functions(gpu: Gpu) -> None:
    """Two host threads run different functions, which touch one table."""
    table = gpu.pageable("table")

    def worker() -> None:
        for n in gpu.steps():
            gpu.write(table, n)

    gpu.thread(worker)
    for _ in gpu.steps():
        gpu.launch("forward", gpu.null_stream)
        gpu.read(table)


@protocol()
def no_steps(gpu: Gpu) -> None:
    """One access each, outside a step loop."""
    table = gpu.pageable("table")

    def worker() -> None:
        gpu.write(table, 1)

    gpu.thread(worker)
    gpu.write(table, 2)


@protocol()
def one_function(gpu: Gpu) -> None:
    """Both threads write by the same line."""
    table = gpu.pageable("table")

    def bump(n: int) -> None:
        gpu.write(table, n)

    gpu.thread(bump, 1)
    bump(2)


@pytest.mark.parametrize(
    ("target", "lines"),
    [
        (two_functions, ["gpu.read(table)", "gpu.write(table, n)"]),
        (no_steps, ["gpu.write(table, 2)", "gpu.write(table, 1)"]),
        (one_function, ["gpu.write(table, n)"]),
    ],
)
def test_one_lock_around_both_accesses(
    target: Any, lines: list[str], texts: Callable[[Any], Any]
) -> None:
    """Whichever functions the two threads are in; each place is said once."""
    [offer] = repair(target, prove=False).offers
    assert offer.kinds == ("lock",)
    assert {verdict.verdict for verdict in offer.verdicts} == {"HOLDS"}
    first, *others = texts(offer)
    assert first == [
        (side, line, code)
        for line in lines
        for side, code in (("before", "lock.acquire()"), ("after", "lock.release()"))
    ]
    assert first not in others


def test_a_lock_is_not_written_across_another_function(texts: Callable[[Any], Any]) -> None:
    """Where the thread's function stands between the accesses of the other one, the lock is around
    these alone; in a step, what comes before the steps is not locked.
    """
    [offer] = repair(around_a_function, prove=False).offers
    assert all(edit.line == "gpu.write(table, 2)" or "1" in edit.line for edit in texts(offer)[0])
    assert len(texts(offer)) == 1
    places = texts(repair(two_functions, prove=False).offers[0])
    assert not any("gpu.thread" in edit.line for edits in places for edit in edits)


@protocol()
def around_a_function(gpu: Gpu) -> None:
    """The host uses the table before the thread's function is written, and after."""
    table = gpu.pageable("table")
    gpu.write(table, 0)

    def worker() -> None:
        gpu.write(table, 1)

    gpu.thread(worker)
    gpu.write(table, 2)


# --- nothing unchecked, nothing redundant -------------------------------------------------------


def test_every_offer_holds(refuted_name: str, repaired: Callable[[str], Any]) -> None:
    """Each offer, at each place, holds under both contracts by a check of its own."""
    for additions in offers_of(repaired(refuted_name)):
        assert outcomes(refuted_name, edits_of(frozenset(additions))) <= GOOD, additions


def test_no_repair_has_a_redundant_wait(refuted_name: str, repaired: Callable[[str], Any]) -> None:
    """Without any one of the calls that it adds, or of its additions, a repair is none."""
    for additions in offers_of(repaired(refuted_name)):
        edits = edits_of(frozenset(additions))
        parts = [edits_of(frozenset(additions) - {a}) for a in additions]
        parts += [edits - {e} for e in edits if isinstance(e, Insert) and not e.paired]
        for less in parts:
            assert not outcomes(refuted_name, less) <= GOOD, (additions, less)


def test_second_engine_agrees(refuted_name: str, repaired: Callable[[str], Any]) -> None:
    """The machine never refutes what is offered."""
    for offer in repaired(refuted_name).offers:
        assert not offer.confirmed.startswith("machine: refuted"), offer.confirmed


# --- limits -------------------------------------------------------------------------------------


def test_nothing_to_repair(repaired: Callable[[str], Any]) -> None:
    """A protocol that holds is offered nothing, and its exit code is 0."""
    found = repaired("fp8-prefill/staged")
    assert (found.offers, found.redundant, found.exit_code) == ((), (), 0)


def test_no_repair_says_so(repaired: Callable[[str], Any]) -> None:
    """Where nothing helps, the exit code says so."""
    found = repaired("corpus/C54-late-output/retry-for-ever")
    assert found.offers == ()
    assert found.spent is None
    assert found.exit_code == 1


def test_a_budget_that_ended_is_told() -> None:
    """With hardly any budget there is no repair, and it is undetermined whether there is one."""
    found = repair(catalogue()["fp8-prefill/direct"], checks=1)
    assert found.offers == ()
    assert found.spent is not None
    assert found.exit_code == 3


@protocol()
def two_ways(gpu: Gpu) -> None:
    """A kernel on either stream, and a host that reads its result."""
    streams = [gpu.stream("a"), gpu.stream("b")]
    result = gpu.pinned("result")
    stream = streams[gpu.choose(0, 1)]
    gpu.launch("work", stream, writes={result: 1})
    gpu.read(result, expect=1)


def test_both_ways_of_a_choice_are_mended() -> None:
    """A line that serves two streams needs an addition for each, or one for both."""
    found = repair(two_ways, prove=False)
    assert found.offers
    assert all(v.verdict in GOOD for offer in found.offers for v in offer.verdicts)


@pytest.mark.parametrize(
    "name", ["fp8-prefill/staged-no-wait", "corpus/C16-cpu-operator/stream-wait"]
)
def test_offers_are_the_same_again(name: str) -> None:
    """Two searches offer the same."""
    first, second = (repair(catalogue()[name], most=3, prove=False) for _ in range(2))
    assert [o.additions for o in first.offers] == [o.additions for o in second.offers]


@protocol()
def frees_late(gpu: Gpu) -> None:
    """Lacks a wait in every step; relies on a promise that is left open in a late one."""
    one, two, table = gpu.stream("one"), gpu.stream("two"), gpu.device("table")
    done, used, scratch = gpu.event("done"), gpu.event("used"), gpu.malloc("scratch")
    for n in gpu.steps():
        one.wait(used)
        gpu.launch("fill", one, writes={table: n})
        done.record(one)
        gpu.launch("use", two, reads={table: n})
        used.record(two)
        if n == 8:
            gpu.launch("scratch", one, writes={scratch: n})
            gpu.free(scratch)


def test_what_is_undetermined_is_no_repair() -> None:
    """Though it holds for as many steps as were tried: a check of it would not say so."""
    assert repair(frees_late, ["cuda"], most=1).offers == ()
