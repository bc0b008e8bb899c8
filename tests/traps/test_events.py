"""Events and streams at the edges: never recorded, recorded again, idle, asked, and very many."""

from __future__ import annotations

from itertools import pairwise

import pytest

from streamorder import Gpu, Outcome, check

ENGINES = pytest.mark.parametrize("engine", ["order", "machine"])


def outcome(body: object, engine: str = "order", **arguments: object) -> Outcome:
    """What an engine concludes."""
    return check(body, engine=engine, **arguments).outcome  # type: ignore[arg-type]


@ENGINES
def test_an_event_that_was_never_recorded(engine: str) -> None:
    """It is complete: waiting for it orders nothing, and a query answers true alone."""

    def harmless(gpu: Gpu) -> None:
        s, never = gpu.stream("s"), gpu.event("never")
        s.wait(never)
        never.synchronize()
        never.poll()
        assert never.query() is True

    def no_order(gpu: Gpu) -> None:
        s, t, never = gpu.stream("s"), gpu.stream("t"), gpu.event("never")
        d = gpu.device("d")
        gpu.launch("make", s, writes={d: 1})
        t.wait(never)
        gpu.launch("use", t, reads={d: 1})

    assert outcome(harmless, engine) is Outcome.HOLDS
    assert outcome(no_order, engine) is Outcome.REFUTED


@ENGINES
@pytest.mark.parametrize("again", ["before the wait", "after the wait", "on an idle stream"])
def test_an_event_recorded_again(engine: str, again: str) -> None:
    """A wait takes the snapshot of its own time: a later record changes nothing, an earlier all."""

    def body(gpu: Gpu) -> None:
        s, t, idle = gpu.stream("s"), gpu.stream("t"), gpu.stream("idle")
        d, e = gpu.device("d"), gpu.event("e")
        gpu.launch("make", s, writes={d: 1})
        e.record(s)
        if again == "before the wait":
            gpu.launch("more", s)
            e.record(s)
        elif again == "on an idle stream":
            e.record(idle)
        t.wait(e)
        if again == "after the wait":
            e.record(idle)
        gpu.launch("use", t, reads={d: 1})

    wanted = Outcome.REFUTED if again == "on an idle stream" else Outcome.HOLDS
    assert outcome(body, engine) is wanted


@ENGINES
def test_a_host_wait_keeps_its_snapshot(engine: str) -> None:
    """A second thread that records the event again does not prolong, or shorten, a wait."""

    def body(gpu: Gpu) -> None:
        s, idle = gpu.stream("s"), gpu.stream("idle")
        d, out, e = gpu.device("d"), gpu.pinned("out"), gpu.event("e")
        gpu.launch("make", s, writes={d: 1})
        gpu.memcpy_async(out, d, s)
        e.record(s)

        def meanwhile() -> None:
            e.record(idle)

        other = gpu.thread(meanwhile)
        e.synchronize()
        gpu.read(out, expect=1)
        other.join()

    assert outcome(body, engine) is Outcome.REFUTED


@ENGINES
def test_a_loop_around_query(engine: str) -> None:
    """It ends, it orders what `poll` orders, and the verdict states the bound on its answers."""

    def body(gpu: Gpu, *, patient: bool = True) -> None:
        s, d, out, e = gpu.stream("s"), gpu.device("d"), gpu.pinned("out"), gpu.event("e")
        gpu.launch("make", s, writes={d: 1})
        gpu.memcpy_async(out, d, s)
        e.record(s)
        while not e.query():
            if not patient:
                break
        gpu.read(out, expect=1)

    patient = check(body, engine=engine)
    assert patient.outcome is Outcome.HOLDS
    assert any("queries that answer false at most" in bound for bound in patient.bounds)
    assert outcome(body, engine, patient=False) is Outcome.REFUTED


@ENGINES
def test_several_events_may_all_be_late(engine: str) -> None:
    """Each is asked once: nothing bounds how many of them answer false."""

    def body(gpu: Gpu) -> None:
        s, d = gpu.stream("s"), gpu.device("d")
        outs = [gpu.pinned(f"out{i}") for i in range(4)]
        events = [gpu.event(f"e{i}") for i in range(4)]
        for out, event in zip(outs, events, strict=True):
            gpu.memcpy_async(out, d, s)
            event.record(s)
        if not any(event.query() for event in events):
            gpu.write(outs[0], 1)

    assert outcome(body, engine) is Outcome.REFUTED


@ENGINES
def test_a_query_a_step_may_be_late_every_time(engine: str) -> None:
    """Skipping a busy slot is one query a step, not a loop around one query."""

    def body(gpu: Gpu) -> None:
        s, d, slot, e = gpu.stream("s"), gpu.device("d"), gpu.pinned("slot"), gpu.event("e")
        skipped = 0
        gpu.memcpy_async(d, slot, s)
        e.record(s)
        for _ in gpu.steps():
            skipped += not e.query()
        if skipped == 4:
            gpu.write(slot, 1)

    assert outcome(body, engine, steps=4) is Outcome.REFUTED


@ENGINES
def test_idle_streams_and_unused_objects(engine: str) -> None:
    """They order nothing and cost nothing."""

    def body(gpu: Gpu) -> None:
        for i in range(40):
            gpu.stream(f"idle{i}", blocking=i % 2 == 0)
            gpu.event(f"unused{i}")
        s, d = gpu.stream("s"), gpu.device("d")
        for n in gpu.steps():
            gpu.launch("make", s, writes={d: n})
            gpu.launch("use", s, reads={d: n})
        gpu.synchronize()

    assert outcome(body, engine) is Outcome.HOLDS


@pytest.mark.parametrize("missing", [None, 0, 250, 399])
def test_400_waits_on_one_stream(missing: int | None) -> None:
    """Each of them counts: one that is missing is found, and named."""

    def body(gpu: Gpu) -> None:
        parts = [f"p{i}" for i in range(400)]
        last, d = gpu.stream("last"), gpu.device("d", parts=parts)
        for i, part in enumerate(parts):
            s, done = gpu.stream(f"s{i}"), gpu.event(f"done{i}")
            gpu.launch("make", s, writes={d[part]: 1})
            done.record(s)
            if i != missing:
                last.wait(done)
        gpu.launch("use", last, reads={d: 1})

    verdict = check(body)
    assert verdict.outcome is (Outcome.HOLDS if missing is None else Outcome.REFUTED)
    assert [edge.region for edge in verdict.missing_edges] == (
        [] if missing is None else [f"d.p{missing}"]
    )


@ENGINES
@pytest.mark.parametrize("missing", [None, 17])
def test_a_chain_through_40_streams(engine: str, missing: int | None) -> None:
    """Order passes through every link, and not past one that is missing."""

    def body(gpu: Gpu) -> None:
        d = gpu.device("d")
        streams = [gpu.stream(f"s{i}") for i in range(40)]
        for i, (stream, following) in enumerate(pairwise(streams)):
            gpu.launch("pass", stream, writes={d: i})
            done = gpu.event(f"done{i}")
            done.record(stream)
            if i != missing:
                following.wait(done)
        gpu.launch("use", streams[-1], reads={d: 38})

    assert outcome(body, engine) is (Outcome.HOLDS if missing is None else Outcome.REFUTED)
