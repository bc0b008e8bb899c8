"""Rules of events: R3.*, and the edges that a record takes (R1.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    # The fixtures' types: test modules cannot import conftest.
    World = Any


# (rule and case, program, facts under both contracts or under each)
ROWS: list[tuple[str, Callable[[World], object], Sequence[str] | Mapping[str, Sequence[str]]]] = [
    # --- R3.1: a record is a snapshot ------------------------------------------------------
    (
        "R3.1 a record captures what was issued before it",
        lambda w: [w.k("K1", w.n1), w.e1.record(w.n1), w.k("K2", w.n1), w.e1.synchronize()],
        ["done K1", "pending K2", "call: await K1"],
    ),
    (
        "R3.1 later work of the stream is not captured",
        lambda w: [w.e1.record(w.n1), w.k("K1", w.n1), w.e1.synchronize()],
        ["pending K1", "call: -"],
    ),
    (
        "R3.1 neither record nor wait makes the host wait or issues anything",
        lambda w: [w.k("K1", w.n1), w.e1.record(w.n1)],
        ["call: -", "phases 1", "pending K1"],
    ),
    (
        "R3.1 a record on NULL captures the blocking streams",
        lambda w: [
            w.k("K1", w.b1),
            w.k("K2", w.n1),
            w.k("K3", w.N),
            w.e1.record(w.N),
            w.e1.synchronize(),
        ],
        ["done K1 K3", "pending K2"],
    ),
    (
        "R3.1 a record on NULL captures them without any work of NULL's own",
        lambda w: [w.k("K1", w.b1), w.e1.record(w.N), w.n1.wait(w.e1), w.k("K2", w.n1)],
        ["K2 after K1"],
    ),
    (
        "R3.1 a record captures what its stream waited for",
        lambda w: [
            w.k("K1", w.n1),
            w.e1.record(w.n1),
            w.n2.wait(w.e1),
            w.e2.record(w.n2),
            w.e2.synchronize(),
        ],
        ["done K1"],
    ),
    # --- R1.3: a record on a blocking stream and the NULL stream ---------------------------
    (
        "R1.3 a record on a blocking stream takes the NULL stream's edge under HIP",
        lambda w: [w.k("K1", w.N), w.e1.record(w.b1), w.e1.synchronize()],
        {"cuda": ["pending K1"], "hip": ["done K1"]},
    ),
    (
        "R1.3 and passes it on",
        lambda w: [w.k("K1", w.N), w.e1.record(w.b1), w.n1.wait(w.e1), w.k("K2", w.n1)],
        {"cuda": ["K2 not after K1"], "hip": ["K2 after K1"]},
    ),
    (
        "R1.3 it is in the stream, so the stream is not idle before NULL is",
        lambda w: [w.k("K1", w.N), w.e1.record(w.b1), w.b1.synchronize()],
        {"cuda": ["pending K1"], "hip": ["done K1"]},
    ),
    (
        "R1.3 a record on a non-blocking stream does not",
        lambda w: [w.k("K1", w.N), w.k("K2", w.b1), w.e1.record(w.n1), w.e1.synchronize()],
        ["pending K1 K2"],
    ),
    (
        "R1.3 after work of its own a blocking stream has the edge anyway",
        lambda w: [w.k("K1", w.N), w.k("K2", w.b1), w.e1.record(w.b1), w.e1.synchronize()],
        ["done K1 K2"],
    ),
    # --- R3.2, R3.3: a wait binds at its call, a record overwrites -------------------------
    (
        "R3.2 a wait keeps the record that it found",
        lambda w: [
            w.k("K1", w.n1),
            w.e1.record(w.n1),
            w.n2.wait(w.e1),
            w.k("K2", w.n1),
            w.e1.record(w.n1),
            w.k("K3", w.n2),
        ],
        ["K3 after K1", "K3 not after K2"],
    ),
    (
        "R3.2 a wait before the record is no wait",
        lambda w: [w.k("K1", w.n1), w.n2.wait(w.e1), w.e1.record(w.n1), w.k("K2", w.n2)],
        ["K2 not after K1"],
    ),
    (
        "R3.3 the host waits for the latest record",
        lambda w: [
            w.k("K1", w.n1),
            w.e1.record(w.n1),
            w.k("K2", w.n1),
            w.e1.record(w.n1),
            w.e1.synchronize(),
        ],
        ["done K1 K2"],
    ),
    (
        "R3.3 recorded again on another stream: the older snapshot is forgotten",
        lambda w: [
            w.k("K1", w.n1),
            w.e1.record(w.n1),
            w.k("K2", w.n2),
            w.e1.record(w.n2),
            w.b1.wait(w.e1),
            w.k("K3", w.b1),
            w.e1.synchronize(),
        ],
        ["K3 after K2", "K3 not after K1", "done K2", "pending K1"],
    ),
    (
        "R3.3 recorded again on an idle stream: complete",
        lambda w: [w.k("K1", w.n1), w.e1.record(w.n1), w.e1.record(w.n2), w.e1.synchronize()],
        ["pending K1", "call: -"],
    ),
    (
        "R3.7 two records in a row are one",
        lambda w: [
            w.k("K1", w.n1),
            w.e1.record(w.n1),
            w.e1.record(w.n1),
            w.n2.wait(w.e1),
            w.k("K2", w.n2),
        ],
        ["K2 after K1"],
    ),
    # --- R3.4: never recorded --------------------------------------------------------------
    (
        "R3.4 a wait for an event never recorded does nothing",
        lambda w: [w.k("K1", w.n1), w.n2.wait(w.e1), w.k("K2", w.n2)],
        ["K2 not after K1"],
    ),
    (
        "R3.4 synchronising one returns at once",
        lambda w: [w.k("K1", w.n1), w.e1.synchronize()],
        ["call: -", "pending K1"],
    ),
    (
        "R3.4 so do query and poll",
        lambda w: [w.k("K1", w.n1), w.gpu.query(w.e1), w.e1.poll()],
        ["call: -", "pending K1"],
    ),
    (
        "R3.9 an event made later is complete",
        lambda w: [w.k("K1", w.n1), w.n2.wait(w.gpu.event("new")), w.k("K2", w.n2)],
        ["K2 not after K1"],
    ),
    # --- R3.5: the wait edge ---------------------------------------------------------------
    (
        "R3.5 later operations start after the captured work, earlier ones do not",
        lambda w: [
            w.k("K1", w.n1),
            w.e1.record(w.n1),
            w.k("K2", w.n2),
            w.n2.wait(w.e1),
            w.k("K3", w.n2),
            w.k("K4", w.n2),
        ],
        ["K2 not after K1", "K3 after K1 K2", "K4 after K1", "K1 not after K2", "pending K1"],
    ),
    (
        "R3.5 one way only: the recording stream runs on",
        lambda w: [
            w.k("K1", w.n1),
            w.e1.record(w.n1),
            w.n2.wait(w.e1),
            w.k("K2", w.n2),
            w.k("K3", w.n1),
        ],
        ["K3 not after K2", "K2 not after K3"],
    ),
    (
        "R3.5 waits add up",
        lambda w: [
            w.k("K1", w.n1),
            w.k("K2", w.b1),
            w.e1.record(w.n1),
            w.e2.record(w.b1),
            w.n2.wait(w.e1),
            w.n2.wait(w.e2),
            w.k("K3", w.n2),
        ],
        ["K3 after K1 K2"],
    ),
    (
        "R3.5 transitive over streams",
        lambda w: [
            w.k("K1", w.n1),
            w.e1.record(w.n1),
            w.n2.wait(w.e1),
            w.k("K2", w.n2),
            w.e2.record(w.n2),
            w.b1.wait(w.e2),
            w.k("K3", w.b1),
            w.k("K4", w.N),
        ],
        ["K3 after K2 K1", "K4 after K3 K2 K1"],
    ),
    (
        "R3.5 a wait on the recording stream adds nothing",
        lambda w: [w.k("K1", w.n1), w.e1.record(w.n1), w.n1.wait(w.e1), w.k("K2", w.n1)],
        ["K2 after K1", "K1 not after K2"],
    ),
    (
        "R3.5 a wait on a non-blocking stream leaves the NULL stream alone",
        lambda w: [
            w.k("K1", w.n1),
            w.e1.record(w.n1),
            w.n2.wait(w.e1),
            w.k("K2", w.N),
            w.k("K3", w.b1),
        ],
        ["K2 not after K1", "K3 not after K1"],
    ),
    (
        "R3.5 the snapshot outlives a destroyed stream",
        lambda w: [
            w.k("K1", w.n1),
            w.e1.record(w.n1),
            w.n1.destroy(),
            w.n2.wait(w.e1),
            w.k("K2", w.n2),
        ],
        {"cuda": ["K2 after K1", "pending K1"], "hip": ["K2 after K1", "done K1"]},
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
