"""Rules of blocking copies: R2.1 to R2.4, R2.8, R2.11; all pairs of memory kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder.model.contract import CUDA, HIP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    # The fixtures' types: test modules cannot import conftest.
    World = Any
    Recorder = Any

D, P, G, M = "device", "pinned", "pageable", "managed"

# What a copy does; K is earlier work that the NULL stream waits for, C the copy of X to Y.
NO_WAIT = "issue C"
WAIT = "issue C, await C K"
STAGED = "await K, read X, issue C"  # CUDA: a stream synchronisation, the staging, and no more
STAGED_WAIT = "await K, read X, issue C, await C"
CALL_STAGED_WAIT = "read X, issue C, await C K"  # HIP: staged at the call
BY_CPU = "await K, read X, write Y=[X]"

# (destination, source): CUDA breaking, CUDA keeping its uncertain promise about managed memory,
# both with the NULL stream's wait covering K's blocking stream (U12); HIP
PAIRS = {
    (D, D): (NO_WAIT, NO_WAIT, NO_WAIT),
    (D, P): (WAIT, WAIT, WAIT),
    (D, G): (STAGED, STAGED, CALL_STAGED_WAIT),
    (D, M): (NO_WAIT, WAIT, WAIT),
    (P, D): (WAIT, WAIT, WAIT),
    (P, P): (WAIT, WAIT, BY_CPU),
    (P, G): (WAIT, WAIT, BY_CPU),
    (P, M): (WAIT, WAIT, WAIT),
    (G, D): (WAIT, WAIT, WAIT),
    (G, P): (WAIT, WAIT, BY_CPU),
    (G, G): (WAIT, WAIT, BY_CPU),
    (G, M): (WAIT, WAIT, WAIT),
    (M, D): (NO_WAIT, WAIT, WAIT),
    (M, P): (WAIT, WAIT, WAIT),
    (M, G): (STAGED, STAGED_WAIT, CALL_STAGED_WAIT),
    (M, M): (NO_WAIT, WAIT, WAIT),
}


@pytest.mark.parametrize(("dst", "src"), PAIRS)
def test_pair(run: Callable[..., Recorder], dst: str, src: str) -> None:
    """R2.1 to R2.3, R2.8: who reads the source when, and what is done when the call returns."""
    names: list[str] = []

    def program(w: World) -> None:
        target, source = w.buffers(dst, src)
        names[:] = target.name, source.name
        w.k("K", w.b1)
        w.gpu.memcpy(target, source)

    covers = CUDA._replace(null_sync_covers_blocking=True).readings(["managed_copy_awaits"])
    bare = CUDA.readings(["managed_copy_awaits"])
    of_cuda, of_hip = PAIRS[dst, src][:2], PAIRS[dst, src][2]
    # U12: without it the synchronisation before the staging is of the NULL stream alone, here idle.
    uncovered = [
        steps.replace("await K, read X", "read X").replace("await C", "await C K")
        if "read X" in steps
        else steps
        for steps in of_cuda
    ]
    cases = [*zip(covers, of_cuda, strict=True), *zip(bare, uncovered, strict=True)]
    for reading, steps in [*cases, (HIP.readings()[0], of_hip)]:
        record = run(program, reading)
        y, x = names
        copy = f"{y}<-{x}"
        # The awaited operations are listed in the order of their names.
        awaited = " ".join(sorted([copy, "K"]))
        expected = [
            step.replace("C K", awaited) if "C K" in step else step.replace("C", copy)
            for step in steps.replace("X", x).replace("Y", y).split(", ")
        ]
        assert record.calls[-1] == expected, reading
        if "issue C" in steps:
            staged = "read X" in steps
            op = record.ops[copy]
            assert op == (
                "NULL",
                {"K"},
                () if staged else (x,),
                (f"{y}=[{x}]" if staged else f"{y}={x}",),
            )


@pytest.mark.parametrize(("dst", "src"), PAIRS)
def test_uncertain(run: Callable[..., Recorder], dst: str, src: str) -> None:
    """U5, U12: CUDA's open promises are noted as consulted exactly where they matter."""
    weak, strong, _hip = PAIRS[dst, src]
    expected = {"managed_copy_awaits"} if weak != strong else set()
    expected |= {"null_sync_covers_blocking"} if STAGED in weak else set()
    for reading in CUDA.readings(["managed_copy_awaits", "null_sync_covers_blocking"]):
        record = run(lambda w: w.gpu.memcpy(*w.buffers(dst, src)), reading, CUDA.uncertain)
        assert record.front.consulted == expected
    record = run(lambda w: w.gpu.memcpy(*w.buffers(dst, src)), HIP, HIP.uncertain)
    assert record.front.consulted == set()


def uploads(w: World) -> None:
    """Five blocking pageable uploads in a row, as AITER's planner issues them."""
    w.k("K1", w.n1, {w.D: 0})
    for _ in range(5):
        w.gpu.memcpy(w.D, w.G)


