"""What the model does not say, each gap by a small program.

Every test here states what a device or a runtime really does and is expected to fail; one that
passes fails the run, and its line in `docs/rules.md` goes. A call that the API lacks is refused as
the protocol's own mistake, so these tests expect `BadProtocol`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder import CUDA, HIP, BadProtocol, Contract, NotModelled
from streamorder.model.refined import outcomes

if TYPE_CHECKING:
    from collections.abc import Callable


# What a program here is given: a Gpu, and some calls that it does not have.
Gpu = Any


def lacks(error: type[BaseException], what: str) -> pytest.MarkDecorator:
    """A gap that shows as this error."""
    return pytest.mark.xfail(raises=error, reason=what)


def possible(body: Callable[[Gpu], None], *observe: str, contract: Contract = CUDA) -> set[str]:
    """The outcomes of a program, as `P=0 Q=1` or `hang`."""
    found = outcomes(body, contract, observe)
    return {
        "hang" if outcome == (("hang", True),) else " ".join(f"{n}={v}" for n, v in outcome)
        for outcome in found
    }


@lacks(AssertionError, "memory order and scopes inside kernels: accesses come in any order")
def test_memory_order_inside_kernels() -> None:
    """A kernel that acquires what another released finds what came before the release (R9.4)."""

    def body(gpu: Gpu) -> None:
        n1, n2 = gpu.stream("n1"), gpu.stream("n2")
        d, flag, p, q = gpu.device("D"), gpu.device("F"), gpu.pinned("P"), gpu.pinned("Q")
        gpu.launch("D=1; store_release(F, 1)", n1, writes={d: 1, flag: 1})
        gpu.launch("Q=load_acquire(F); P=D", n2, writes={q: flag, p: d})
        gpu.synchronize()

    assert "P=0 Q=1" not in possible(body, "P", "Q")


@lacks(AssertionError, "memory order and scopes inside kernels: every load that spins is atomic")
def test_plain_loads_that_spin() -> None:
    """A kernel that spins on host memory with plain loads may never see the store (R9.4)."""

    def body(gpu: Gpu) -> None:
        n1, flag = gpu.stream("n1"), gpu.cell("F")
        gpu.wait_value(n1, flag, 1)
        flag.set(1)
        n1.synchronize()

    assert "hang" in possible(body)


@lacks(BadProtocol, "memory order and scopes: every event has a system fence")
def test_fence_scope_of_events() -> None:
    """A HIP event without a system fence orders completion, and shows the host nothing (R3.8)."""

    def body(gpu: Gpu) -> None:
        n1, p = gpu.stream("n1"), gpu.pinned("P")
        done = gpu.event("E", system_fence=False)
        gpu.launch("K", n1, writes={p: 1})
        done.record(n1)
        done.synchronize()
        gpu.memcpy_async(gpu.device("seen"), p, gpu.stream("look"), source="call")

    assert "seen=0" in possible(body, "seen", contract=HIP)


@lacks(BadProtocol, "memory order and scopes: all pinned memory is coherent")
def test_noncoherent_host_memory() -> None:
    """HIP's non-coherent memory may stay old for the host until the stream is awaited (R9.3)."""

    def body(gpu: Gpu) -> None:
        n1, flag = gpu.stream("n1"), gpu.cell("F")
        p = gpu.pinned("P", coherent=False)
        gpu.launch("K", n1, writes={p: 1})
        gpu.write_value(n1, flag, 1)
        flag.wait(1)
        gpu.memcpy_async(gpu.device("seen"), p, gpu.stream("look"), source="call")

    assert "seen=0" in possible(body, "seen", contract=HIP)


@lacks(AssertionError, "cache-line staging: a part is written without its neighbours")
def test_cache_line_staging() -> None:
    """A device that writes back a whole cache line of host memory undoes a store beside its own."""

    def body(gpu: Gpu) -> None:
        n1, line = gpu.stream("n1"), gpu.pinned("L", parts=("left", "right"))
        gpu.launch("K", n1, writes={line["left"]: 1})
        gpu.write(line["right"], 1)
        n1.synchronize()

    assert "L.left=1 L.right=0" in possible(body, "L")


@lacks(AssertionError, "pointers resolved late: a kernel's regions are named at the launch")
def test_pointers_resolved_late() -> None:
    """A kernel that takes a pointer from memory follows the one that is there when it runs."""

    def body(gpu: Gpu) -> None:
        n1, p = gpu.stream("n1"), gpu.pinned("P")
        old, new, table = gpu.pinned("A"), gpu.pinned("B"), gpu.pinned("T")
        gpu.write(old, 1)
        gpu.write(new, 2)
        gpu.write(table, "A")
        gpu.launch("P=**T", n1, reads=[table], writes={p: old})
        gpu.write(table, "B")
        n1.synchronize()

    assert "P=2" in possible(body, "P")


