"""Rules of several devices: R1.3 and R1.6 a device, R2.9."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder.model.errors import BadProtocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    # The fixtures' types: test modules cannot import conftest.
    World = Any


def second(w: World) -> tuple[Any, Any, Any]:
    """A non-blocking and a blocking stream and a buffer of device 1."""
    gpu = w.gpu
    return gpu.stream("s1", device=1), gpu.stream("c1", True, 1), gpu.device("X", device=1)


# (rule and case, program, facts under both contracts or under each)
ROWS: list[tuple[str, Callable[[World], object], Sequence[str] | Mapping[str, Sequence[str]]]] = [
    # --- one NULL stream a device ----------------------------------------------------------
    (
        "R1.3 each device has a NULL stream of its own, for its own blocking streams",
        lambda w: [
            (s := second(w)),
            w.k("K1", s[1]),
            w.k("K2", w.N),
            w.k("K3", w.b1),
            w.gpu.memset(s[2], 7),
            w.k("K4", s[1]),
            w.k("K5", w.b1),
        ],
        [
            "K2 not after K1",
            "K3 after K2",
            "X=7 on NULL1",
            "X=7 after K1",
            "X=7 not after K2 K3",
            "K4 after X=7",
            "K5 not after X=7 K1",
        ],
    ),
    (
        "R1.3 a non-blocking stream of another device has no part in either",
        lambda w: [(s := second(w)), w.k("K1", w.N), w.k("K2", s[0]), w.gpu.memset(s[2], 7)],
        ["K2 not after K1", "X=7 not after K2 K1"],
    ),
    (
        "R1.6 a device is synchronised alone",
        lambda w: [(s := second(w)), w.k("K1", s[0]), w.k("K2", w.n1), w.gpu.synchronize()],
        ["call: await K2", "pending K1"],
    ),
    (
        "R1.6 and by its number",
        lambda w: [
            (s := second(w)),
            w.k("K1", s[0]),
            w.gpu.memset(s[2], 7),
            w.k("K2", w.n1),
            w.gpu.synchronize(device=1),
        ],
        ["call: await K1 X=7", "pending K2"],
    ),
    (
        "R1.6 a device never used is idle",
        lambda w: [w.k("K", w.n1), w.gpu.synchronize(device=3)],
        ["call: -", "pending K"],
    ),
    (
        "R6.2 a free waits for the memory's device alone",
        lambda w: [(s := second(w)), w.k("K1", s[0]), w.k("K2", w.n1), w.gpu.free(s[2])],
        {
            "cuda +R6.1": ["done K1", "pending K2"],
            "cuda -R6.1": ["pending K1 K2"],
            "hip": ["done K1", "pending K2"],
        },
    ),
    (
        "R3.5 a wait across devices is a wait",
        lambda w: [
            (s := second(w)),
            w.k("K1", w.n1),
            w.e1.record(w.n1),
            s[0].wait(w.e1),
            w.k("K2", s[0]),
        ],
        ["K2 after K1"],
    ),
    # --- R2.9 ------------------------------------------------------------------------------
    (
        "R2.9 memory of another device: HIP runs the copy on that device's NULL stream",
        lambda w: [
            (s := second(w)),
            w.k("K1", s[1]),
            w.k("K2", s[0]),
            w.k("K3", w.n1),
            w.gpu.memcpy_async(s[2], w.P, w.n1),
            w.k("K4", w.n1),
            w.k("K5", s[1]),
            w.k("K6", s[0]),
        ],
        {
            "cuda": [
                "X<-P on n1",
                "X<-P after K3",
                "X<-P not after K1 K2",
                "K4 after X<-P",
                "K5 not after X<-P",
            ],
            "hip": [
                "X<-P on NULL1",
                "X<-P after K3 K1",
                "X<-P not after K2",
                "K4 after X<-P K1",
                "K5 after X<-P",
                "K6 not after X<-P",
                "pending X<-P",
            ],
        },
    ),
    (
        "R2.9 of the stream's own device it stays where it is",
        lambda w: [
            (s := second(w)),
            w.k("K1", s[1]),
            w.gpu.memcpy_async(s[2], w.P, s[0]),
            w.gpu.memcpy_async(w.D, w.P, w.n1),
        ],
        ["X<-P on s1", "X<-P not after K1", "D<-P on n1", "D<-P not after X<-P"],
    ),
    (
        "R2.9 a download",
        lambda w: [(s := second(w)), w.k("K1", s[1]), w.gpu.memcpy_async(w.P, s[2], w.n1)],
        {"cuda": ["P<-X on n1", "P<-X not after K1"], "hip": ["P<-X on NULL1", "P<-X after K1"]},
    ),
    (
        "R2.9 R1.3 from a blocking stream: after the NULL stream of that one's device, too",
        lambda w: [(s := second(w)), w.k("K1", w.N), w.gpu.memcpy_async(s[2], w.P, w.b1)],
        {"cuda": ["X<-P after K1"], "hip": ["X<-P after K1", "X<-P on NULL1"]},
    ),
    (
        "R2.9 R1.3 from the NULL stream: after the blocking streams of its device, too",
        lambda w: [
            (s := second(w)),
            w.k("K1", w.b1),
            w.gpu.memcpy_async(s[2], w.P, w.N),
            w.k("K2", w.b2),
        ],
        {"cuda": ["X<-P after K1", "K2 after X<-P"], "hip": ["X<-P after K1", "K2 after X<-P"]},
    ),
    (
        "R2.9 a staged upload moves there as well",
        lambda w: [(s := second(w)), w.k("K1", s[1]), w.gpu.memcpy_async(s[2], w.G, w.n1)],
        {
            "cuda": ["X<-G not after K1", "X<-G writes X=[G]"],
            "hip": ["X<-G after K1", "X<-G writes X=[G]"],
        },
    ),
    (
        "R2.9 memory of a device that has no stream yet",
        lambda w: [
            x := w.gpu.device("X", device=2),
            w.k("K1", w.n1),
            w.gpu.memcpy_async(x, w.P, w.n1),
            w.k("K2", w.n1),
        ],
        {"cuda": ["X<-P after K1", "K2 after X<-P"], "hip": ["X<-P on NULL2", "K2 after X<-P K1"]},
    ),
    (
        "R2.1 a blocking copy of such memory",
        lambda w: [x := w.gpu.device("X", device=2), w.gpu.memcpy(x, w.P)],
        ["done X<-P"],
    ),
    (
        "R2.10 a fill of such memory",
        lambda w: [x := w.gpu.device("X", device=2), w.gpu.memset(x, 7)],
        ["X=7 on NULL2", "pending X=7"],
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
    ("make", "message"),
    [
        (lambda w: w.gpu.stream("s", device=-1), "a device is a number from 0, not -1"),
        (lambda w: w.gpu.stream("s", device=True), "a device is a number from 0, not True"),
        (lambda w: w.gpu.device("X", device="1"), "a device is a number from 0, not '1'"),
        (lambda w: w.gpu.synchronize(None), "a device is a number from 0, not None"),
        (lambda w: second(w)[1].gpu.destroy(w.gpu.null(1)), "the NULL stream cannot be destroyed"),
    ],
)
def test_refused(world: World, make: Callable[[World], object], message: str) -> None:
    """The call is refused with this text."""
    with pytest.raises(BadProtocol) as refused:
        make(world)
    assert str(refused.value) == message
