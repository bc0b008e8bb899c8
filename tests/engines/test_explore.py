"""`explore`: the walk of every state, its counts, outcomes, graph and paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx as nx
import pytest

from streamorder import CUDA, HIP, BudgetSpent, catalogue
from streamorder.model.explore import Exploration, explore
from streamorder.model.host import Host

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Gpu


def one_stream(gpu: Gpu) -> None:
    """Two kernels, one after the other."""
    s, d = gpu.stream("s"), gpu.device("d")
    gpu.launch("k", s, writes={d: 1})
    gpu.launch("l", s, writes={d: 2})


def two_streams(gpu: Gpu) -> None:
    """Two kernels in either order, one of which writes the same region."""
    s, t, d = gpu.stream("s"), gpu.stream("t"), gpu.device("d")
    gpu.launch("k", s, writes={d: 1})
    gpu.launch("l", t, writes={d: 2})


def chosen(gpu: Gpu) -> None:
    """The host chooses what is written."""
    p = gpu.pinned("p")
    gpu.write(p, gpu.choose("red", "green", "blue"))


def torn_pair(gpu: Gpu) -> None:
    """One kernel swaps what two regions hold."""
    s, d = gpu.stream("s"), gpu.device("d", parts=("a", "b"))
    gpu.launch("fill", s, writes={d.a: 1, d.b: 2})
    gpu.launch("swap", s, reads=[d], writes={d.a: d.b, d.b: d.a})


def stuck(gpu: Gpu) -> None:
    """The host waits for an item that nobody puts."""
    gpu.queue(name="empty").get()


def threads(gpu: Gpu) -> None:
    """Two threads append to a queue in either order; the main thread writes what comes first."""
    queue, p = gpu.queue(), gpu.pinned("p")

    def put(item: int) -> None:
        queue.put(item)

    both = [gpu.thread(put, 1), gpu.thread(put, 2)]
    gpu.write(p, queue.get())
    for thread in both:
        thread.join()


def walk(body: Callable[[Gpu], None]) -> Exploration:
    """Every state of a small program."""
    return explore(Host(body, 1), CUDA)


BODIES = [one_stream, two_streams, chosen, torn_pair, stuck, threads]


def test_counts_by_hand() -> None:
    """One stream: the host is before the first launch, the second, or past it; done ≤ issued."""
    found = walk(one_stream)
    assert (found.states, found.transitions) == (1 + 2 + 3, 1 + (2 + 1) + (1 + 1))
    assert found.complete
    assert found.holds


def test_counts_of_two_streams_by_hand() -> None:
    """Two streams: 1 state, then 2, then 3 with something pending, then who wrote last: 2."""
    found = walk(two_streams)
    assert found.states == 1 + 2 + 3 + 2
    assert len(found.hazards) == 1
    assert not found.holds


def test_outcomes() -> None:
    """The memories in which a program can end, by region name."""
    assert walk(one_stream).outcomes == [{"d": 2}]
    assert sorted(o["d"] for o in walk(two_streams).outcomes) == [1, 2]
    assert {o["p"] for o in walk(chosen).outcomes} == {"red", "green", "blue"}
    assert walk(torn_pair).outcomes == [{"d.a": 2, "d.b": 1}]
    assert {o["p"] for o in walk(threads).outcomes} == {1, 2}
    assert walk(stuck).outcomes == []


def test_deadlocks() -> None:
    """A state in which nothing can happen and not all is finished."""
    found = walk(stuck)
    assert found.deadlocks == [found.machine.initial()]
    assert not found.holds


@pytest.mark.parametrize("body", BODIES)
def test_every_path_can_be_replayed(body: Callable[[Gpu], None]) -> None:
    """Applying the transitions of a path leads to its state, each of them enabled in turn."""
    found = walk(body)
    for target in found.parents:
        state = found.machine.initial()
        for transition in found.path(target):
            assert transition in found.machine.enabled(state)
            state = found.machine.apply(state, transition)[0]
        assert state == target


@pytest.mark.parametrize("body", BODIES)
def test_the_graph(body: Callable[[Gpu], None]) -> None:
    """A tree from the initial state, whose paths are as long as the shortest."""
    found = walk(body)
    graph = found.graph()
    start = found.machine.initial()
    assert graph.number_of_nodes() == found.states
    assert nx.is_arborescence(graph)
    lengths = nx.single_source_shortest_path_length(graph, start)
    assert lengths == {state: len(found.path(state)) for state in found.parents}
    for state, after, transition in graph.edges(data="transition"):
        assert found.machine.apply(state, transition)[0] == after


@pytest.mark.parametrize("body", BODIES)
def test_a_path_is_shortest(body: Callable[[Gpu], None]) -> None:
    """No chain of transitions reaches a state sooner than its path does."""
    found = walk(body)
    machine = found.machine
    full: nx.DiGraph[object] = nx.DiGraph()
    for state in found.parents:
        full.add_edges_from(
            (state, machine.apply(state, transition)[0]) for transition in machine.enabled(state)
        )
    full.add_node(machine.initial())
    lengths = nx.single_source_shortest_path_length(full, machine.initial())
    assert lengths == {state: len(found.path(state)) for state in found.parents}


def test_the_first_thing_wrong() -> None:
    """`first_only` stops there: the hazard is the same, the walk is not complete."""
    body = catalogue()["fp8-prefill/direct"].bind({})
    first = explore(Host(body, 3), HIP, first_only=True)
    every = explore(Host(body, 3), HIP)
    assert not first.complete
    assert not first.holds
    assert first.states < every.states
    assert first.path(first.hazards[0][0]) == every.path(every.hazards[0][0])


def test_past_the_budget() -> None:
    """It is an error, not a result."""
    body = catalogue()["fp8-prefill/direct"].bind({})
    with pytest.raises(BudgetSpent, match="more to come"):
        explore(Host(body, 3), HIP, max_states=10)
    with pytest.raises(BudgetSpent, match="more to come"):
        explore(Host(body, 3), HIP, deadline=1e-9)


def test_a_second_walk_is_the_same() -> None:
    """States are values: two walks of one program count, and end, alike."""
    assert (walk(threads).states, walk(threads).transitions) == (
        (again := walk(threads)).states,
        again.transitions,
    )