@lacks(AssertionError, "events bound at execution: a wait node takes its record at the launch")
def test_events_bound_at_execution() -> None:
    """A node that waits for an external event takes the record it holds when the node runs."""

    def body(gpu: Gpu) -> None:
        n1, n2, idle = gpu.stream("n1"), gpu.stream("n2"), gpu.stream("idle")
        ready, d, p = gpu.event("E"), gpu.device("D"), gpu.pinned("P")
        with gpu.capture(n1) as graph:
            n1.wait(ready, external=True)
            gpu.launch("use", n1, writes={p: d})
        gpu.launch("make", n2, writes={d: 1})
        ready.record(n2)
        graph.launch(n1)
        ready.record(idle)
        n1.synchronize()

    assert "P=0" in possible(body, "P")


@lacks(AssertionError, "ring-index races of a runtime: the runtime has no bugs of its own")
def test_ring_index_races_of_a_runtime() -> None:
    """HIP before 7.11 could write a malformed packet when batches met in one ring (R5.6)."""

    def body(gpu: Gpu) -> None:
        n1, n2, p = gpu.stream("n1"), gpu.stream("n2"), gpu.pinned("P")
        with gpu.capture(n1) as graph:
            gpu.launch("K", n1, writes={p: 1})

        def second() -> None:
            gpu.launch("L", n2)

        other = gpu.thread(second)
        graph.launch(n1)
        other.join()
        gpu.synchronize()

    assert "P=0" in possible(body, "P", contract=HIP)


@lacks(NotModelled, "child graphs")
def test_child_graphs() -> None:
    """HIP before 7.14 could start a node before the child graph ahead of it was done (R5.6)."""

    def body(gpu: Gpu) -> None:
        n1, n2, d, p = gpu.stream("n1"), gpu.stream("n2"), gpu.device("D"), gpu.pinned("P")
        with gpu.capture(n2, "child") as child:
            gpu.launch("A", n2, writes={d: 1})
        with gpu.capture(n1) as graph:
            child.launch(n1)
            gpu.launch("B", n1, writes={p: d})
        graph.launch(n1)
        n1.synchronize()

    assert "P=1" in possible(body, "P")


@lacks(BadProtocol, "updates of executable graphs")
def test_updates_of_executable_graphs() -> None:
    """A node's arguments can be changed for the launches to come (R5.3)."""

    def body(gpu: Gpu) -> None:
        n1, p = gpu.stream("n1"), gpu.pinned("P")
        with gpu.capture(n1) as graph:
            gpu.launch("K", n1, writes={p: 1})
        graph.update("K", writes={p: 2})
        graph.launch(n1)
        n1.synchronize()

    assert possible(body, "P") == {"P=2"}


@lacks(BadProtocol, "several processes")
def test_several_processes() -> None:
    """Another process that maps the same memory is ordered with no stream of this one."""

    def body(gpu: Gpu) -> None:
        n1, d, p = gpu.stream("n1"), gpu.device("D"), gpu.pinned("P")

        def peer(other: Gpu) -> None:
            other.launch("K", other.stream("s"), writes={other.open(d): 1})

        gpu.process(peer)
        gpu.launch("L", n1, writes={p: d})
        n1.synchronize()

    assert {"P=0", "P=1"} <= possible(body, "P")


@lacks(BadProtocol, "timing guarantees")
def test_timing_guarantees() -> None:
    """A microsecond's kernel is done after the host has slept for a minute, as far as one knows."""

    def body(gpu: Gpu) -> None:
        n1, p = gpu.stream("n1"), gpu.pinned("P")
        gpu.launch("K", n1, writes={p: 1})
        gpu.sleep(60)
        gpu.memcpy_async(gpu.device("seen"), p, gpu.stream("look"), source="call")

    assert possible(body, "seen") == {"seen=1"}


@lacks(BadProtocol, "any-order launches")
def test_any_order_launches() -> None:
    """HIP can launch a kernel that does not wait for the ones ahead in its stream (R1.1)."""

    def body(gpu: Gpu) -> None:
        n1, d, p = gpu.stream("n1"), gpu.device("D"), gpu.pinned("P")
        gpu.launch("K", n1, writes={d: 1})
        gpu.launch("L", n1, writes={p: d}, any_order=True)
        n1.synchronize()

    assert "P=0" in possible(body, "P", contract=HIP)


@lacks(BadProtocol, "values without a barrier")
def test_values_without_a_barrier() -> None:
    """A value written without a memory barrier does not carry what came before it (R8.2)."""

    def body(gpu: Gpu) -> None:
        n1, n2, flag = gpu.stream("n1"), gpu.stream("n2"), gpu.cell("F")
        d, p = gpu.device("D"), gpu.pinned("P")
        gpu.launch("K", n1, writes={d: 1})
        gpu.write_value(n1, flag, 1, barrier=False)
        gpu.wait_value(n2, flag, 1)
        gpu.launch("L", n2, writes={p: d})
        gpu.synchronize()

    assert "P=0" in possible(body, "P")


@lacks(AssertionError, "cyclic comparison of values: numbers do not wrap")
def test_cyclic_comparison_of_values() -> None:
    """CUDA compares words as signed and cyclic: a value half a turn ahead is behind (R8.2)."""

    def body(gpu: Gpu) -> None:
        n1, flag = gpu.stream("n1"), gpu.cell("F")
        gpu.wait_value(n1, flag, 1)
        flag.set(2**31 + 1)
        n1.synchronize()

    assert possible(body) == {"hang"}
