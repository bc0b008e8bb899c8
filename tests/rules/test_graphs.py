"""Rules of graphs: R5.1, R5.2, capture (R5.5); nodes carry the names of the calls they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from streamorder.model.objects import Graph

    # The fixtures' types: test modules cannot import conftest.
    World = Any


def chain(w: World) -> Graph:
    """Two kernels in a row on n1: A, then B."""
    return w.captured(lambda: w.k("A", w.n1), lambda: w.k("B", w.n1))


def fork(w: World, *, join: bool = True) -> Graph:
    """A on n1, then B on n1 beside C on n2; D after both where they join."""
    return w.captured(
        lambda: w.k("A", w.n1),
        lambda: w.e1.record(w.n1),
        lambda: w.n2.wait(w.e1),
        lambda: w.k("B", w.n1),
        lambda: w.k("C", w.n2),
        lambda: w.e2.record(w.n2),
        lambda: w.n1.wait(w.e2),
        lambda: w.k("D", w.n1) if join else None,
    )


def lone(w: World, **accesses: Any) -> Graph:
    """One kernel, on n1."""
    return w.captured(lambda: w.k("A", w.n1, **accesses))


# (rule and case, program, facts under both contracts or under each)
ROWS: list[tuple[str, Callable[[World], object], Sequence[str] | Mapping[str, Sequence[str]]]] = [
    # --- R5.1: a launch in its stream ------------------------------------------------------
    (
        "R5.1 after earlier work of the stream, before its later work, and of no other stream",
        lambda w: [
            g := chain(w),
            w.k("K0", w.n2),
            w.k("K1", w.n1),
            g.launch(w.n1),
            w.k("K2", w.n1),
            w.k("K3", w.n2),
        ],
        [
            "A after K1",
            "A not after K0",
            "B after A",
            "K2 after A B",
            "K3 not after A",
            "pending A",
        ],
    ),
    (
        "R5.1 the stream of the launch counts, not the captured one",
        lambda w: [g := chain(w), w.k("K1", w.n1), g.launch(w.n2), w.k("K2", w.n1)],
        ["A not after K1", "K2 not after A B", "A on n2 (g)", "call: issue K2"],
    ),
    (
        "R5.1 a launch does not wait",
        lambda w: [g := chain(w), g.launch(w.n1)],
        ["call: issue A, issue B", "phases 1", "pending A B"],
    ),
    (
        "R5.1 two launches in one stream",
        lambda w: [g := chain(w), g.launch(w.n1), g.launch(w.n1)],
        ["A#2 after A B", "B#2 after A#2", "consulted -"],
    ),
    (
        "R5.1 one graph from two streams: CUDA runs one instance at a time",
        lambda w: [g := chain(w), g.launch(w.n1), g.launch(w.n2)],
        {"cuda": ["A#2 after A B"], "hip": ["A#2 not after A B", "B#2 not after A B"]},
    ),
    (
        "R5.1 CUDA: and what its stream had waited for comes along, whatever ran between",
        lambda w: [
            g := chain(w),
            w.k("K1", w.n1),
            g.launch(w.n1),
            w.k("K2", w.n1),
            g.launch(w.n2),
            g.launch(w.b1),
        ],
        {
            "cuda": ["A#2 after K1 B", "A#2 not after K2", "A#3 after B#2 B"],
            "hip": ["A#2 not after K1 B", "A#3 not after B#2 B"],
        },
    ),
    (
        "R5.1 two graphs are two, though captured from one stream",
        lambda w: [g := chain(w), h := lone(w), g.launch(w.n1), h.launch(w.n2)],
        ["A#2 not after A B"],
    ),
    (
        "R1.3 a launch on a blocking stream takes the NULL stream's edges both ways",
        lambda w: [g := chain(w), w.k("K1", w.N), g.launch(w.b1), w.k("K2", w.N), w.k("K3", w.b2)],
        ["A after K1", "K2 after B", "K3 after A B K2"],
    ),
    (
        "R1.3 a launch on the NULL stream gathers the blocking streams",
        lambda w: [g := chain(w), w.k("K1", w.b1), w.k("K2", w.n1), g.launch(w.N), w.k("K3", w.b2)],
        ["A after K1", "A not after K2", "K3 after B"],
    ),
    (
        "R5.2 an event recorded after a launch, and waits for the stream, cover every branch",
        lambda w: [
            g := fork(w, join=False),
            g.launch(w.n1),
            w.e1.record(w.n1),
            w.e1.synchronize(),
        ],
        ["done A B C"],
    ),
    # --- R5.2: only edges order nodes ------------------------------------------------------
    (
        "R5.2 branches are unordered, their join is after both",
        lambda w: [g := fork(w), w.k("K1", w.n1), g.launch(w.n1), w.k("K2", w.n1)],
        [
            "A after K1",
            "B after A",
            "C after A",
            "B not after C",
            "C not after B",
            "D after B C",
            "K2 after D",
        ],
    ),
    (
        "R5.2 the same branch again, launched twice, in its stream's order",
        lambda w: [g := fork(w), g.launch(w.n1), g.launch(w.n1)],
        ["A#2 after D C", "C#2 after A#2", "C#2 not after B#2", "B#2 not after C#2"],
    ),
    (
        "R5.5 an event recorded before any node joins a stream without an edge",
        lambda w: [
            g := w.captured(
                lambda: w.e1.record(w.n1),
                lambda: w.n2.wait(w.e1),
                lambda: w.k("A", w.n1),
                lambda: w.k("B", w.n2),
                lambda: w.e2.record(w.n2),
                lambda: w.n1.wait(w.e2),
            ),
            w.k("K1", w.n2),
            w.k("K2", w.n1),
            g.launch(w.n1),
        ],
        ["A not after B", "B not after A", "A after K2", "B after K2", "B not after K1"],
    ),
    (
        "R5.5 an event keeps the place at which it was recorded",
        lambda w: [
            g := w.captured(
                lambda: w.k("A", w.n1),
                lambda: w.e1.record(w.n1),
                lambda: w.k("B", w.n1),
                lambda: w.n2.wait(w.e1),
                lambda: w.e1.record(w.n1),
                lambda: w.k("C", w.n2),
                lambda: w.e2.record(w.n2),
                lambda: w.n1.wait(w.e2),
            ),
            g.launch(w.n1),
        ],
        ["C after A", "C not after B", "B after A"],
    ),
    (
        "R5.5 a stream that joined and joined back is itself again",
        lambda w: [fork(w), w.k("K1", w.n2), w.k("K2", w.n1), w.n1.synchronize()],
        ["K1 on n2", "K2 not after K1", "done K2", "pending K1"],
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
