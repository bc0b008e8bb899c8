"""Rules of graphs: R5.3, R5.4, what nodes read and write; event nodes (R3.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from streamorder.model.objects import Graph

    # The fixtures' types: test modules cannot import conftest.
    World = Any


def lone(w: World, **accesses: Any) -> Graph:
    """One kernel, on n1."""
    return w.captured(lambda: w.k("A", w.n1, **accesses))


def copying(w: World, target: str = "D", source: str = "P") -> Graph:
    """K, then a copy, both on n1."""
    ends = (getattr(w, target), getattr(w, source))
    return w.captured(lambda: w.k("K", w.n1), lambda: w.gpu.memcpy_async(*ends, w.n1))


# (rule and case, program, facts under both contracts or under each)
ROWS: list[tuple[str, Callable[[World], object], Sequence[str] | Mapping[str, Sequence[str]]]] = [
    # --- R5.3: addresses are fixed, contents are read anew ---------------------------------
    (
        "R5.5 captured calls do not run, and the host's own accesses do, once",
        lambda w: w.captured(lambda: w.k("A", w.n1), lambda: w.gpu.write(w.P, 1)),
        ["call: -"],
    ),
    (
        "R5.3 a kernel's regions are fixed; what it must find is bound by each launch",
        lambda w: [
            g := lone(w, reads=[w.D, w.PP], writes={w.E: 5}),
            g.launch(w.n1, reads={w.D: 1}),
            g.launch(w.n1, reads={w.D: 2, w.PP.b: 3}),
            g.launch(w.n1),
        ],
        [
            "A reads D=1 PP.a PP.b",
            "A#2 reads D=2 PP.a PP.b=3",
            "A#3 reads D PP.a PP.b",
            "A writes E=5",
            "A#3 writes E=5",
        ],
    ),
    (
        "R5.3 bound for every node that reads the region, and by an expectation too",
        lambda w: [
            g := w.captured(
                lambda: w.k("A", w.n1, [w.DD.a]), lambda: w.k("B", w.n1, [w.DD.a, w.DD.b])
            ),
            g.launch(w.n1, w.DD.expect(("a",), 4)),
        ],
        ["A reads DD.a=4", "B reads DD.a=4 DD.b"],
    ),
    (
        "R5.3 a version that stands for what a region holds is what it holds at the replay",
        lambda w: [g := lone(w, writes={w.D: w.P}), w.gpu.write(w.P, 2), g.launch(w.n1)],
        ["A reads P", "A writes D=P"],
    ),
    # --- R5.4: copies of host memory -------------------------------------------------------
    (
        "R5.4 a pinned source is read by the node, at each replay",
        lambda w: [
            g := copying(w),
            w.gpu.write(w.P, 5),
            g.launch(w.n1),
            w.gpu.write(w.P, 6),
        ],
        ["D<-P reads P", "D<-P writes D=P", "D<-P after K", "pending D<-P", "call: write P=6"],
    ),
    (
        "R5.4 U3 a pageable source: HIP stages it within the launch, CUDA does not say",
        lambda w: [g := copying(w, "D", "G"), g.launch(w.n1)],
        {
            "cuda +U3": ["call: read G, issue K, issue D<-G", "D<-G writes D=[G]", "D<-G reads -"],
            "cuda -U3": ["call: issue K, issue D<-G", "D<-G writes D=G", "D<-G reads G"],
            "hip": ["call: read G, issue K, issue D<-G", "D<-G writes D=[G]", "consulted -"],
        },
    ),
    (
        "R5.4 not at the capture, and at every launch anew",
        lambda w: [
            g := copying(w, "DE", "GG"),
            g.launch(w.n1),
            w.gpu.write(w.G, 2),
            g.launch(w.n1),
        ],
        {
            "cuda +U3": ["call: read GG.b GG.a, issue K#2, issue DE<-GG#2"],
            "cuda -U3": ["DE<-GG#2 reads GG.b GG.a", "DE<-GG#2 writes DE.b=GG.b DE.a=GG.a"],
            "hip": ["DE<-GG#2 writes DE.b=[GG.b] DE.a=[GG.a]", "DE<-GG#2 after DE<-GG K#2"],
        },
    ),
    (
        "R5.4 two pageable copies are both staged before any node runs",
        lambda w: [
            g := w.captured(
                lambda: w.gpu.memcpy_async(w.D, w.G, w.n1),
                lambda: w.gpu.memcpy_async(w.E, w.H, w.n1),
            ),
            g.launch(w.n1),
        ],
        {
            "cuda +U3": ["call: read G H, issue D<-G, issue E<-H", "E<-H writes E=[H]"],
            "cuda -U3": ["call: issue D<-G, issue E<-H", "E<-H writes E=H"],
            "hip": ["call: read G H, issue D<-G, issue E<-H", "D<-G writes D=[G]"],
        },
    ),
    (
        "R5.4 the capture of a pageable copy reads nothing and does not ask about U2",
        lambda w: copying(w, "D", "G"),
        ["call: -", "consulted -"],
    ),
    (
        "R5.4 a download to pinned memory, a fill, a host function are nodes",
        lambda w: [
            g := w.captured(
                lambda: w.gpu.memset_async(w.D, 7, w.n1),
                lambda: w.gpu.memcpy_async(w.P, w.D, w.n1),
                lambda: w.gpu.host_func("f", w.n1, reads=[w.P], writes={w.G: 1}),
            ),
            g.launch(w.n2),
        ],
        ["P<-D after D=7", "f after P<-D", "f reads P", "f writes G=1", "pending D=7 P<-D f"],
    ),
]

EVENT_NODES: list[tuple[str, Callable[[World], object], Sequence[str]]] = [
    (
        "R3.9 also an event that an earlier capture had used as an edge",
        lambda w: [
            w.captured(lambda: w.k("A", w.n1), lambda: w.e1.record(w.n1)),
            g := w.captured(lambda: w.k("B", w.n1), lambda: w.e1.record(w.n1, external=True)),
            g.launch(w.n1),
            w.n2.wait(w.e1),
            w.k("K", w.n2),
        ],
        ["K after B"],
    ),
    (
        "R3.9 an event node records at each replay what comes before it in the graph",
        lambda w: [
            g := w.captured(
                lambda: w.k("A", w.n1),
                lambda: w.e1.record(w.n1, external=True),
                lambda: w.k("B", w.n1),
            ),
            w.k("K0", w.n2),
            g.launch(w.n2),
            w.b1.wait(w.e1),
            w.k("K1", w.b1),
            w.e1.synchronize(),
        ],
        ["K1 after A K0", "K1 not after B", "B after A", "done A K0", "pending B K1"],
    ),
    (
        "R3.9 a node waits for the record that the event holds at the replay",
        lambda w: [
            w.k("K0", w.n2),
            w.e1.record(w.n2),
            g := w.captured(
                lambda: w.k("A", w.n1),
                lambda: w.n1.wait(w.e1, external=True),
                lambda: w.k("B", w.n1),
            ),
            w.k("K1", w.b1),
            w.e1.record(w.b1),
            g.launch(w.n1),
        ],
        ["B after A K1", "B not after K0", "A not after K1"],
    ),
    (
        "R3.9 R3.4 an event never recorded holds no node back",
        lambda w: [
            g := w.captured(lambda: w.n1.wait(w.e1, external=True), lambda: w.k("A", w.n1)),
            w.k("K", w.n2),
            g.launch(w.n1),
        ],
        ["A not after K", "call: issue A"],
    ),
    (
        "R3.9 the launch covers what its event nodes waited for",
        lambda w: [
            g := w.captured(lambda: w.k("A", w.n1), lambda: w.n1.wait(w.e1, external=True)),
            w.k("K", w.n2),
            w.e1.record(w.n2),
            g.launch(w.n1),
            w.k("K2", w.n1),
        ],
        ["K2 after A K"],
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


@pytest.mark.parametrize(
    ("program", "facts"), [row[1:] for row in EVENT_NODES], ids=[r[0] for r in EVENT_NODES]
)
def test_event_nodes(
    check: Callable[..., None], program: Callable[[World], object], facts: Sequence[str]
) -> None:
    """The facts hold under CUDA in every reading; HIP has no event nodes."""
    check(program, {"cuda": facts, "cuda-hmm": facts}, alone=True)