# The contracts differ where a row has a mapping: the program, then facts under both or under each.
ROWS: list[tuple[str, Callable[[World], object], Sequence[str] | Mapping[str, Sequence[str]]]] = [
    # --- R2.1: an operation of the NULL stream ---------------------------------------------
    (
        "R2.1 after blocking streams' work, before their later work",
        lambda w: [w.k("K1", w.b1), w.gpu.memcpy(w.P, w.D), w.k("K2", w.b2), w.k("K3", w.n1)],
        ["P<-D on NULL", "P<-D after K1", "K2 after P<-D", "done K1 P<-D", "K3 after P<-D"],
    ),
    (
        "R2.1 never ordered after a non-blocking stream",
        lambda w: [w.k("K1", w.n1), w.gpu.memcpy(w.P, w.D)],
        ["P<-D not after K1", "done P<-D", "pending K1", "call: issue P<-D, await P<-D"],
    ),
    (
        "R2.1 nor before one: device to device, the host does not wait",
        lambda w: [w.k("K1", w.n1), w.gpu.memcpy(w.D, w.E), w.k("K2", w.n1)],
        ["D<-E not after K1", "K2 not after D<-E", "pending D<-E"],
    ),
    (
        "R2.11 managed memory: the host waits for the copy, not for a non-blocking stream",
        lambda w: [w.k("K1", w.n1, (), {w.M: 1}), w.gpu.memcpy(w.P, w.M)],
        ["done P<-M", "pending K1", "P<-M not after K1"],
    ),
    # --- R2.2 against R2.3 -----------------------------------------------------------------
    (
        "R2.3 a kernel on a non-blocking stream after a pageable upload",
        lambda w: [w.gpu.memcpy(w.D, w.G), w.k("K", w.n1, {w.D: 1})],
        {"cuda": ["K not after D<-G", "pending D<-G"], "hip": ["K after D<-G", "done D<-G"]},
    ),
    (
        "R2.2 a kernel on a blocking stream comes after it",
        lambda w: [w.gpu.memcpy(w.D, w.G), w.k("K", w.b1, {w.D: 1})],
        {"cuda": ["K after D<-G", "pending D<-G"], "hip": ["K after D<-G", "done D<-G"]},
    ),
    (
        "R2.2 a pinned upload is done",
        lambda w: [w.gpu.memcpy(w.D, w.P), w.k("K", w.n1, {w.D: 1})],
        ["K after D<-P", "done D<-P", "D<-P reads P"],
    ),
    (
        "R2.2 of five pageable uploads only the last can be in flight",
        uploads,
        {
            "cuda": [
                "done D<-G D<-G#2 D<-G#3 D<-G#4",
                "pending D<-G#5 K1",
                "call: await D<-G#4, read G, issue D<-G#5",
                "phases 2",
            ],
            "hip": [
                "done D<-G D<-G#2 D<-G#3 D<-G#4 D<-G#5",
                "pending K1",
                "call: read G, issue D<-G#5, await D<-G#5",
                "phases 1",
            ],
        },
    ),
    (
        "R2.2 the last one lands before any later stream-less copy returns",
        lambda w: [w.gpu.memcpy(w.D, w.G), w.gpu.memcpy(w.P, w.E)],
        {
            "cuda": ["call: issue P<-E, await D<-G P<-E"],
            "hip": ["call: issue P<-E, await P<-E", "done D<-G"],
        },
    ),
    (
        "R2.2 and before the NULL stream is synchronised",
        lambda w: [w.gpu.memcpy(w.D, w.G), w.N.synchronize(), w.k("K", w.n1)],
        {
            "cuda": ["call: issue K", "K after D<-G", "done D<-G"],
            "hip": ["call: issue K", "K after D<-G", "done D<-G"],
        },
    ),
    (
        "R2.2 the source may be written again at once",
        lambda w: [w.gpu.memcpy(w.D, w.G), w.gpu.write(w.G, 2)],
        {
            "cuda": ["D<-G reads -", "D<-G writes D=[G]"],
            "hip": ["D<-G reads -", "D<-G writes D=[G]"],
        },
    ),
    # --- R2.4 ------------------------------------------------------------------------------
    (
        "R2.4 nothing orders the upload after a kernel in flight on a non-blocking stream",
        lambda w: [w.k("K", w.n1, {w.D: 0}), w.gpu.memcpy(w.D, w.G)],
        {
            "cuda": ["D<-G not after K", "K not after D<-G", "pending K D<-G"],
            "hip": ["D<-G not after K", "K not after D<-G", "pending K", "done D<-G"],
        },
    ),
    # --- R2.8 ------------------------------------------------------------------------------
    (
        "R2.8 between host memories HIP's CPU copies, in the order of the target's parts",
        lambda w: [w.k("K", w.n1), w.gpu.memcpy(w.HH, w.PP)],
        {
            "cuda": [
                "HH<-PP writes HH.b=PP.b HH.a=PP.a",
                "call: issue HH<-PP, await HH<-PP",
                "pending K",
            ],
            "hip": ["call: read PP.b PP.a, write HH.b=[PP.b] HH.a=[PP.a]", "phases 2", "pending K"],
        },
    ),
    # --- many parts ------------------------------------------------------------------------
    (
        "R2.* a copy of many parts is one operation, one pair a part",
        lambda w: w.gpu.memcpy(w.DD, w.PP),
        ["DD<-PP reads PP.a PP.b", "DD<-PP writes DD.a=PP.a DD.b=PP.b", "done DD<-PP"],
    ),
    (
        "R2.* parts are paired by name, not by place",
        lambda w: w.gpu.memcpy(w.DE, w.DD),
        ["DE<-DD reads DD.b DD.a", "DE<-DD writes DE.b=DD.b DE.a=DD.a", "pending DE<-DD"],
    ),
    (
        "R2.* a single part to one of another name",
        lambda w: w.gpu.memcpy(w.P, w.DE.b),
        ["P<-DE.b reads DE.b", "P<-DE.b writes P=DE.b"],
    ),
    (
        "R2.2 every part of a pageable source is staged",
        lambda w: w.gpu.memcpy(w.DE, w.GG),
        {
            "cuda": ["call: read GG.b GG.a, issue DE<-GG", "DE<-GG writes DE.b=[GG.b] DE.a=[GG.a]"],
            "hip": ["call: read GG.b GG.a, issue DE<-GG, await DE<-GG", "DE<-GG reads -"],
        },
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
