"""Rules of host functions (R8.1), cells (R8.2, R8.3), agents, and of a thread's stream (R1.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    # The fixtures' types: test modules cannot import conftest.
    World = Any


# (rule and case, program, facts under both contracts or under each)
ROWS: list[tuple[str, Callable[[World], object], Sequence[str] | Mapping[str, Sequence[str]]]] = [
    # --- R8.1: host functions --------------------------------------------------------------
    (
        "R8.1 after earlier work of the stream, before its later work; the host does not wait",
        lambda w: [
            w.k("K1", w.n1),
            w.gpu.host_func("f", w.n1, {w.P: 1, w.G: 2}, {w.H: 3, w.M: 4}),
            w.k("K2", w.n1),
            w.k("K3", w.n2),
        ],
        [
            "f after K1",
            "K2 after f",
            "K3 not after f",
            "f on n1",
            "f reads P=1 G=2",
            "f writes H=3 M=4",
            "pending f",
        ],
    ),
    (
        "R8.1 of two streams unordered",
        lambda w: [w.gpu.host_func("f", w.n1), w.gpu.host_func("g", w.n2)],
        ["f not after g", "g not after f", "call: issue g"],
    ),
    (
        "R8.1 R1.3 on the NULL stream, and on a blocking one",
        lambda w: [w.k("K1", w.b1), w.gpu.host_func("f", w.N), w.gpu.host_func("g", w.b2)],
        ["f after K1", "g after f"],
    ),
    (
        "R8.1 it may copy: what a region then holds is read too",
        lambda w: w.gpu.host_func("f", w.n1, (), {w.GG: w.PP}),
        ["f reads PP.a PP.b", "f writes GG.a=PP.a GG.b=PP.b"],
    ),
    (
        "R2.6 R8.1 memory that a host function fills is staged at the call, before it has run",
        lambda w: [w.gpu.host_func("f", w.n1, (), {w.G: 1}), w.gpu.memcpy_async(w.D, w.G, w.n1)],
        ["call: read G, issue D<-G", "D<-G after f", "pending f"],
    ),
    # --- R8.2, R8.3: cells -----------------------------------------------------------------
    (
        "R8.2 a store and a wait are operations of their streams",
        lambda w: [
            f := w.gpu.cell("F"),
            w.k("K1", w.n1),
            w.gpu.write_value(w.n1, f, 1),
            w.k("K2", w.n1),
            w.k("K3", w.n2),
            w.gpu.wait_value(w.n2, f, 1),
            w.k("K4", w.n2),
        ],
        [
            "F=1 after K1",
            "K2 after F=1",
            "F>=1 after K3",
            "K4 after F>=1",
            "F>=1 not after F=1",
            "F=1 on n1",
            "F>=1 on n2",
            "F=1 writes -",
            "F>=1 reads -",
            "pending F=1 F>=1",
        ],
    ),
    (
        "R8.2 R1.3 on blocking streams and NULL as any operation",
        lambda w: [
            f := w.gpu.cell("F"),
            w.k("K1", w.N),
            w.gpu.write_value(w.b1, f, 1),
            w.gpu.wait_value(w.N, f, 1),
            w.k("K2", w.b2),
        ],
        ["F=1 after K1", "F>=1 after F=1", "K2 after F>=1"],
    ),
    (
        "R8.2 an event and a stream's wait cover them",
        lambda w: [
            f := w.gpu.cell("F"),
            w.gpu.wait_value(w.n1, f, 1),
            w.e1.record(w.n1),
            w.gpu.write_value(w.n1, f, 2),
            w.e1.synchronize(),
            w.gpu.synchronize(),
        ],
        ["call: await F=2", "done F>=1 F=2"],
    ),
    (
        "R8.2 the host's own store, now: no stream is asked",
        lambda w: [f := w.gpu.cell("F"), w.k("K", w.n1), f.set(3)],
        ["call: set F=3", "pending K", "phases 1"],
    ),
    (
        "R8.2 values may be negative",
        lambda w: [f := w.gpu.cell("F"), w.gpu.write_value(w.n1, f, -1)],
        ["call: issue F=-1"],
    ),
    # --- agents ----------------------------------------------------------------------------
    (
        "agents: each post begins now, ordered with no stream and no other post",
        lambda w: [
            a := w.gpu.agent("nic"),
            w.k("K1", w.n1),
            w.k("K2", w.N),
            a.write(w.DD, 7),
            a.read(w.P, expect=1),
        ],
        [
            "nic not after K1 K2",
            "nic#2 not after nic",
            "nic writes DD.a=7 DD.b=7",
            "nic reads -",
            "nic#2 reads P=1",
            "nic#2 writes -",
            "pending nic nic#2",
            "call: issue nic#2",
        ],
    ),
    (
        "agents: the event says when a post is done, to the host and to streams",
        lambda w: [
            a := w.gpu.agent("nic"),
            done := a.write(w.D, 7),
            a.read(w.E),
            w.n1.wait(done),
            w.k("K1", w.n1),
            w.k("K2", w.n2),
            done.synchronize(),
            w.k("K3", w.n2),
        ],
        [
            "K1 after nic",
            "K2 not after nic",
            "K1 not after nic#2",
            "done nic",
            "pending nic#2",
            "K3 after nic",
        ],
    ),
    (
        "agents: after what the host had waited for, and no wait for a device covers them",
        lambda w: [
            a := w.gpu.agent("nic"),
            w.k("K", w.n1),
            w.n1.synchronize(),
            a.read(w.D),
            w.gpu.synchronize(),
        ],
        ["nic after K", "pending nic", "call: -"],
    ),
    # --- R1.5: the per-thread stream -------------------------------------------------------
    (
        "R1.5 each host thread has one of its own; they are blocking and unordered",
        lambda w: [
            w.k("K1", w.gpu.per_thread_stream),
            w.k("K2", w.gpu.per_thread_stream),
            setattr(w.rec, "thread", 1),
            w.k("K3", w.gpu.per_thread_stream),
            w.k("K4", w.N),
            w.k("K5", w.gpu.per_thread_stream),
            setattr(w.rec, "thread", 0),
            w.k("K6", w.gpu.per_thread_stream),
        ],
        [
            "K2 after K1",
            "K3 not after K1 K2",
            "K4 after K1 K2 K3",
            "K5 after K4",
            "K6 after K4",
            "K6 not after K5",
            "K1 on per-thread",
            "K3 on per-thread1",
        ],
    ),
    (
        "R1.5 it is not the NULL stream: its wait is its own",
        lambda w: [w.k("K1", w.N), w.k("K2", w.b1), w.gpu.per_thread_stream.synchronize()],
        ["call: -", "pending K1 K2"],
    ),
    (
        "R1.5 a wait for NULL covers it as any blocking stream",
        lambda w: [w.k("K1", w.gpu.per_thread_stream), w.N.synchronize()],
        {"cuda +U12": ["done K1"], "cuda -U12": ["pending K1"], "hip": ["done K1"]},
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


def test_one_stream_a_thread(world: World) -> None:
    """R1.5: asked for again, it is the same stream."""
    first = world.gpu.per_thread_stream
    assert world.gpu.per_thread_stream is first
    assert (first.blocking, first.is_null) == (True, False)
    world.rec.thread = 1
    assert world.gpu.per_thread_stream is not first
