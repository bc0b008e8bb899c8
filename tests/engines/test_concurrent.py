"""`concurrent` of copies and fills, in programs with choices and with host threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from streamorder import BadInput, Outcome, check

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Gpu


def copied(gpu: Gpu, apart: bool = True) -> None:
    """A copy beside a kernel, on another stream or on the same."""
    s, t, p, d = gpu.stream("s"), gpu.stream("t"), gpu.pinned("p"), gpu.device("d")
    gpu.write(p, 1)
    gpu.concurrent(gpu.memcpy_async(d, p, s), gpu.launch("k", t if apart else s))


def filled(gpu: Gpu, apart: bool = True) -> None:
    """A fill beside a kernel, after a choice."""
    s, t, d = gpu.stream("s"), gpu.stream("t"), gpu.device("d")
    if gpu.choose(True, False):
        gpu.launch("more", t)
    gpu.concurrent(gpu.memset_async(d, 0, s), gpu.launch("k", t if apart else s))


def chosen(gpu: Gpu, apart: bool = True) -> None:
    """A copy beside a kernel, after a choice."""
    if gpu.choose(True, False):
        gpu.launch("more", gpu.stream("u"))
    copied(gpu, apart)


def threaded(gpu: Gpu, apart: bool = True) -> None:
    """A copy beside a kernel, while another thread has work of its own."""
    u = gpu.stream("u")

    def worker() -> None:
        gpu.launch("more", u)
        u.synchronize()

    other = gpu.thread(worker)
    copied(gpu, apart)
    filled_without_choice(gpu, apart)
    other.join()


def filled_without_choice(gpu: Gpu, apart: bool = True) -> None:
    """A fill beside a kernel."""
    s, t, d = gpu.stream("s"), gpu.stream("t"), gpu.device("d")
    gpu.concurrent(gpu.memset_async(d, 0, s), gpu.launch("k", t if apart else s))


def on_one_path(gpu: Gpu) -> None:
    """Overlap is lost on one of two paths: where the kernel waits for the copy."""
    s, t, p, d = gpu.stream("s"), gpu.stream("t"), gpu.pinned("p"), gpu.device("d")
    gpu.write(p, 1)
    copy = gpu.memcpy_async(d, p, s)
    if gpu.choose("apart", "joined") == "joined":
        done = gpu.event("done")
        done.record(s)
        t.wait(done)
    gpu.concurrent(copy, gpu.launch("k", t))


def by_another_thread(gpu: Gpu) -> None:
    """Overlap is lost in some schedules only: where another thread has joined the streams."""
    s, t, p, d = gpu.stream("s"), gpu.stream("t"), gpu.pinned("p"), gpu.device("d")
    done = gpu.event("done")

    def worker() -> None:
        done.record(s)
        t.wait(done)

    gpu.write(p, 1)
    copy = gpu.memcpy_async(d, p, s)
    other = gpu.thread(worker)
    gpu.concurrent(copy, gpu.launch("k", t))
    other.join()


BODIES = [copied, filled_without_choice, filled, chosen, threaded]
LOST = {
    "memcpy_async": ("memcpy_async(d, p, s)", "launch(k, s)"),
    "memset_async": ("memset_async(d, 0, s)", "launch(k, s)"),
}


@pytest.mark.parametrize("contract", ["cuda", "hip"])
@pytest.mark.parametrize("body", BODIES)
def test_it_holds_where_both_can_run(body: Callable[..., None], contract: str) -> None:
    """Streams of their own, and nothing that joins them."""
    assert check(body, contract).outcome is Outcome.HOLDS


@pytest.mark.parametrize("contract", ["cuda", "hip"])
@pytest.mark.parametrize("body", BODIES)
def test_it_is_lost_on_one_stream(body: Callable[..., None], contract: str) -> None:
    """One finding for each statement, which names both operations and ends with the later one."""
    verdict = check(body, contract, apart=False)
    assert verdict.outcome is Outcome.REFUTED
    assert {edge.kind for edge in verdict.missing_edges} == {"overlap lost"}
    found = {(edge.first.call, edge.second.call) for edge in verdict.missing_edges}
    copies = body in {copied, chosen, threaded}
    fills = body in {filled, filled_without_choice, threaded}
    wanted = {LOST["memcpy_async"]} if copies else set()
    assert found == wanted | ({LOST["memset_async"]} if fills else set())
    for edge in verdict.missing_edges:
        assert edge.ordered
        assert edge.consequence is None
        assert edge.counterexample[-1].label == "k"


@pytest.mark.parametrize("body", [on_one_path, by_another_thread])
def test_one_bad_schedule_is_enough(body: Callable[..., None]) -> None:
    """The schedule that is shown is one in which the streams were joined."""
    verdict = check(body)
    assert verdict.outcome is Outcome.REFUTED
    (edge,) = verdict.missing_edges
    assert (edge.kind, edge.first.call, edge.second.call) == (
        "overlap lost",
        "memcpy_async(d, p, s)",
        "launch(k, t)",
    )
    labels = [event.label for event in edge.counterexample]
    assert "done.record(s)" in labels
    assert labels.index("t.wait(done)") < labels.index("k")


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("body", BODIES)
def test_the_machine_leaves_it_open(body: Callable[..., None], apart: bool) -> None:
    """It never passes, and never refutes, what it does not decide."""
    verdict = check(body, engine="machine", apart=apart)
    assert verdict.outcome is Outcome.UNDETERMINED
    assert "does not decide concurrent" in (verdict.reason or "")


def test_the_machine_refutes_what_else_is_wrong() -> None:
    """A race beside a statement is a race."""

    def racy(gpu: Gpu) -> None:
        s, t, d = gpu.stream("s"), gpu.stream("t"), gpu.device("d")
        gpu.concurrent(gpu.memset_async(d, 0, s), gpu.launch("k", t, writes={d: 1}))

    for engine in ("order", "machine"):
        verdict = check(racy, engine=engine)
        assert verdict.outcome is Outcome.REFUTED
        assert [edge.kind for edge in verdict.missing_edges] == ["race"]


@pytest.mark.parametrize("branch", [False, True])
def test_a_blocking_copy_is_no_operation(branch: bool) -> None:
    """What the host itself carries out runs beside nothing that it issues later."""

    def blocking(gpu: Gpu) -> None:
        p, d = gpu.pinned("p"), gpu.device("d")
        if branch:
            gpu.choose(1, 2)
        gpu.concurrent(gpu.memcpy(d, p), gpu.launch("k", gpu.stream("s")))

    with pytest.raises(BadInput, match="concurrent"):
        check(blocking)
