"""Calls that may wait and need not (R2.6, R2.7): a program must not hang where they do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder import CUDA, Outcome, check, protocol
from streamorder.model.check import Limits, Question, once, where_calls_wait
from streamorder.model.runtime import refuted

if TYPE_CHECKING:
    from streamorder import Gpu, Verdict

ENGINES = ["order", "machine", "sim"]


def held(gpu: Gpu, dst: str = "device", src: str = "device", late: bool = True) -> None:
    """A copy behind a stream that the host lets go after the copy's call, or before."""
    s, go = gpu.stream("s"), gpu.cell("go")
    ends = [getattr(gpu, kind)(name) for kind, name in ((dst, "dst"), (src, "src"))]
    if not late:
        go.set(1)
    gpu.wait_value(s, go, 1)
    gpu.memcpy_async(ends[0], ends[1], s)
    go.set(1)
    s.synchronize()


def said(verdict: Verdict) -> str:
    """Why the host waits."""
    return next(wait.why for edge in verdict.missing_edges for wait in edge.cycle)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("contract", ["cuda", "hip"])
@pytest.mark.parametrize(("dst", "src"), [("device", "pageable"), ("pageable", "device")])
def test_it_hangs_where_the_call_waits(dst: str, src: str, contract: str, engine: str) -> None:
    """No vendor promises that such a copy returns before its stream has got there."""
    verdict = check(held, contract, steps=1, engine=engine, dst=dst, src=src)
    assert verdict.outcome is Outcome.REFUTED
    (edge,) = verdict.missing_edges
    assert edge.kind == "deadlock"
    assert "memcpy_async(dst, src, s)" in edge.sentence


def test_why_the_host_waits() -> None:
    """CUDA may hold the host, and HIP does for a download."""
    cuda, hip = (check(held, c, steps=1, dst="pageable") for c in ("cuda", "hip"))
    assert said(cuda) == "the call may return only when it is done (R2.6, R2.7)"
    assert said(hip) == "the call returns when it is done"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("contract", ["cuda", "hip"])
@pytest.mark.parametrize(
    "way",
    [
        {"dst": "pinned"},
        {"src": "pinned"},
        {},
        {"dst": "pageable", "late": False},
        {"src": "pageable", "late": False},
    ],
    ids=["pinned download", "pinned upload", "on the device", "download", "upload"],
)
def test_it_holds(way: dict[str, Any], contract: str, engine: str) -> None:
    """Page-locked memory needs no wait, and a stream that nothing holds has none to make."""
    verdict = check(held, contract, steps=1, engine=engine, **way)
    assert verdict.outcome is Outcome.HOLDS


def test_a_hazard_that_the_wait_would_hide_is_found() -> None:
    """Nobody promises that the call waits, either."""

    def body(gpu: Gpu) -> None:
        s, go, out, d = gpu.stream("s"), gpu.cell("go"), gpu.pageable("out"), gpu.device("d")
        go.set(1)
        gpu.wait_value(s, go, 1)
        gpu.launch("make", s, writes={d: 1})
        gpu.memcpy_async(out, d, s)
        gpu.read(out, 1)

    assert check(body, "cuda", steps=1).outcome is Outcome.REFUTED
    assert check(body, "hip", steps=1).outcome is Outcome.HOLDS


def small_and_large(gpu: Gpu) -> None:
    """An upload that must return, and a download that must not wait, under a lock."""
    s, t, lock = gpu.stream("s"), gpu.stream("t"), gpu.lock("lock")
    first, second = gpu.cell("first"), gpu.cell("second")
    up, down = gpu.pageable("up"), gpu.pageable("down")
    d, e = gpu.device("d"), gpu.device("e")

    def worker() -> None:
        gpu.wait_value(s, second, 1)
        gpu.memcpy_async(d, up, s)
        lock.acquire()
        gpu.wait_value(t, first, 1)
        gpu.memcpy_async(down, e, t)
        lock.release()

    thread = gpu.thread(worker)
    lock.acquire()
    lock.release()
    second.set(1)
    first.set(1)
    thread.join()
    gpu.synchronize()


@pytest.mark.parametrize("engine", ENGINES)
def test_downloads_may_wait_where_uploads_return(engine: str) -> None:
    """As an H200 does. Where both wait the lock is never taken, and nothing hangs."""
    assert check(small_and_large, "cuda", steps=1, engine=engine).outcome is Outcome.REFUTED
    both = CUDA._replace(pageable_uploads_return=False, pageable_downloads_return=False)
    assert check(small_and_large, both, steps=1, engine=engine).outcome is Outcome.HOLDS


@pytest.mark.parametrize("engine", ENGINES)
def test_what_was_waited_for_is_known_to_be_done(engine: str) -> None:
    """A query right after a wait can only be answered true, in a program with cells too."""

    def body(gpu: Gpu) -> None:
        s, t, go, e = gpu.stream("s"), gpu.stream("t"), gpu.cell("go"), gpu.event("e")
        gpu.launch("k", s)
        e.record(s)
        s.synchronize()
        if e.query():
            go.set(1)
        gpu.wait_value(t, go, 1)
        t.synchronize()

    assert check(body, "cuda", steps=1, engine=engine).outcome is Outcome.HOLDS


def test_a_hang_that_takes_serialised_streams_too() -> None:
    """R1.2: the note is about calls that wait as well."""

    def body(gpu: Gpu) -> None:
        a, b, go = gpu.stream("a"), gpu.stream("b"), gpu.cell("go")
        gpu.wait_value(a, go, 1)
        gpu.memcpy_async(gpu.device("d"), gpu.pageable("source"), b)
        go.set(1)
        a.synchronize()

    (note,) = check(body, "cuda", steps=1).warnings
    assert "R1.2" in note


def test_what_was_not_looked_at_stays_open() -> None:
    """A hang where calls wait says nothing of hazards that an unfinished search has not seen."""
    entry = protocol()(held)
    body = entry.bind({"src": "pageable"})
    question = Question(entry, body, {}, "order", Limits())
    reading = CUDA.readings()[0]
    found = once(question, reading, (), 1)
    for spent, hazard in ((None, False), ("it is over", None)):
        found.spent = spent
        way, waits = where_calls_wait(question, CUDA, (reading, found), 1)
        assert way.pageable_uploads_return is False
        assert (waits.hangs, waits.spent, refuted([waits])) == (True, spent, hazard)
