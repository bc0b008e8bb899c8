"""Replay of calls that issue several operations in one phase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder import CUDA, Outcome, check
from streamorder.model.host import Host
from streamorder.model.machine import Machine
from streamorder.model.replay import EnginesDisagree, possible, replay, transition
from streamorder.model.tree import record, schedule_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Gpu


def graph(gpu: Gpu) -> None:
    """One launch of a graph issues two kernels; the second is the one that races."""
    s, t, d, e = gpu.stream("s"), gpu.stream("t"), gpu.device("d"), gpu.device("e")
    with gpu.capture(s, "captured") as captured:
        gpu.launch("first", s, writes={d: 1})
        gpu.launch("second", s, reads=[d], writes={e: 1})
    captured.launch(s)
    gpu.launch("other", t, writes={e: 2})


def branches(gpu: Gpu) -> None:
    """Two nodes of one graph side by side, which race with each other."""
    s, t, d = gpu.stream("s"), gpu.stream("t"), gpu.device("d")
    forked, joined = gpu.event("forked"), gpu.event("joined")
    with gpu.capture(s, "captured") as captured:
        forked.record(s)
        t.wait(forked)
        gpu.launch("left", s, writes={d: 1})
        gpu.launch("right", t, writes={d: 2})
        joined.record(t)
        s.wait(joined)
    captured.launch(s)


def any_time(gpu: Gpu) -> None:
    """A copy that may read its source at any time is a read and a write: two operations."""
    s, v, d = gpu.stream("s"), gpu.pinned("v"), gpu.device("d")
    gpu.write(v, 1)
    gpu.memcpy_async(d, v, s, source="any")
    gpu.write(v, 2)


PROGRAMS: dict[Callable[[Gpu], None], tuple[str, str]] = {
    graph: ("launch(second, s) in captured.launch(s)", "launch(other, t)"),
    branches: ("launch(left, s) in captured.launch(s)", "launch(right, t) in captured.launch(s)"),
    any_time: ("memcpy_async(d, v, s)", "write(v, 2)"),
}
"""The two accesses that nothing orders; one call of each program issues two operations at once."""


def issued(body: Callable[[Gpu], None]) -> list[list[Any]]:
    """The operations of each phase of a call that issues several."""
    host = Host(body, 1)
    schedule = schedule_of(host, CUDA, ())
    while options := schedule.options():
        schedule.take(*options[0])
    phases: dict[Any, list[Any]] = {}
    for moment in record(host, CUDA, schedule.steps).moments:
        if not moment.on_host:
            phases.setdefault((moment.node, moment.phase), []).append(moment)
    return [moments for moments in phases.values() if len(moments) > 1]


@pytest.mark.parametrize("body", PROGRAMS)
def test_operations_of_one_phase_are_told_apart(body: Callable[[Gpu], None]) -> None:
    """Each has its number, counted from 0 in the order of issue."""
    (moments,) = issued(body)
    assert [moment.number for moment in moments] == [0, 1]


@pytest.mark.parametrize("body", PROGRAMS)
def test_the_counterexample_is_replayed(body: Callable[[Gpu], None]) -> None:
    """The machine carries it out operation by operation, and the two accesses meet."""
    verdict = check(body)
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.steps is not None
    found = {(edge.first.call, edge.second.call): edge for edge in verdict.missing_edges}
    edge = found[PROGRAMS[body]]
    machine = Machine(Host(body, verdict.steps), CUDA.readings()[0])
    state = machine.initial()
    for step in edge.schedule:
        taken = step if step[0] == "host" else step[:2]
        assert taken in machine.enabled(state)
        state = machine.apply(state, taken)[0]
    assert machine.hazards(state)


def test_an_operation_before_its_predecessor_is_refused() -> None:
    """Of two operations that one call issues in order, the second cannot come first."""
    host = Host(graph, 1)
    schedule = schedule_of(host, CUDA, ())
    while options := schedule.options():
        schedule.take(*options[0])
    recording = record(host, CUDA, schedule.steps)
    first, second = (m for m in recording.moments if m.label is not None)
    before = [m for m in recording.moments if m.on_host]
    assert replay(host, CUDA, [*before, first, second])
    with pytest.raises(EnginesDisagree, match="is not possible"):
        replay(host, CUDA, [*before, second])
    with pytest.raises(EnginesDisagree, match="do not meet"):
        replay(host, CUDA, before, (first, second))


def test_transitions_name_the_operation() -> None:
    """Two operations of one phase are two transitions of the machine."""
    host = Host(any_time, 1)
    schedule = schedule_of(host, CUDA, ())
    while options := schedule.options():
        schedule.take(*options[0])
    machine = Machine(host, CUDA)
    state = machine.initial()
    seen = []
    for moment in record(host, CUDA, schedule.steps).moments:
        step = transition(machine, moment)
        assert possible(machine, state, step)
        state = machine.apply(state, step)[0]
        if not moment.on_host:
            seen.append(step)
    assert len(seen) == len(set(seen)) == 2
