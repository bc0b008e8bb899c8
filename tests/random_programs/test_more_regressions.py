"""Small programs of the second set of calls on which an engine or a counterexample once failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder.model import refined
from streamorder.model.check import check
from streamorder.model.host import Host

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder.model.gpu import Gpu


def nodes_of_a_graph_in_order(gpu: Gpu) -> None:
    """With two host threads, a node still comes after its predecessor in the same launch."""
    s, d = gpu.stream("s"), gpu.device("d")

    def other() -> None:
        gpu.synchronize()

    with gpu.capture(s) as graph:
        gpu.launch("first", s, writes={d: 1})
        gpu.launch("second", s, reads=[d])
    gpu.thread(other)
    graph.launch(s, reads={d: 1})


def source_read_early_then_copied(gpu: Gpu) -> None:
    """A batched copy writes after it has read, also with two host threads."""
    s, p, d = gpu.stream("s"), gpu.pinned("p"), gpu.device("d")
    gpu.write(p, 1)

    def other() -> None:
        gpu.synchronize()

    gpu.thread(other)
    gpu.memcpy_async(d, p, s, source="any")
    gpu.launch("k", s, reads={d: 1})


def asked_before_the_signal(gpu: Gpu) -> None:
    """A query cannot answer true about work that waits for what its own thread does later."""
    s, e, c = gpu.stream("s"), gpu.event("e"), gpu.cell("c")
    gpu.wait_value(s, c, 1)
    e.record(s)
    e.query()
    c.set(1)


def overlap_behind_a_wait(gpu: Gpu) -> None:
    """Two operations can overlap though one of them is not done when that is stated."""
    s, t, c = gpu.stream("s"), gpu.stream("t"), gpu.cell("c")
    gpu.wait_value(s, c, 1)
    gpu.concurrent(gpu.launch("a", s), gpu.launch("b", t))
    c.set(1)


HOLDING = (
    nodes_of_a_graph_in_order,
    source_read_early_then_copied,
    asked_before_the_signal,
    overlap_behind_a_wait,
)


@pytest.mark.parametrize("body", HOLDING)
@pytest.mark.parametrize("contract", ["cuda", "hip"])
def test_holds(body: Callable[[Gpu], None], contract: str) -> None:
    """The engines find nothing wrong."""
    assert check(body, contract, steps=1).verdict == "HOLDS"
    if body is not overlap_behind_a_wait:  # the machine knows nothing of `concurrent`
        assert check(body, contract, steps=1, engine="machine").verdict == "HOLDS"


def cells_after_a_wrong_read(gpu: Gpu) -> None:
    """What is wrong comes before the first call that the single pass cannot decide."""
    p, c = gpu.pinned("p"), gpu.cell("c")
    gpu.read(p, expect=1)
    c.set(1)


def early_after_a_wrong_read(gpu: Gpu) -> None:
    """Likewise with an early launch."""
    s, p = gpu.stream("s"), gpu.pinned("p")
    gpu.read(p, expect=1)
    gpu.launch("k", s, early=True)


def early_after_what_the_machine_finds(gpu: Gpu) -> None:
    """The machine stops before the early launch; the schedule is carried on to its end."""
    s, t, c, p = gpu.stream("s"), gpu.stream("t"), gpu.cell("c"), gpu.pageable("p")
    gpu.wait_value(t, c, 1)
    gpu.write_value(s, c, 1)
    c.set(2)
    gpu.read(p, expect=20)
    gpu.launch("k", s, early="waits")


def hang_with_two_threads(gpu: Gpu) -> None:
    """The path to a hang is told with the operations of the machine that found it."""
    s, t = gpu.stream("s"), gpu.stream("t")
    c, unused = gpu.cell("c"), gpu.cell("unused")

    def other() -> None:
        gpu.wait_value(t, c, 2)
        c.set(2)
        c.set(0)

    gpu.thread(other)
    gpu.launch("k", s)
    gpu.write_value(s, unused, 1)


def only_another_write_is_in_order(gpu: Gpu) -> None:
    """The host's later set can satisfy the wait, which then does not order the two kernels: the
    order of the signals that the clocks take shows nothing.
    """
    s, t, c, d = gpu.stream("s"), gpu.stream("t"), gpu.cell("c"), gpu.device("d")
    gpu.launch("fill", t, writes={d: 10})
    gpu.write_value(t, c, 1)
    gpu.wait_value(s, c, 1)
    gpu.launch("read", s, reads=[d])
    c.set(2)


def only_another_write_is_in_order_and_stale(gpu: Gpu) -> None:
    """Likewise, with a version that the reader expects."""
    s, t, c, d = gpu.stream("s"), gpu.stream("t"), gpu.cell("c"), gpu.device("d")
    gpu.launch("fill", t, writes={d: 10})
    gpu.write_value(t, c, 1)
    gpu.wait_value(s, c, 1)
    gpu.launch("read", s, reads={d: 10})
    c.set(2)


def host_sees_either_write(gpu: Gpu) -> None:
    """A host thread spins on a cell that two others write, then reads."""
    s, t, c, m = gpu.stream("s"), gpu.stream("t"), gpu.cell("c"), gpu.managed("m")

    def other() -> None:
        gpu.launch("fill", s, writes={m: 40})
        c.set(1)
        gpu.write_value(s, c, 2)
        c.wait(2)
        gpu.read(m, expect=40)

    gpu.thread(other)
    gpu.launch("look", t, reads=[m])
    c.set(3)


def synchronized_before_the_launch(gpu: Gpu) -> None:
    """The write and the kernel meet where the kernel was launched first; in the schedule in which
    the device was waited for first, the write is over.
    """
    s, p, d = gpu.stream("s"), gpu.pinned("p"), gpu.device("d")

    def other() -> None:
        gpu.write(p, 20)
        gpu.synchronize()

    gpu.thread(other)
    gpu.launch("copy", s, writes={d: p})


def recorded_after_the_launch(gpu: Gpu) -> None:
    """A record of a stream on which another thread has launched need not come after that."""
    s, e, p = gpu.stream("s"), gpu.event("e"), gpu.pinned("p")

    def other() -> None:
        gpu.write(p, 30)
        gpu.launch("k", s)

    gpu.thread(other)
    e.record(s)
    gpu.read(p)


def awaited_before_the_record(gpu: Gpu) -> None:
    """One thread waits for an event, another one then records it."""
    s, e, p = gpu.stream("s"), gpu.event("e"), gpu.pinned("p")

    def other() -> None:
        gpu.write(p, 40)
        e.synchronize()

    gpu.thread(other)
    e.record(s)
    gpu.launch("k", s, writes={p: 20})


def false_then_awaited(gpu: Gpu) -> None:
    """A query answers false, then its event is awaited: the kernel is done in between."""
    s, e, p = gpu.stream("s"), gpu.event("e"), gpu.pinned("p")
    gpu.launch("k", s, writes={p: 1})
    e.record(s)
    if not e.query():
        e.poll()
        gpu.read(p, expect=2)


def true_here_false_there(gpu: Gpu) -> None:
    """Two threads ask about one stream; who hears `true` first is not first to be told."""
    s, p, d = gpu.stream("s"), gpu.pinned("p"), gpu.device("d")

    def other() -> None:
        if not s.query():
            gpu.memcpy(p, d)

    gpu.thread(other)
    gpu.launch("k", s)
    if s.query():
        gpu.write(p, 40)


def a_stream_destroyed_and_joined(gpu: Gpu) -> None:
    """HIP waits in destroy: a thread that joins comes after that, a kernel may still run."""
    s, t, p = gpu.stream("s"), gpu.stream("t"), gpu.pinned("p")

    def other() -> None:
        gpu.launch("k", t)
        t.destroy()

    thread = gpu.thread(other)
    gpu.launch("fill", s, writes={p: 20})
    thread.join()
    if not s.query():
        gpu.read(p)


def asked_where_nothing_goes_on(gpu: Gpu) -> None:
    """One thread waits for ever; another one was told `false` before the kernel was done."""
    s, queue = gpu.stream("s"), gpu.queue()

    def other() -> None:
        s.query()

    gpu.thread(other)
    gpu.launch("k", s)
    queue.get()


REFUTED = (
    asked_where_nothing_goes_on,
    cells_after_a_wrong_read,
    early_after_a_wrong_read,
    early_after_what_the_machine_finds,
    hang_with_two_threads,
    only_another_write_is_in_order,
    only_another_write_is_in_order_and_stale,
    host_sees_either_write,
    synchronized_before_the_launch,
    recorded_after_the_launch,
    awaited_before_the_record,
    false_then_awaited,
    true_here_false_there,
    a_stream_destroyed_and_joined,
)


@pytest.mark.parametrize("engine", ["order", "machine"])
@pytest.mark.parametrize("body", REFUTED)
@pytest.mark.parametrize("contract", ["cuda", "hip"])
def test_refuted(body: Callable[[Gpu], None], contract: str, engine: str) -> None:
    """Something is wrong, and a counterexample that the machine accepts shows it."""
    verdict = check(body, contract, steps=1, engine=engine)
    assert verdict.verdict == "REFUTED"
    assert verdict.missing_edges


def overwritten_unless_late(gpu: Gpu) -> None:
    """Two streams write a cell; the wait hangs only where the smaller one comes last."""
    s, t, c = gpu.stream("s"), gpu.stream("t"), gpu.cell("c")
    gpu.write_value(s, c, 3)
    gpu.write_value(t, c, 0)
    gpu.wait_value(t, c, 3)


def overwritten_while_the_host_looks(gpu: Gpu) -> None:
    """The host can see the larger value before a stream stores the smaller one."""
    s, c = gpu.stream("s"), gpu.cell("c")

    def other() -> None:
        c.set(3)

    gpu.thread(other).join()
    gpu.write_value(s, c, 1)
    c.wait(3)


@pytest.mark.parametrize("body", [overwritten_unless_late, overwritten_while_the_host_looks])
def test_the_machine_must_decide(kit: Any, body: Callable[[Gpu], None]) -> None:
    """A wait that no longer ends where the clocks come to it, and could have: what comes after it
    can be wrong too, so one schedule of the device does not stand for all.
    """
    contract = kit.engines.CONTRACTS[0]
    machine = kit.engines.facts_of(kit.engines.walk(Host(body, 1), contract))
    assert machine.deadlock
    assert machine.finals
    assert kit.engines.order(Host(body, 1), contract).undecided


def test_an_idempotent_version_is_the_version() -> None:
    """What the refined machine ends with is what was written, marked or not."""

    def body(gpu: Gpu) -> None:
        p = gpu.pinned("p")
        gpu.launch("a", gpu.stream("s"), writes={p: gpu.idempotent(1)})
        gpu.launch("b", gpu.stream("t"), writes={p: gpu.idempotent(1)})

    assert refined.outcomes(body, refined_contract(), ["p"]) == [(("p", 1),)]


def refined_contract() -> Any:
    """CUDA with its uncertain promises broken."""
    from streamorder.model.contract import CUDA

    return CUDA.readings()[0]
