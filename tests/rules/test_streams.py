"""Rules of streams: R1.1 to R1.5, R2.13; see conftest for the objects and the form of facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    # The fixtures' types: test modules cannot import conftest.
    World = Any


# (rule and case, program, facts under both contracts or under each)
ROWS: list[tuple[str, Callable[[World], object], Sequence[str] | Mapping[str, Sequence[str]]]] = [
    # --- R1.1: one stream is a FIFO --------------------------------------------------------
    (
        "R1.1 a stream keeps the order of issue",
        lambda w: [w.k(k, w.n1) for k in ("K1", "K2", "K3")],
        ["K2 after K1", "K3 after K1 K2", "K1 not after K2 K3", "K1 on n1", "call: issue K3"],
    ),
    (
        "R1.1 so does the NULL stream",
        lambda w: [w.k(k, w.N) for k in ("K1", "K2", "K3")],
        ["K3 after K1 K2", "K1 not after K2", "K2 on NULL", "pending K1 K2 K3"],
    ),
    (
        "R1.1 so does a blocking stream",
        lambda w: [w.k(k, w.b1) for k in ("K1", "K2")],
        ["K2 after K1", "K1 not after K2"],
    ),
    (
        "R1.1 copies, fills and kernels alike",
        lambda w: [
            w.gpu.memcpy_async(w.D, w.P, w.n1),
            w.k("K1", w.n1, {w.D: 1}, {w.E: 2}),
            w.gpu.memset_async(w.E, 0, w.n1),
            w.gpu.memcpy_async(w.Q, w.E, w.n1),
        ],
        ["K1 after D<-P", "E=0 after K1 D<-P", "Q<-E after E=0 K1 D<-P", "call: issue Q<-E"],
    ),
    # --- R1.2: different streams are unordered ---------------------------------------------
    (
        "R1.2 non-blocking streams",
        lambda w: [w.k("K1", w.n1), w.k("K2", w.n2)],
        ["K2 not after K1", "K1 not after K2"],
    ),
    (
        "R1.2 blocking streams, without the NULL stream between",
        lambda w: [w.k("K1", w.b1), w.k("K2", w.b2)],
        ["K2 not after K1", "K1 not after K2"],
    ),
    (
        "R1.2 a blocking and a non-blocking stream",
        lambda w: [w.k("K1", w.b1), w.k("K2", w.n1), w.k("K3", w.b1)],
        ["K2 not after K1", "K3 not after K2", "K3 after K1"],
    ),
    # --- R1.3: the NULL stream and blocking streams ----------------------------------------
    (
        "R1.3 NULL waits for blocking streams, and they for it",
        lambda w: [w.k("K1", w.b1), w.k("K2", w.N), w.k("K3", w.b2)],
        ["K2 after K1", "K3 after K2 K1"],
    ),
    (
        "R1.3 NULL waits for every blocking stream",
        lambda w: [w.k("K1", w.b1), w.k("K2", w.b2), w.k("K3", w.N)],
        ["K3 after K1 K2", "K2 not after K1"],
    ),
    (
        "R1.3 NULL does not wait for a non-blocking stream",
        lambda w: [w.k("K1", w.n1), w.k("K2", w.N)],
        ["K2 not after K1"],
    ),
    (
        "R1.3 a non-blocking stream does not wait for NULL",
        lambda w: [w.k("K1", w.N), w.k("K2", w.n1)],
        ["K2 not after K1"],
    ),
    (
        "R1.3 a blocking stream waits for NULL alone, not for its fellow",
        lambda w: [w.k("K1", w.N), w.k("K2", w.b1), w.k("K3", w.b2)],
        ["K2 after K1", "K3 after K1", "K3 not after K2"],
    ),
    (
        "R1.3 only what was issued before counts",
        lambda w: [w.k("K1", w.b1), w.k("K2", w.N), w.k("K3", w.b1), w.k("K4", w.b2)],
        ["K3 after K2", "K4 after K2", "K4 not after K3", "K1 not after K2"],
    ),
    (
        "R1.3 a snapshot at issue: NULL does not wait for later work of a blocking stream",
        lambda w: [w.k("K1", w.N), w.k("K2", w.b1), w.k("K3", w.n1), w.k("K4", w.N)],
        ["K1 not after K2", "K4 after K1 K2", "K4 not after K3"],
    ),
    (
        "R1.3 a long chain is transitive",
        lambda w: [
            w.k("K1", w.b1),
            w.k("K2", w.N),
            w.k("K3", w.b2),
            w.k("K4", w.N),
            w.k("K5", w.b1),
        ],
        ["K5 after K4 K3 K2 K1", "K4 after K3 K2 K1"],
    ),
    (
        "R1.3 a stream made later is idle, and blocking like any other",
        lambda w: [w.k("K1", w.N), w.k("K2", w.gpu.stream("b3", blocking=True)), w.k("K3", w.N)],
        ["K2 after K1", "K3 after K2", "K2 on b3"],
    ),
    (
        "R1.3 what a blocking stream waits for, the NULL stream waits for",
        lambda w: [
            w.k("K1", w.n1),
            w.e1.record(w.n1),
            w.b1.wait(w.e1),
            w.k("K2", w.N),
            w.k("K3", w.b2),
        ],
        ["K2 after K1", "K3 after K1 K2"],
    ),
    (
        "R1.3 asynchronous copies and fills count as launches do",
        lambda w: [
            w.gpu.memcpy_async(w.D, w.P, w.b1),
            w.gpu.memset_async(w.E, 0, w.N),
            w.gpu.memcpy_async(w.Q, w.D, w.b2),
            w.gpu.memset_async(w.E, 1, w.n1),
        ],
        ["E=0 after D<-P", "Q<-D after E=0 D<-P", "E=1 not after D<-P E=0 Q<-D"],
    ),
    (
        "R1.3 so do stream-less copies between device buffers",
        lambda w: [w.k("K1", w.b1), w.gpu.memcpy(w.D, w.E), w.k("K2", w.b2), w.k("K3", w.n1)],
        ["D<-E after K1", "K2 after D<-E K1", "K3 not after D<-E", "pending D<-E"],
    ),
    (
        "R1.3 a record on the NULL stream acts there: blocking streams wait for it",
        lambda w: [w.k("K1", w.b1), w.e1.record(w.N), w.k("K2", w.b2)],
        ["K2 after K1"],
    ),
    # --- R1.4: a stream wait and the NULL stream -------------------------------------------
    (
        "R1.4 a wait on NULL gathers the blocking streams where it counts as an operation",
        lambda w: [w.k("K1", w.b1), w.N.wait(w.e1), w.k("K2", w.b2)],
        {
            "cuda": ["K2 after K1", "consulted -"],
            "hip +R1.4-null": ["K2 after K1"],
            "hip -R1.4-null": ["K2 not after K1"],
        },
    ),
    (
        "R1.4 a wait on NULL never gathers non-blocking streams",
        lambda w: [w.k("K1", w.n1), w.N.wait(w.e1), w.k("K2", w.b2), w.k("K3", w.N)],
        ["K2 not after K1", "K3 not after K1"],
    ),
    (
        "R1.4 a wait on a blocking stream: nobody promises the NULL stream's edge, or denies it",
        lambda w: [w.k("K1", w.N), w.b1.wait(w.e1), w.b1.synchronize()],
        {
            "cuda -R1.4": ["pending K1", "call: -"],
            "cuda +R1.4": ["done K1", "call: await K1"],
            "hip -R1.4": ["pending K1", "call: -"],
            "hip +R1.4": ["done K1", "call: await K1"],
        },
    ),
    (
        "R1.4 a wait on a non-blocking stream never takes it, and asks nobody",
        lambda w: [w.k("K1", w.N), w.k("K2", w.b1), w.n1.wait(w.e1), w.n1.synchronize()],
        ["pending K1 K2", "call: -", "consulted -"],
    ),
    (
        "R1.4 blocking streams wait for what NULL waited for",
        lambda w: [
            w.k("K1", w.n1),
            w.e1.record(w.n1),
            w.N.wait(w.e1),
            w.k("K2", w.b1),
            w.k("K3", w.n2),
        ],
        ["K2 after K1", "K3 not after K1"],
    ),
    # --- R1.5 ------------------------------------------------------------------------------
    (
        "R1.5 the per-thread stream is blocking: ordered with NULL, and with nothing else",
        lambda w: [
            w.k("K1", w.gpu.per_thread_stream),
            w.k("K2", w.n1),
            w.k("K3", w.b1),
            w.k("K4", w.N),
            w.k("K5", w.gpu.per_thread_stream),
        ],
        ["K2 not after K1", "K3 not after K1", "K4 after K1", "K5 after K4"],
    ),
    # --- R1.8, R2.13 -----------------------------------------------------------------------
    (
        "R1.8 streams are non-blocking unless said otherwise",
        lambda w: [w.k("K1", w.N), w.k("K2", w.gpu.stream("side")), w.k("K3", w.N)],
        ["K2 not after K1", "K3 not after K2"],
    ),
    (
        "R2.13 a kernel reads what it names, itself, and the host does not wait",
        lambda w: w.k("K", w.n1, {w.P: 1, w.DD.a: None}, {w.D: 2, w.PP: 3}),
        ["K reads P=1 DD.a", "K writes D=2 PP.a=3 PP.b=3", "call: issue K", "phases 1"],
    ),
    (
        "R2.13 reads as an expectation",
        lambda w: w.k("K", w.n1, w.DE.expect(("b", "a"), 4) | w.DD.expect(("a",), 5)),
        ["K reads DE.b=4 DE.a=4 DD.a=5", "K writes -"],
    ),
    (
        "R2.13 reads without versions",
        lambda w: w.k("K", w.n1, [w.DD, w.P], {}),
        ["K reads DD.a DD.b P"],
    ),
    (
        "R2.13 a version that stands for what a region holds is a read of that region",
        lambda w: w.k("K", w.n1, (), {w.D: w.P}),
        ["K reads P", "K writes D=P"],
    ),
    (
        "R2.13 part by part, in the order of the target",
        lambda w: w.k("K", w.n1, (), {w.DE: w.PP}),
        ["K reads PP.b PP.a", "K writes DE.b=PP.b DE.a=PP.a"],
    ),
]


@pytest.mark.parametrize(("program", "facts"), [row[1:] for row in ROWS], ids=[r[0] for r in ROWS])
def test_rule(
    check: Callable[..., None],
    program: Callable[[World], object],
    facts: Sequence[str] | Mapping[str, Sequence[str]],
) -> None:
    """The facts hold, and the contracts differ exactly where a row says so."""
    check(program, facts)
