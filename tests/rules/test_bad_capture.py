"""Misuse of captures and graphs: every refusal, with its exact text, under every reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder.model.contract import CUDA, HIP
from streamorder.model.errors import BadProtocol, NotModelled

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder.model.objects import Graph

    # The fixtures' types: test modules cannot import conftest.
    World = Any

BREAKS = " is not allowed while 'g' is being captured: the runtime invalidates the capture"
ON_NULL = f"a call on the NULL stream{BREAKS}"
VERSIONS = (
    "inside a capture reads take no versions, the node is made once: bind them at "
    "graph.launch(stream, reads={...})"
)
NOT_ENDED = "'g' cannot be launched: its capture has not ended"
CHILD = "launching a graph inside a capture (a child graph) is not modelled"
OUTSIDE = "external=True belongs inside a capture: it makes an event node"
UNJOINED = (
    "stream 'n2' was captured into 'g' and never joined back: record an event on it and let 'n1' "
    "wait for it"
)
STALE = (
    "event 'e1' was recorded inside the capture of 'g' and means nothing outside it: record it anew"
)
ISOLATED = (
    "stream 'n1' is being captured and cannot wait for event 'e1', which was recorded outside the "
    "capture"
)


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


# (case, misuse, the text of the refusal, under both contracts)
ROWS: list[tuple[str, Callable[[World], object], str]] = [
    # --- R5.5: what a capture does not survive ---------------------------------------------
    ("synchronize n1", inside(lambda w: w.n1.synchronize()), f"n1.synchronize(){BREAKS}"),
    ("synchronize n2", inside(lambda w: w.n2.synchronize()), f"n2.synchronize(){BREAKS}"),
    ("synchronize N", inside(lambda w: w.N.synchronize()), f"NULL.synchronize(){BREAKS}"),
    ("synchronize e1", inside(lambda w: w.e1.synchronize()), f"e1.synchronize(){BREAKS}"),
    ("synchronize all", inside(lambda w: w.gpu.synchronize()), f"gpu.synchronize(){BREAKS}"),
    ("query of an event", inside(lambda w: w.e1.query()), f"e1.query(){BREAKS}"),
    ("query of a stream", inside(lambda w: w.n2.query()), f"n2.query(){BREAKS}"),
    ("poll", inside(lambda w: w.e1.poll()), f"e1.poll(){BREAKS}"),
    ("memcpy", inside(lambda w: w.gpu.memcpy(w.D, w.E)), f"memcpy(D, E){BREAKS}"),
    ("memcpy, staged", inside(lambda w: w.gpu.memcpy(w.D, w.G)), f"memcpy(D, G){BREAKS}"),
    ("memcpy, host", inside(lambda w: w.gpu.memcpy(w.P, w.Q)), f"memcpy(P, Q){BREAKS}"),
    ("memset", inside(lambda w: w.gpu.memset(w.D, 0)), f"memset(D, 0){BREAKS}"),
    ("malloc", inside(lambda w: w.gpu.malloc("X")), f"malloc(X){BREAKS}"),
    ("free", inside(lambda w: w.gpu.free(w.D)), f"free(D){BREAKS}"),
    ("launch on NULL", inside(lambda w: w.k("K", w.N)), ON_NULL),
    ("copy on NULL", inside(lambda w: w.gpu.memcpy_async(w.D, w.P, w.N)), ON_NULL),
    ("staged on NULL", inside(lambda w: w.gpu.memcpy_async(w.D, w.G, w.N)), ON_NULL),
    ("host copy on NULL", inside(lambda w: w.gpu.memcpy_async(w.P, w.Q, w.N)), ON_NULL),
    ("fill on NULL", inside(lambda w: w.gpu.memset_async(w.D, 0, w.N)), ON_NULL),
    ("pinned fill on NULL", inside(lambda w: w.gpu.memset_async(w.P, 0, w.N)), ON_NULL),
    ("record on NULL", inside(lambda w: w.e2.record(w.N)), ON_NULL),
    ("wait on NULL", inside(lambda w: w.N.wait(w.e2)), ON_NULL),
    ("NULL joins", inside(lambda w: joined(w, "N")), ON_NULL),
    ("host function on NULL", inside(lambda w: w.gpu.host_func("f", w.N)), ON_NULL),
    ("malloc_async on NULL", inside(lambda w: w.gpu.malloc_async("X", w.N)), ON_NULL),
    (
        "write_value on NULL",
        inside(lambda w: w.gpu.write_value(w.N, w.gpu.cell("F"), 1)),
        ON_NULL,
    ),
    # --- which streams ---------------------------------------------------------------------
    (
        "capture NULL",
        lambda w: w.gpu.capture(w.N).__enter__(),
        "the NULL stream cannot be captured",
    ),
    (
        "capture twice",
        inside(lambda w: w.gpu.capture(w.n1, "h").__enter__()),
        "stream 'n1' is being captured already",
    ),
    (
        "capture of a stream that joined",
        inside(lambda w: (joined(w), w.gpu.capture(w.n2, "h").__enter__())),
        "stream 'n2' is being captured already",
    ),
    (
        "capture of a destroyed stream",
        lambda w: (w.n1.destroy(), w.gpu.capture(w.n1).__enter__()),
        "stream 'n1' was destroyed earlier: make a new one",
    ),
    ("never joined", inside(lambda w: (joined(w), w.k("B", w.n2))), UNJOINED),
    (
        "joined back too early",
        inside(
            lambda w: (
                joined(w),
                w.k("B", w.n2),
                w.e2.record(w.n2),
                w.n1.wait(w.e2),
                w.k("C", w.n2),
            )
        ),
        UNJOINED,
    ),
    (
        "joined a stream that does not join back",
        inside(
            lambda w: (
                joined(w),
                w.k("B", w.n2),
                w.e2.record(w.n2),
                w.b1.wait(w.e2),
                w.e2.record(w.b1),
            )
        ),
        UNJOINED,
    ),
    # --- events ----------------------------------------------------------------------------
    ("isolated", inside(lambda w: w.n1.wait(w.e1)), ISOLATED),
    (
        "isolated, recorded",
        lambda w: (w.e1.record(w.n2), inside(lambda w: w.n1.wait(w.e1))(w)),
        ISOLATED,
    ),
    ("isolated, meanwhile", inside(lambda w: (w.e1.record(w.n2), w.n1.wait(w.e1))), ISOLATED),
    ("a captured event outside", then(lambda w: w.n2.wait(w.e1)), STALE),
    ("on the same stream", then(lambda w: w.n1.wait(w.e1), first=""), STALE),
    (
        "in the next capture",
        then(lambda w: w.gpu.capture(w.n1, "h").__enter__() and w.n1.wait(w.e1)),
        STALE,
    ),
    ("external record outside", lambda w: w.e1.record(w.n1, external=True), OUTSIDE),
    ("external wait outside", lambda w: w.n1.wait(w.e1, external=True), OUTSIDE),
    ("external on another stream", inside(lambda w: w.e1.record(w.n2, external=True)), OUTSIDE),
    # --- nodes and launches ----------------------------------------------------------------
    ("a version read", inside(lambda w: w.k("K", w.n1, {w.D: 1})), VERSIONS),
    (
        "a version read by a host function",
        inside(lambda w: w.gpu.host_func("f", w.n1, {w.P: 1})),
        VERSIONS,
    ),
    (
        "a version read on a stream that joined",
        inside(lambda w: (joined(w), w.k("K", w.n2, w.DD.expect(("a",), 1)))),
        VERSIONS,
    ),
    (
        "launched in its own capture",
        lambda w: w.gpu.graph_launch(w.gpu.capture(w.n1, "g").__enter__(), w.n2),
        NOT_ENDED,
    ),
    (
        "launched on a destroyed stream",
        lambda w: (g := capture(w), w.n2.destroy(), g.launch(w.n2)),
        "stream 'n2' was destroyed earlier: make a new one",
    ),
    (
        "launch on None",
        lambda w: w.gpu.graph_launch(capture(w), None),
        "expected a stream, got None",
    ),
    ("launch of None", lambda w: w.gpu.graph_launch(None, w.n1), "expected a graph, got None"),
    ("capture None", lambda w: w.gpu.capture(None).__enter__(), "expected a stream, got None"),
    (
        "a graph's name",
        lambda w: w.gpu.capture(w.n1, 7).__enter__(),
        "a graph's name must be a string, not 7",
    ),
    (
        "pageable memory bound",
        lambda w: capture(w).launch(w.n1, reads={w.G: 1}),
        "a kernel cannot access pageable buffer 'G': give it device, pinned or managed memory",
    ),
    (
        "a list bound",
        lambda w: capture(w).launch(w.n1, reads={w.D: [1]}),
        "a version must be hashable, not [1]",
    ),
]

NOT_MODELLED: list[tuple[str, Callable[[World], object], str]] = [
    ("a child graph", lambda w: (g := capture(w), inside(lambda w: g.launch(w.n1))(w)), CHILD),
    (
        "write_value",
        inside(lambda w: w.gpu.write_value(w.n1, w.gpu.cell("F"), 1)),
        "write_value and wait_value inside a capture are not modelled",
    ),
    (
        "wait_value",
        inside(lambda w: w.gpu.wait_value(w.n1, w.gpu.cell("F"), 1)),
        "write_value and wait_value inside a capture are not modelled",
    ),
]


@pytest.mark.parametrize(("misuse", "message"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS])
@pytest.mark.parametrize("contract", [CUDA, HIP], ids=["cuda", "hip"])
def test_refused(
    run: Callable[..., object],
    contract: Any,
    misuse: Callable[[World], object],
    message: str,
) -> None:
    """The call is refused with this text, under every reading of the contract."""
    for reading in contract.readings(contract.uncertain):
        with pytest.raises(BadProtocol) as refused:
            run(misuse, reading)
        assert str(refused.value) == message


@pytest.mark.parametrize(
    ("misuse", "message"), [r[1:] for r in NOT_MODELLED], ids=[r[0] for r in NOT_MODELLED]
)
@pytest.mark.parametrize("contract", [CUDA, HIP], ids=["cuda", "hip"])
def test_not_modelled(
    run: Callable[..., object], contract: Any, misuse: Callable[[World], object], message: str
) -> None:
    """The call is legal and not modelled: UNDETERMINED, never a pass."""
    with pytest.raises(NotModelled) as refused:
        run(misuse, contract.readings()[0])
    assert str(refused.value) == message


@pytest.mark.parametrize("call", ["record", "wait"])
def test_no_event_nodes(run: Callable[..., object], call: str) -> None:
    """R3.9: HIP has no event nodes."""
    use = {
        "record": lambda w: w.e1.record(w.n1, external=True),
        "wait": lambda w: w.n1.wait(w.e1, external=True),
    }
    with pytest.raises(BadProtocol) as refused:
        run(inside(use[call]), HIP.readings()[0])
    assert str(refused.value) == "event nodes do not exist under hip"


def test_early(run: Callable[..., object]) -> None:
    """R8.4: an early launch inside a capture is not modelled where there are early launches."""
    misuse = inside(lambda w: w.gpu.launch("K", w.n1, early=True))
    with pytest.raises(NotModelled, match="an early launch inside a capture is not modelled"):
        run(misuse, CUDA.readings()[0])
    run(misuse, HIP.readings()[0])


@pytest.mark.parametrize("source", ["call", "any"])
@pytest.mark.parametrize("contract", [CUDA, HIP], ids=["cuda", "hip"])
def test_when_a_node_reads_its_source(
    run: Callable[..., object], contract: Any, source: str
) -> None:
    """R5.4: a node that reads its source at another time than in stream order is not modelled."""
    misuse = inside(lambda w: w.gpu.memcpy_async(w.D, w.P, w.n1, source=source))
    with pytest.raises(NotModelled, match=f"a graph node with source='{source}' is not modelled"):
        run(misuse, contract.readings()[0])
    run(inside(lambda w: w.gpu.memcpy_async(w.D, w.P, w.n1, source="stream")), CUDA.readings()[0])
