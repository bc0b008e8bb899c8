"""Rules of asynchronous copies: R2.5 to R2.8; all pairs of memory kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder.model.contract import CUDA, CUDA_HMM, HIP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    # The fixtures' types: test modules cannot import conftest.
    World = Any
    Recorder = Any

D, P, G, M = "device", "pinned", "pageable", "managed"

# What a copy does; K is earlier work of its stream, C the copy of X to Y.
NO_WAIT = "issue C"
WAIT = "issue C, await C K"
STAGED = "read X, issue C"
BY_CPU = "await K, read X, write Y=[X]"

# (destination, source): CUDA, whatever of its uncertain promises it keeps; HIP
PAIRS = {
    (D, D): (NO_WAIT, NO_WAIT),
    (D, P): (NO_WAIT, NO_WAIT),
    (D, G): (STAGED, STAGED),
    (D, M): (NO_WAIT, NO_WAIT),
    (P, D): (NO_WAIT, NO_WAIT),
    (P, P): (WAIT, BY_CPU),
    (P, G): (WAIT, BY_CPU),
    (P, M): (NO_WAIT, NO_WAIT),
    (G, D): (NO_WAIT, WAIT),
    (G, P): (WAIT, BY_CPU),
    (G, G): (WAIT, BY_CPU),
    (G, M): (NO_WAIT, WAIT),
    (M, D): (NO_WAIT, NO_WAIT),
    (M, P): (NO_WAIT, NO_WAIT),
    (M, G): (STAGED, STAGED),
    (M, M): (NO_WAIT, NO_WAIT),
}


def expand(steps: str, y: str, x: str) -> list[str]:
    """The steps with the names of the buffers; awaited operations are in the order of names."""
    copy = f"{y}<-{x}"
    awaited = "await " + " ".join(sorted([copy, "K"]))
    named = {"issue C": f"issue {copy}", "await C K": awaited, "read X": f"read {x}"}
    return [named.get(s, s.replace("X", x).replace("Y", y)) for s in steps.split(", ")]


@pytest.mark.parametrize("stream", ["n1", "b1", "N"])
@pytest.mark.parametrize(("dst", "src"), PAIRS)
def test_pair(run: Callable[..., Recorder], dst: str, src: str, stream: str) -> None:
    """R2.5 to R2.8: who reads the source when, and what is done when the call returns."""
    names: list[str] = []

    def program(w: World) -> None:
        target, source = w.buffers(dst, src)
        names[:] = target.name, source.name
        w.k("K", getattr(w, stream))
        w.k("other", w.n2)
        w.gpu.memcpy_async(target, source, getattr(w, stream))

    of_cuda, of_hip = PAIRS[dst, src]
    for reading, steps in [
        *(
            (reading, of_cuda)
            for reading in (CUDA.readings(CUDA.uncertain)[0], CUDA.readings(CUDA.uncertain)[-1])
        ),
        (HIP, of_hip),
    ]:
        record = run(program, reading, CUDA.uncertain)
        y, x = names
        assert record.calls[-1] == expand(steps, y, x), reading
        assert record.front.consulted == set()
        if "issue C" in steps:
            staged = "read X" in steps
            on = "NULL" if stream == "N" else stream
            value = f"{y}=[{x}]" if staged else f"{y}={x}"
            assert record.ops[f"{y}<-{x}"] == (on, {"K"}, () if staged else (x,), (value,))


@pytest.mark.parametrize(("dst", "src"), PAIRS)
def test_direct_access(run: Callable[..., Recorder], dst: str, src: str) -> None:
    """U2: where the GPU may read pageable memory itself, the copy may read its source late."""
    late, staged = (CUDA_HMM._replace(pageable_staged=kept) for kept in (False, True))
    matters = src == G and dst in {D, M}

    def program(w: World) -> None:
        w.gpu.memcpy_async(*w.buffers(dst, src), w.n1)

    records = [run(program, reading, CUDA_HMM.uncertain) for reading in (late, staged)]
    for record in records:
        assert record.front.consulted == ({"pageable_staged"} if matters else set())
    assert (records[0].everything != records[1].everything) == matters
    if matters:
        ((name, op),) = records[0].ops.items()
        assert (op.reads, records[0].calls[-1]) == (("H",), [f"issue {name}"])


ROWS: list[tuple[str, Callable[[World], object], Sequence[str] | Mapping[str, Sequence[str]]]] = [
    # --- R2.5: pinned ----------------------------------------------------------------------
    (
        "R2.5 a pinned source is read by the copy: writing it meanwhile is a race",
        lambda w: [w.gpu.memcpy_async(w.D, w.P, w.n1), w.gpu.write(w.P, 2)],
        ["D<-P reads P", "pending D<-P", "call: write P=2"],
    ),
    (
        "R2.5 many parts are one operation",
        lambda w: w.gpu.memcpy_async(w.DE, w.PP, w.n1),
        ["DE<-PP reads PP.b PP.a", "DE<-PP writes DE.b=PP.b DE.a=PP.a", "call: issue DE<-PP"],
    ),
    (
        "R2.5 a blocking stream's copy takes the NULL stream's edges",
        lambda w: [w.k("K1", w.N), w.gpu.memcpy_async(w.D, w.P, w.b1), w.k("K2", w.N)],
        ["D<-P after K1", "K2 after D<-P"],
    ),
    # --- R2.6, R2.7: pageable --------------------------------------------------------------
    (
        "R2.6 a pageable source may be written again on return; the copy may be in flight",
        lambda w: [w.k("K", w.n1), w.gpu.memcpy_async(w.D, w.G, w.n1), w.gpu.write(w.G, 2)],
        ["D<-G reads -", "D<-G writes D=[G]", "pending D<-G K", "D<-G after K"],
    ),
    (
        "R2.7 staged at the call, before earlier work of the stream",
        lambda w: [w.k("K", w.n1), w.gpu.memcpy_async(w.DD, w.GG, w.n1)],
        ["call: read GG.a GG.b, issue DD<-GG", "phases 1", "pending K"],
    ),
    (
        "R2.6 R2.7 a download to pageable memory: complete on return under HIP",
        lambda w: [w.k("K", w.n1), w.gpu.memcpy_async(w.G, w.D, w.n1), w.gpu.read(w.G)],
        {"cuda": ["pending G<-D K", "G<-D writes G=D"], "hip": ["done G<-D K", "G<-D writes G=D"]},
    ),
    (
        "R2.7 only this stream is waited for",
        lambda w: [w.k("K1", w.n1), w.k("K2", w.n2), w.gpu.memcpy_async(w.G, w.D, w.n1)],
        {"cuda": ["call: issue G<-D"], "hip": ["call: issue G<-D, await G<-D K1", "pending K2"]},
    ),
    (
        "R2.6 a download to pinned memory is not waited for",
        lambda w: [w.k("K", w.n1), w.gpu.memcpy_async(w.P, w.D, w.n1)],
        ["call: issue P<-D", "pending P<-D K"],
    ),
    # --- R2.8: between host memories -------------------------------------------------------
    (
        "R2.8 the host waits for this stream's work only",
        lambda w: [
            w.k("K1", w.n1, (), {w.P: 1}),
            w.k("K2", w.n2),
            w.gpu.memcpy_async(w.Q, w.P, w.n1),
        ],
        {
            "cuda": ["done K1 Q<-P", "pending K2", "Q<-P after K1"],
            "hip": ["done K1", "pending K2", "call: await K1, read P, write Q=[P]", "phases 2"],
        },
    ),
    (
        "R2.8 later work of any stream is ordered after it",
        lambda w: [w.k("K1", w.n1), w.gpu.memcpy_async(w.Q, w.G, w.n1), w.k("K2", w.n2)],
        {"cuda": ["K2 after Q<-G K1"], "hip": ["K2 after K1"]},
    ),
    (
        "R2.8 a blocking stream: the NULL stream's work too, as an operation there would",
        lambda w: [w.k("K1", w.N), w.k("K2", w.b2), w.gpu.memcpy_async(w.Q, w.P, w.b1)],
        {"cuda": ["done K1 Q<-P", "pending K2"], "hip": ["done K1", "pending K2"]},
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
