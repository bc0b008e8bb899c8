"""Small programs on which engines once disagreed, or on which both were wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder import BadProtocol
from streamorder.model.host import Host

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder.model.gpu import Gpu


def query_of_a_new_stream(gpu: Gpu) -> None:
    """A query is the first call after the stream was made."""
    gpu.synchronize()
    gpu.stream("s").query()


def one_of_two_threads(gpu: Gpu) -> None:
    """Either of two threads is started, never both."""

    def left() -> None:
        gpu.synchronize()

    def right() -> None:
        gpu.synchronize()

    gpu.thread(gpu.choose(left, right))


def destroyed_in_one_branch(gpu: Gpu) -> None:
    """One branch destroys the stream that the other one queries."""
    s = gpu.stream("s")
    gpu.launch("k", s)
    if gpu.choose(True, False):
        s.destroy()
        gpu.synchronize()
    else:
        gpu.synchronize()
        s.query()


def never_both_false(gpu: Gpu) -> None:
    """Each thread waits for one kernel, then asks about the other's: one must hear `true`, for
    the later of the two questions comes after both waits.
    """
    first, second = gpu.stream("first"), gpu.stream("second")
    one, two = gpu.event("one"), gpu.event("two")
    flag = gpu.pinned("flag")
    gpu.launch("a", first)
    one.record(first)
    gpu.launch("b", second)
    two.record(second)

    def other() -> None:
        one.synchronize()
        if not two.query():
            gpu.write(flag, 2)

    gpu.thread(other)
    two.synchronize()
    if not one.query():
        gpu.write(flag, 1)


def a_false_answer_tells(gpu: Gpu) -> None:
    """Who hears that a stream is busy knows that its work was launched, and what came before."""
    s, flag = gpu.stream("s"), gpu.pageable("flag")

    def other() -> None:
        gpu.write(flag, 1)
        gpu.launch("k", s)

    gpu.thread(other)
    if not s.query():
        gpu.read(flag, expect=1)


def a_false_answer_tells_of_a_record(gpu: Gpu) -> None:
    """Who hears that an event is not done knows that it was recorded, and what came before."""
    s, done, flag = gpu.stream("s"), gpu.event("done"), gpu.pageable("flag")
    gpu.launch("k", s)

    def other() -> None:
        gpu.write(flag, 1)
        done.record(s)

    gpu.thread(other)
    if not done.query():
        gpu.read(flag, expect=1)


def one_order_of_three(gpu: Gpu) -> None:
    """Wrong in one of four traces only: fill before copy before read.

    A reduction that wants only the copy at the read's place loses it: the copy sleeps there.
    """
    a, b = gpu.stream("a", blocking=True), gpu.stream("b", blocking=True)
    f, g, own = gpu.device("f"), gpu.device("g"), gpu.pageable("own")
    gpu.memset(f, 0)
    gpu.memset(g, 0)
    gpu.synchronize()

    def last() -> None:
        gpu.write(own, 1)
        gpu.launch("read", a, reads={g: 0})

    def first() -> None:
        gpu.launch("fill", b, writes={f: 1})

    gpu.thread(last)
    gpu.thread(first)
    gpu.launch("copy", gpu.null_stream, reads=[f], writes={g: f})


def asked_while_another_waits(gpu: Gpu) -> None:
    """A blocking copy is two moments: it can be issued, and its wait not yet over, while another
    thread records it and a third hears that it is not done.
    """
    source, target = gpu.device("source"), gpu.pinned("target")
    done, flag = gpu.event("done"), gpu.pageable("flag")

    def recorder() -> None:
        done.record(gpu.null_stream)

    def asker() -> None:
        if not done.query():
            gpu.read(flag, expect=1)

    gpu.thread(asker)
    gpu.thread(recorder)
    gpu.memcpy(target, source)
    gpu.synchronize()


HOLDING = {
    "a_false_answer_tells": a_false_answer_tells,
    "a_false_answer_tells_of_a_record": a_false_answer_tells_of_a_record,
    "query_of_a_new_stream": query_of_a_new_stream,
    "one_of_two_threads": one_of_two_threads,
    "destroyed_in_one_branch": destroyed_in_one_branch,
    "never_both_false": never_both_false,
}


@pytest.mark.parametrize("name", HOLDING)
@pytest.mark.parametrize("number", [0, 1])
def test_holds(kit: Any, name: str, number: int) -> None:
    """Both engines find nothing wrong, under both contracts."""
    assert_facts(kit, HOLDING[name], number, holds=True)


@pytest.mark.parametrize("body", [one_order_of_three, asked_while_another_waits])
@pytest.mark.parametrize("number", [0, 1])
def test_every_trace_is_run(kit: Any, body: Callable[[Gpu], None], number: int) -> None:
    """The one trace that shows what is wrong is not reduced away."""
    assert_facts(kit, body, number, holds=False)


@pytest.mark.parametrize("number", [0, 1])
def test_a_kernel_that_copies_reads(kit: Any, number: int) -> None:
    """A region as the version written is read by the kernel, listed in `reads` or not."""

    def body(gpu: Gpu) -> None:
        source, target = gpu.device("source"), gpu.device("target")
        gpu.launch("copy", gpu.stream("s"), writes={target: source})
        gpu.launch("fill", gpu.stream("t"), writes={source: 1})

    assert_facts(kit, body, number, holds=False)


def assert_facts(
    kit: Any,
    body: Callable[[Gpu], None],
    number: int,
    *,
    holds: bool,
) -> None:
    """Both engines agree, and say this."""
    contract, engines = kit.engines.CONTRACTS[number], kit.engines
    machine = engines.facts_of(engines.walk(Host(body, 1), contract))
    order = engines.order(Host(body, 1), contract).facts
    assert (order.holds, machine.holds) == (holds, holds)
    assert order.plain() == machine.plain()


def test_a_copy_by_the_cpu_overlaps(kit: Any) -> None:
    """HIP copies between host memories by CPU: that is no operation, so the handle must not
    stand for the one issued before it.
    """

    def body(gpu: Gpu) -> None:
        source, target = gpu.pinned("source"), gpu.pinned("target")
        kernel = gpu.launch("k", gpu.stream("s"))
        copy = gpu.memcpy_async(target, source, gpu.stream("t"))
        gpu.concurrent(kernel, copy)

    host = Host(body, 1)
    with pytest.raises(BadProtocol, match="concurrent"):
        kit.engines.claims(host, kit.engines.CONTRACTS[1])
