"""Versions that are wrong though nothing races: both engines find them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from streamorder import CUDA, HIP, Outcome, check

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Contract, Gpu


def launch(gpu: Gpu) -> None:
    """A kernel finds the version before the one it expects."""
    s, d = gpu.stream("s"), gpu.device("d")
    gpu.launch("make", s, writes={d: 1})
    gpu.launch("use", s, reads={d: 2})


def host_read(gpu: Gpu) -> None:
    """The host finds what it wrote itself, and expects something else."""
    p = gpu.pinned("p")
    gpu.write(p, 1)
    gpu.read(p, expect=2)


def graph_node(gpu: Gpu) -> None:
    """A kernel of a graph finds in every replay what was right for the first."""
    s, d = gpu.stream("s"), gpu.device("d")
    with gpu.capture(s, "graph") as graph:
        gpu.launch("use", s, reads=[d])
    gpu.launch("make", s, writes={d: 1})
    graph.launch(s, reads={d: 1})
    gpu.launch("make_again", s, writes={d: 2})
    graph.launch(s, reads={d: 1})


def never_written(gpu: Gpu) -> None:
    """A kernel reads what nobody has written."""
    gpu.launch("use", gpu.stream("s"), reads={gpu.device("d"): 1})


def freed(gpu: Gpu) -> None:
    """A kernel writes what was freed."""
    d, s = gpu.malloc("d"), gpu.stream("s")
    gpu.free(d)
    gpu.launch("use", s, writes={d: 1})


FOUND: dict[Callable[[Gpu], None], tuple[str, str, str, int]] = {
    launch: ("launch(make, s)", "launch(use, s)", "d", 4),
    host_read: ("write(p, 1)", "read(p)", "p", 2),
    graph_node: ("launch(make_again, s)", "launch(use, s) in graph.launch(s)", "d", 11),
    never_written: ("nothing", "launch(use, s)", "d", 2),
    freed: ("free(d)", "launch(use, s)", "d", 5),
}
"""Who wrote last, who reads, what, and how many events it takes."""


@pytest.mark.parametrize("contract", [CUDA, HIP], ids=["cuda", "hip"])
@pytest.mark.parametrize("engine", ["order", "machine"])
@pytest.mark.parametrize("body", FOUND)
def test_it_is_found(body: Callable[[Gpu], None], engine: str, contract: Contract) -> None:
    """One finding: in order, with the last writer, the reader and the events up to the read."""
    verdict = check(body, contract, engine=engine)
    first, second, region, events = FOUND[body]
    assert verdict.outcome is Outcome.REFUTED
    (edge,) = verdict.missing_edges
    assert (edge.kind, edge.ordered) == ("wrong version", True)
    assert (edge.first.call, edge.second.call, edge.region) == (first, second, region)
    assert edge.consequence is not None
    assert edge.regions == (region,)
    assert len(edge.schedule) == len(edge.counterexample) == events


@pytest.mark.parametrize("body", FOUND)
def test_the_engines_find_the_same(
    body: Callable[[Gpu], None],
    machine_facts: Callable[..., object],
    order_facts: Callable[..., object],
) -> None:
    """One wrong version, no race and no hang."""
    found = machine_facts(body, 1, CUDA)
    assert found == order_facts(body, 1, CUDA)
    races, wrongs, deadlock = found  # type: ignore[misc]
    assert (len(races), len(wrongs), deadlock) == (0, 1, False)
