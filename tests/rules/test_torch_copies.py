"""How torch copies: R7.1 (`copy_`) and R7.2 (`.item()`), spelled in the calls they make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from streamorder.model.memory import Buffer
    from streamorder.model.objects import Stream

    # The fixtures' types: test modules cannot import conftest.
    World = Any


def copy_(w: World, dst: Buffer, src: Buffer, stream: Stream) -> None:
    """Torch's blocking `copy_`: an asynchronous copy on the current stream, then its wait."""
    w.gpu.memcpy_async(dst, src, stream)
    stream.synchronize()


# (rule and case, program, facts under both contracts or under each)
ROWS: list[tuple[str, Callable[[World], object], Sequence[str] | Mapping[str, Sequence[str]]]] = [
    (
        "R7.2 item() into pinned memory: earlier work of the current stream, and nothing else",
        lambda w: [w.k("K1", w.n1), w.k("K2", w.n2), w.k("K3", w.N), copy_(w, w.P, w.D, w.n1)],
        ["call: await K1 P<-D", "done K1 P<-D", "pending K2 K3"],
    ),
    (
        "R7.2 item() into pageable memory: HIP has waited in the copy already",
        lambda w: [w.k("K1", w.n1), w.k("K2", w.n2), copy_(w, w.G, w.D, w.n1)],
        {
            "cuda": ["call: await G<-D K1", "done K1 G<-D", "pending K2"],
            "hip": ["call: -", "done K1 G<-D", "pending K2"],
        },
    ),
    (
        "R7.2 item() on torch's default stream waits for blocking streams, not for the pool's",
        lambda w: [w.k("K1", w.b1), w.k("K2", w.n1), copy_(w, w.P, w.D, w.N)],
        ["done K1 P<-D", "pending K2"],
    ),
    (
        "R7.2 without the wait the host may read too early",
        lambda w: [w.gpu.memcpy_async(w.P, w.D, w.n1), w.gpu.read(w.P)],
        ["pending P<-D"],
    ),
    (
        "R7.1 upload from pinned memory: written, and its source free, on return",
        lambda w: [copy_(w, w.D, w.P, w.n1), w.gpu.write(w.P, 2), w.k("K", w.n2, {w.D: 1})],
        ["done D<-P", "K after D<-P", "D<-P reads P"],
    ),
    (
        "R7.1 upload from pageable memory: written on return under both contracts",
        lambda w: [copy_(w, w.D, w.G, w.n1), w.k("K", w.n2, {w.D: 1})],
        ["done D<-G", "K after D<-G", "D<-G writes D=[G]"],
    ),
    (
        "R7.1 download, pinned",
        lambda w: [w.k("K", w.n1), copy_(w, w.P, w.D, w.n1), w.gpu.read(w.P, expect=1)],
        ["done P<-D K", "call: read P=1"],
    ),
    (
        "R7.1 download, pageable",
        lambda w: [w.k("K", w.n1), copy_(w, w.G, w.D, w.n1), w.gpu.read(w.G, expect=1)],
        {"cuda": ["done G<-D K", "call: read G=1"], "hip": ["done G<-D K", "call: read G=1"]},
    ),
    (
        "R7.1 on the current stream: not ordered after work of another",
        lambda w: [w.k("K", w.n2, {w.D: 0}), copy_(w, w.D, w.P, w.n1)],
        ["D<-P not after K", "pending K"],
    ),
    (
        "R7.1 non-blocking upload from pinned memory: the source is in use on return",
        lambda w: [w.gpu.memcpy_async(w.D, w.P, w.n1), w.gpu.write(w.P, 2)],
        ["pending D<-P", "D<-P reads P"],
    ),
    (
        "R1.8 default stream and side stream: no order ever",
        lambda w: [w.k("K1", w.N, (), {w.D: 1}), w.gpu.memcpy_async(w.E, w.D, w.n1)],
        ["E<-D not after K1"],
    ),
    (
        "R3.9 wait_stream: a fresh event, recorded on the other stream",
        lambda w: [w.k("K1", w.N), w.e1.record(w.N), w.n1.wait(w.e1), w.k("K2", w.n1)],
        ["K2 after K1"],
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
