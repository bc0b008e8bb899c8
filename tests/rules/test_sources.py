"""A copy that states when it reads its source: `source=` of `memcpy_async`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder.model.contract import CUDA, HIP
from streamorder.model.errors import BadProtocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    # The fixtures' types: test modules cannot import conftest.
    World = Any


# (rule and case, program, facts under both contracts or under each)
ROWS: list[tuple[str, Callable[[World], object], Sequence[str] | Mapping[str, Sequence[str]]]] = [
    # --- a copy that states when it reads its source ---------------------------------------
    (
        "source='stream': pinned memory, as it is anyway",
        lambda w: [w.k("K", w.n1), w.gpu.memcpy_async(w.D, w.P, w.n1, source="stream")],
        ["call: issue D<-P", "D<-P reads P", "D<-P after K"],
    ),
    (
        "source='stream': pageable memory is read by the operation, not at the call",
        lambda w: [w.k("K", w.n1), w.gpu.memcpy_async(w.D, w.G, w.n1, source="stream")],
        ["call: issue D<-G", "D<-G reads G", "D<-G writes D=G", "D<-G after K"],
    ),
    (
        "source='call': pinned memory is read at the call and may be written on return",
        lambda w: [w.k("K", w.n1), w.gpu.memcpy_async(w.DE, w.PP, w.n1, source="call")],
        ["call: read PP.b PP.a, issue DE<-PP", "DE<-PP reads -", "DE<-PP after K", "pending K"],
    ),
    (
        "source='any': read by an operation of its own, after nothing but the call",
        lambda w: [
            w.k("K1", w.n1),
            w.gpu.memcpy_async(w.D, w.P, w.n1, source="any"),
            w.k("K2", w.n1),
        ],
        [
            "D<-P on n1 (source)",
            "D<-P not after K1",
            "D<-P reads P",
            "D<-P#2 on n1",
            "D<-P#2 after D<-P K1",
            "D<-P#2 writes D=P-(read)",
            "K2 after D<-P#2 D<-P",
            "pending D<-P D<-P#2",
        ],
    ),
    (
        "source='any': pageable memory too, part by part; the second is as free as the first",
        lambda w: [
            w.gpu.memcpy_async(w.DE, w.GG, w.n1, source="any"),
            w.gpu.memcpy_async(w.DE, w.GG, w.n1, source="any"),
        ],
        ["DE<-GG reads GG.b GG.a", "DE<-GG#3 not after DE<-GG DE<-GG#2", "DE<-GG#4 after DE<-GG#2"],
    ),
    (
        "source='any': not before what the host had waited for",
        lambda w: [
            w.k("K", w.n2),
            w.n2.synchronize(),
            w.gpu.memcpy_async(w.D, w.P, w.n1, source="any"),
        ],
        ["D<-P after K"],
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


@pytest.mark.parametrize("source", ["later", True, 1, "CALL"])
def test_unknown_source(world: World, source: object) -> None:
    """The call is refused with this text."""
    with pytest.raises(BadProtocol) as refused:
        world.gpu.memcpy_async(world.D, world.P, world.n1, source=source)
    assert str(refused.value) == f"source is 'call', 'stream' or 'any', not {source!r}"


def test_unhashable_source(world: World) -> None:
    """So is one that has no hash."""
    with pytest.raises(BadProtocol):
        world.gpu.memcpy_async(world.D, world.P, world.n1, source=["call"])


@pytest.mark.parametrize("source", ["call", "any"])
@pytest.mark.parametrize("contract", [CUDA, HIP], ids=["cuda", "hip"])
def test_source_of_device_memory(run: Callable[..., Any], contract: Any, source: str) -> None:
    """`source` is about host memory: the host thread never reads a device buffer."""
    try:
        record = run(
            lambda w: w.gpu.memcpy_async(w.E, w.D, w.n1, source=source), contract.readings()[0]
        )
    except BadProtocol:
        return
    assert record.ops["E<-D"].reads == ("D",)
    assert record.calls[-1][0] == "issue E<-D"


def test_source_refused_issues_nothing(world: World) -> None:
    """A copy on a destroyed stream is refused before anything is issued."""
    world.n1.destroy()
    with pytest.raises(BadProtocol):
        world.gpu.memcpy_async(world.D, world.P, world.n1, source="any")
    assert world.rec.ops == {}
