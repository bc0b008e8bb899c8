"""R5.5: what must not pass inside a capture, and that captured calls neither run nor wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder.model.contract import CUDA, HIP
from streamorder.model.errors import StreamorderError

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder.model.objects import Graph

    # The fixtures' types: test modules cannot import conftest.
    World = Any


def inside(call: Callable[[World], object]) -> Callable[[World], object]:
    """The call while n1 is captured."""

    def misuse(w: World) -> None:
        with w.gpu.capture(w.n1, "g"):
            w.k("A", w.n1)
            call(w)

    return misuse


def joined(w: World, stream: str = "n2") -> None:
    """Let a stream join n1's capture."""
    w.e1.record(w.n1)
    getattr(w, stream).wait(w.e1)


def capture(w: World, calls: Callable[[], object] = lambda: None) -> Graph:
    """Capture a kernel on n1, and what else is called."""
    with w.gpu.capture(w.n1, "g") as graph:
        w.k("A", w.n1)
        calls()
    return graph


def then(call: Callable[[World], object], *, first: str = "e1.record") -> Callable[..., object]:
    """The call after a capture of n1 in which e1 was recorded, and once before it, outside."""

    def misuse(w: World) -> None:
        if first:
            w.k("K0", w.n2)
            w.e1.record(w.n2)
        capture(w, lambda: w.e1.record(w.n1))
        call(w)

    return misuse


# --- refusals that an engine could forget: no text is settled, a mistake must not pass -----------

MUST_REFUSE: list[tuple[str, Callable[[World], object]]] = [
    (
        "R5.5 the host waits for an event recorded in a capture (invalid: it has no snapshot)",
        then(lambda w: w.e1.synchronize()),
    ),
    ("R5.5 polls it", then(lambda w: w.e1.poll())),
    ("R5.5 queries it", then(lambda w: w.e1.query())),
    ("R5.5 a captured stream is destroyed", inside(lambda w: w.n1.destroy())),
    (
        "R5.5 a stream that joined is destroyed and never joined back",
        inside(lambda w: (joined(w), w.k("B", w.n2), w.n2.destroy())),
    ),
    (
        "R5.5 two captures are merged by an event",
        inside(
            lambda w: (
                w.gpu.capture(w.n2, "h").__enter__(),
                w.e1.record(w.n2),
                w.n1.wait(w.e1),
            )
        ),
    ),
    (
        "R5.3 a version is bound that no node reads: the expectation would be lost",
        lambda w: capture(w).launch(w.n1, reads={w.D: 1}),
    ),
    (
        "R5.7 a graph that allocates and does not free is launched twice",
        lambda w: (
            g := capture(w, lambda: w.gpu.malloc_async("X", w.n1)),
            g.launch(w.n1),
            g.launch(w.n1),
        ),
    ),
]


@pytest.mark.parametrize("misuse", [r[1] for r in MUST_REFUSE], ids=[r[0] for r in MUST_REFUSE])
@pytest.mark.parametrize("contract", [CUDA, HIP], ids=["cuda", "hip"])
def test_must_refuse(
    run: Callable[..., object], contract: Any, misuse: Callable[[World], object]
) -> None:
    """A mistake of the protocol is refused, or said to be not modelled."""
    with pytest.raises(StreamorderError):
        run(misuse, contract.readings()[0])


# --- calls in a capture that become nodes: none of them runs or waits while it is captured -------

QUIET: list[tuple[str, Callable[[World], object]]] = [
    ("host to host", lambda w: w.gpu.memcpy_async(w.Q, w.P, w.n1)),
    ("pageable to pinned", lambda w: w.gpu.memcpy_async(w.P, w.G, w.n1)),
    ("download to pageable", lambda w: w.gpu.memcpy_async(w.G, w.D, w.n1)),
    ("download to pinned", lambda w: w.gpu.memcpy_async(w.P, w.D, w.n1)),
    ("staged upload", lambda w: w.gpu.memcpy_async(w.D, w.G, w.n1)),
    ("upload, source at the call", lambda w: w.gpu.memcpy_async(w.D, w.P, w.n1, source="call")),
    ("upload, source at any time", lambda w: w.gpu.memcpy_async(w.D, w.P, w.n1, source="any")),
    ("fill of pinned memory", lambda w: w.gpu.memset_async(w.P, 0, w.n1)),
    ("fill of device memory", lambda w: w.gpu.memset_async(w.D, 0, w.n1)),
    ("host function", lambda w: w.gpu.host_func("f", w.n1, (), {w.P: 1})),
    ("malloc_async", lambda w: w.gpu.malloc_async("X", w.n1)),
    ("free_async", lambda w: w.gpu.free_async(w.D, w.n1)),
]


@pytest.mark.parametrize("call", [r[1] for r in QUIET], ids=[r[0] for r in QUIET])
@pytest.mark.parametrize("contract", [CUDA, HIP], ids=["cuda", "hip"])
def test_captured_calls_do_not_run(
    run: Callable[..., Any], contract: Any, call: Callable[[World], object]
) -> None:
    """R5.5: a captured call neither runs nor waits, whatever ran before; or it is refused."""

    def program(w: World) -> None:
        w.k("before", w.n2)
        with w.gpu.capture(w.n1, "g"):
            call(w)

    for reading in contract.readings(contract.uncertain):
        try:
            record = run(program, reading)
        except StreamorderError:
            continue
        assert [steps for steps in record.calls if steps] == [["issue before"]]
        assert record.holds("pending before")


def test_used_by_in_a_capture(run: Callable[..., Any]) -> None:
    """R6.5: a captured free waits for the other stream's nodes, and leaves no eager edge."""

    def program(w: World) -> None:
        w.k("other", w.b1)
        with w.gpu.capture(w.n1, "g") as graph:
            joined(w)
            w.k("B", w.n2)
            w.gpu.free_async(w.D, w.n1, used_by=[w.n2, w.b1])
            w.e2.record(w.n2)
            w.n1.wait(w.e2)
        w.k("K", w.n1)
        graph.launch(w.n1)

    try:
        record = run(program, CUDA.readings()[0])
    except StreamorderError:
        return
    assert record.holds("K not after other")
    assert record.holds("free:D after B")
