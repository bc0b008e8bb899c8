"""Rules of host waits: R1.6, R1.7, R3.6, and what the host sees and shows: R9.1, R9.2, R9.6."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    # The fixtures' types: test modules cannot import conftest.
    World = Any


# (rule and case, program, facts under both contracts or under each)
ROWS: list[tuple[str, Callable[[World], object], Sequence[str] | Mapping[str, Sequence[str]]]] = [
    # --- R1.6: synchronising streams and the device ----------------------------------------
    (
        "R1.6 a non-blocking stream: its own work only",
        lambda w: [w.k("K1", w.n1), w.k("K2", w.n2), w.k("K3", w.b1), w.n1.synchronize()],
        ["call: await K1", "phases 1", "pending K2 K3"],
    ),
    (
        "R1.6 a blocking stream: its own work, not the NULL stream's",
        lambda w: [w.k("K1", w.b1), w.k("K2", w.N), w.k("K3", w.b2), w.b1.synchronize()],
        ["call: await K1", "pending K2 K3"],
    ),
    (
        "R1.6 a blocking stream: NULL's work too where its own came later",
        lambda w: [w.k("K1", w.N), w.k("K2", w.b1), w.b1.synchronize()],
        ["done K1 K2"],
    ),
    (
        "R1.6 NULL: blocking streams and itself, not non-blocking ones",
        lambda w: [
            w.k("K1", w.N),
            w.k("K2", w.b1),
            w.k("K3", w.b2),
            w.k("K4", w.n1),
            w.N.synchronize(),
        ],
        {
            "cuda +U12": ["call: await K1 K2 K3", "pending K4"],
            "cuda -U12": ["call: await K1", "pending K2 K3 K4"],
            "hip": ["call: await K1 K2 K3", "pending K4", "consulted -"],
        },
    ),
    (
        "R1.6 NULL, itself idle",
        lambda w: [w.k("K1", w.b1), w.k("K2", w.n1), w.N.synchronize()],
        {
            "cuda +U12": ["done K1", "pending K2", "consulted U12"],
            "cuda -U12": ["call: -", "pending K1 K2", "consulted U12"],
            "hip": ["done K1", "pending K2"],
        },
    ),
    (
        "R1.6 synchronising NULL issues nothing there",
        lambda w: [w.k("K1", w.b1), w.gpu.query(w.N), w.N.synchronize(), w.k("K2", w.n1)],
        {"cuda +U12": ["K2 after K1"], "cuda -U12": ["K2 not after K1"], "hip": ["K2 after K1"]},
    ),
    (
        "R1.6 the device: every stream",
        lambda w: [
            w.k("K1", w.N),
            w.k("K2", w.b1),
            w.k("K3", w.n1),
            w.k("K4", w.n2),
            w.gpu.synchronize(),
        ],
        ["call: await K1 K2 K3 K4", "phases 1"],
    ),
    (
        "R1.6 the device: what was issued before only",
        lambda w: [w.k("K1", w.n1), w.gpu.synchronize(), w.k("K2", w.n1), w.k("K3", w.n2)],
        ["done K1", "pending K2 K3", "K3 after K1"],
    ),
    (
        "R1.6 an idle stream",
        lambda w: [w.k("K1", w.n1), w.n2.synchronize(), w.b1.synchronize(), w.N.synchronize()],
        ["call: -", "pending K1"],
    ),
    (
        "R1.6 what the stream waited for is waited for",
        lambda w: [w.k("K1", w.n1), w.e1.record(w.n1), w.n2.wait(w.e1), w.n2.synchronize()],
        ["done K1"],
    ),
    (
        "R1.6 after a wait everything issued later is ordered, on any stream",
        lambda w: [w.k("K1", w.n1), w.n1.synchronize(), w.k("K2", w.n2), w.k("K3", w.N)],
        ["K2 after K1", "K3 after K1"],
    ),
    # --- R1.7: destroying a stream ---------------------------------------------------------
    (
        "R1.7 CUDA returns at once, HIP waits for the stream's work",
        lambda w: [w.k("K1", w.n1), w.k("K2", w.n2), w.n1.destroy()],
        {"cuda": ["call: -", "pending K1 K2"], "hip": ["call: await K1", "pending K2"]},
    ),
    (
        "R1.7 a blocking stream: not the NULL stream's work",
        lambda w: [w.k("K1", w.b1), w.k("K2", w.N), w.b1.destroy()],
        {"cuda": ["call: -", "pending K1 K2"], "hip": ["call: await K1", "pending K2"]},
    ),
    (
        "R1.7 an idle stream",
        lambda w: [w.k("K1", w.n1), w.n2.destroy()],
        ["call: -", "pending K1"],
    ),
    (
        "R1.7 its work runs on and the device is not idle before",
        lambda w: [w.k("K1", w.n1), w.n1.destroy(), w.gpu.synchronize()],
        {"cuda": ["call: await K1", "done K1"], "hip": ["call: -", "done K1"]},
    ),
    (
        "R1.7 NULL waits for what a destroyed blocking stream was given",
        lambda w: [w.k("K1", w.b1), w.b1.destroy(), w.k("K2", w.N)],
        {"cuda": ["K2 after K1", "pending K1"], "hip": ["K2 after K1", "done K1"]},
    ),
    # --- R3.6, R9.6: events and queries ----------------------------------------------------
    (
        "R3.6 an event: the captured work",
        lambda w: [w.k("K1", w.n1), w.e1.record(w.n1), w.k("K2", w.n1), w.e1.synchronize()],
        ["call: await K1", "phases 1", "pending K2"],
    ),
    (
        "R3.6 an event's query that answers true",
        lambda w: [w.k("K1", w.n1), w.e1.record(w.n1), w.k("K2", w.n1), w.e1.query()],
        ["call: await K1", "pending K2"],
    ),
    (
        "R3.6 poll is the loop around it",
        lambda w: [w.k("K1", w.n1), w.e1.record(w.n1), w.k("K2", w.n1), w.e1.poll()],
        ["call: await K1", "pending K2"],
    ),
    (
        "R9.6 a stream's query that answers true",
        lambda w: [w.k("K1", w.n1), w.k("K2", w.n2), w.n1.query()],
        ["call: await K1", "pending K2"],
    ),
    (
        "R9.6 a blocking stream's",
        lambda w: [w.k("K1", w.b1), w.k("K2", w.N), w.b1.query()],
        ["call: await K1", "pending K2"],
    ),
    (
        "R9.6 the NULL stream's",
        lambda w: [w.k("K1", w.N), w.k("K2", w.b1), w.k("K3", w.n1), w.N.query()],
        {
            "cuda +U12": ["call: await K1 K2", "pending K3"],
            "cuda -U12": ["call: await K1", "pending K2 K3"],
            "hip": ["call: await K1 K2", "pending K3"],
        },
    ),
    (
        "R3.6 a query that answers false tells nothing",
        lambda w: [
            w.k("K1", w.n1),
            w.e1.record(w.n1),
            setattr(w.rec, "answer", False),
            w.e1.query(),
            w.n1.query(),
        ],
        ["call: -", "pending K1"],
    ),
    # --- R9.1, R9.2: the host's own accesses -----------------------------------------------
    (
        "R9.1 a store, now, in every part",
        lambda w: [w.gpu.write(w.P, 1), w.gpu.write(w.PP, 2)],
        ["call: write PP.a=2 PP.b=2", "phases 1"],
    ),
    (
        "R9.1 a store into one part, pageable or managed memory",
        lambda w: [w.k("K1", w.n1), w.gpu.write(w.GG.b, 1), w.gpu.write(w.M, 2)],
        ["call: write M=2", "pending K1"],
    ),
    (
        "R9.2 a load does not wait",
        lambda w: [w.gpu.memcpy_async(w.P, w.D, w.n1), w.gpu.read(w.P, expect=1)],
        ["call: read P=1", "pending P<-D"],
    ),
    (
        "R9.2 a load without expectation, of every part",
        lambda w: [w.gpu.memcpy_async(w.PP, w.DD, w.n1), w.n1.synchronize(), w.gpu.read(w.PP)],
        ["call: read PP.a PP.b", "done PP<-DD"],
    ),
    (
        "R9.5 a device-side wait tells the host nothing",
        lambda w: [w.k("K1", w.n1), w.e1.record(w.n1), w.n2.wait(w.e1), w.gpu.read(w.P)],
        ["pending K1", "call: read P"],
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


def test_results(world: World) -> None:
    """`query` returns the answer, `read` the version expected; nothing else returns anything."""
    world.k("K", world.n1)
    assert world.n1.query() is True
    assert world.gpu.read(world.P, expect=5) == 5
    assert "data read from P" in repr(world.gpu.read(world.P))
    world.rec.answer = False
    assert world.n1.query() is False


def test_nested_reasons(world: World) -> None:
    """Inside two `sync_allowed`, leaving the inner one returns to the outer one's reason."""
    with world.gpu.sync_allowed("outer"), world.gpu.sync_allowed("inner"):
        pass
    assert [why for _mark, why in world.rec.marks] == ["outer", "inner", "outer", None]
