"""What every counterexample owes its reader, checked in the machine by brute force."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from streamorder import check
from streamorder.model.explore import explore

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Gpu, MissingEdge

RACES = ("race", "wrong version")


def unordered(case: Any) -> tuple[Any, list[MissingEdge]]:
    """The verdict with its edges of two accesses that nothing orders."""
    verdict = case.verdict
    return verdict, [e for e in verdict.missing_edges if e.kind in RACES and not e.ordered]


def test_the_down_set_ends_in_the_hazard(refuted: Any, retrace: Callable[..., Any]) -> None:
    """After the events of the down-set, both accesses are possible, on the two lines named."""
    verdict, edges = unordered(refuted)
    for edge in edges:
        traced = retrace(refuted, verdict, edge)
        met = traced.meetings(traced.machine, traced.end)
        sites = {(s.where.file, s.where.line) for s in (edge.first, edge.second) if s.where}
        assert sites in [traced.lines(meeting) for meeting in met]


def test_no_event_can_be_left_out(refuted: Any, retrace: Callable[..., Any]) -> None:
    """Without any one event, a later one cannot happen or the two accesses do not meet."""
    verdict, edges = unordered(refuted)
    for edge in edges:
        traced = retrace(refuted, verdict, edge)
        sites = {(s.where.file, s.where.line) for s in (edge.first, edge.second) if s.where}
        met = traced.meetings(traced.machine, traced.end)
        wanted = {meeting for meeting in met if traced.lines(meeting) == sites}
        for at, left_out in enumerate(traced.keys):
            done = traced.replay([*traced.keys[:at], *traced.keys[at + 1 :]])
            if done is not None:
                assert not wanted & traced.meetings(*done), f"{left_out} is not needed"


def test_the_last_two_events_are_the_two_accesses(
    refuted: Any, retrace: Callable[..., Any]
) -> None:
    """The rest is the down-set; the marked events stand on the lines of `first` and `second`, and
    both access the memory, each under its own name, one of them to write.
    """
    verdict, edges = unordered(refuted)
    for edge in edges:
        slots = retrace(refuted, verdict, edge).slots()
        memory = slots[str(edge.region)]
        assert [e.role for e in edge.counterexample[:-2]] == [None] * len(edge.schedule)
        last = {event.role: event for event in edge.counterexample[-2:]}
        assert last.keys() == {"first", "second"}
        assert last["first"].where == edge.first.where
        assert last["second"].where == edge.second.where
        for event in last.values():
            assert memory in {slots.get(touch.region) for touch in event.touches}
        touches = [touch for event in last.values() for touch in event.touches]
        assert edge.region in {touch.region for touch in touches}
        assert any(t.writes and slots.get(t.region) == memory for t in touches)


def test_events_are_numbered_in_order(refuted: Any) -> None:
    """Numbers count from 1; every event has a lane, a label and a source line."""
    for edge in refuted.verdict.missing_edges:
        events = edge.counterexample
        assert [event.number for event in events] == list(range(1, len(events) + 1))
        assert all(event.lane and event.label and event.where for event in events)
        assert all(event.verb == ("call" if event.on_host else "run") for event in events)


def test_events_are_plain_data(refuted: Any) -> None:
    """A counterexample survives JSON unchanged, and so does its schedule."""
    for edge in refuted.verdict.missing_edges:
        data = edge.as_data()
        assert json.loads(json.dumps(data)) == data
        schedule = [list(step) for step in edge.schedule]
        assert json.loads(json.dumps(schedule)) == schedule


def test_a_wrong_version_names_the_read(refuted: Any) -> None:
    """`wrong version` exactly where a consequence names what is found and what is expected, or
    that memory is touched which was freed.
    """
    for edge in refuted.verdict.missing_edges:
        wrong = edge.kind == "wrong version"
        assert wrong == (edge.consequence is not None)
        shown = [t for e in edge.counterexample for t in e.touches if t.wrong]
        if not wrong:
            assert not shown
        else:
            said = edge.consequence or ""
            assert " where it expects version " in said or said.endswith(" after it was freed")


def test_a_deadlock_replays_to_a_state_where_nothing_can_happen(
    refuted: Any, retrace: Callable[..., Any]
) -> None:
    """After the schedule nothing is enabled, and not everything is finished."""
    verdict = refuted.verdict
    for edge in verdict.missing_edges:
        if edge.kind == "deadlock":
            traced = retrace(refuted, verdict, edge)
            assert traced.machine.enabled(traced.end) == []
            assert not traced.machine.finished(traced.end)


def test_a_version_in_order_is_wrong_at_the_last_step(
    refuted: Any, retrace: Callable[..., Any]
) -> None:
    """Where an order is not what is missing, the last event of the replay reads what is wrong."""
    verdict = refuted.verdict
    for edge in verdict.missing_edges:
        if edge.kind == "wrong version" and edge.ordered:
            traced = retrace(refuted, verdict, edge)
            machine, state = traced.replay(traced.keys[:-1])
            last = edge.schedule[-1]
            _after, wrong = machine.apply(state, tuple(last[:2] if last[0] == "op" else last))
            assert [repr(mismatch.region) for mismatch in wrong] == [edge.region]


def test_edges_are_sorted_and_distinct(refuted: Any) -> None:
    """Shortest first, and each pair of source lines once."""
    _verdict, edges = unordered(refuted)
    sizes = [len(edge.schedule) for edge in edges]
    assert sizes == sorted(sizes)
    pairs = [(edge.first.where, edge.second.where) for edge in edges]
    assert len(set(pairs)) == len(pairs)


def test_a_wrong_version_is_reported_where_a_read_can_be_wrong(
    refuted: Any, retrace: Callable[..., Any]
) -> None:
    """Some edge is a `wrong version` if and only if a walk of every state meets a wrong read."""
    verdict = refuted.verdict
    traced = retrace(refuted, verdict, verdict.missing_edges[0])
    kinds = {edge.kind for edge in verdict.missing_edges}
    assert ("wrong version" in kinds) == bool(explore(traced.host, traced.contract).wrongs)


def test_an_event_that_was_recorded_is_not_called_never_recorded() -> None:
    """Where its stream was idle a wait for it waits for nothing, for another reason."""

    def idle(gpu: Gpu) -> None:
        s, t, done = gpu.stream("s"), gpu.stream("t"), gpu.event("done")
        done.record(s)
        t.wait(done)
        gpu.launch("use", t, reads={gpu.device("d"): 1})

    (edge,) = check(idle).missing_edges
    labels = [event.label for event in edge.counterexample]
    assert labels[0] == "done.record(s)"
    assert "never recorded" not in labels[1]


def test_an_event_that_was_never_recorded_is_called_so() -> None:
    """A wait for it waits for nothing, which a reader of the picture must see."""

    def forgotten(gpu: Gpu) -> None:
        t, done = gpu.stream("t"), gpu.event("done")
        t.wait(done)
        gpu.launch("use", t, reads={gpu.device("d"): 1})

    (edge,) = check(forgotten).missing_edges
    assert edge.counterexample[0].label == "t.wait(done) (never recorded: no wait)"
