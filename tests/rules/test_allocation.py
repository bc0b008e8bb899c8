"""Rules of allocation: R6.1 to R6.6. A free is a write of poison, an address may be reused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder.model.memory import Buffer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    # The fixtures' types: test modules cannot import conftest.
    World = Any

FREED = "freed-memory"

# (rule and case, program, facts under both contracts or under each)
ROWS: list[tuple[str, Callable[[World], object], Sequence[str] | Mapping[str, Sequence[str]]]] = [
    # --- R6.1, R6.2: plain -----------------------------------------------------------------
    (
        "R6.1 an allocation waits for nothing that may be relied on, and writes nothing",
        lambda w: [w.k("K", w.n1), w.gpu.malloc("X")],
        ["call: -", "pending K", "consulted -"],
    ),
    (
        "R6.2 a free waits for every stream (HIP), or may not be relied on to (CUDA)",
        lambda w: [w.k("K1", w.n1), w.k("K2", w.b1), w.k("K3", w.N), w.gpu.free(w.D)],
        {
            "cuda +R6.1": [f"call: await K1 K2 K3, write D={FREED}", "phases 2"],
            "cuda -R6.1": [f"call: write D={FREED}", "pending K1 K2 K3"],
            "hip": [f"call: await K1 K2 K3, write D={FREED}", "consulted -"],
        },
    ),
    (
        "R6.2 the memory is gone after the wait, and what comes later is after that",
        lambda w: [w.k("K1", w.n1, [w.DD]), w.gpu.free(w.DD), w.k("K2", w.n2)],
        {
            "cuda +R6.1": ["K2 after K1"],
            "cuda -R6.1": ["K2 not after K1"],
            "hip": ["K2 after K1"],
        },
    ),
    (
        "R6.1 an address that comes back after a free is uninitialised, part by part",
        lambda w: [w.gpu.free(w.DD), w.gpu.malloc("X", parts=("p", "q"), of=w.DD)],
        ["call: write X.p=uninitialised X.q=uninitialised", "phases 1"],
    ),
    (
        "R6.5 an address handed out by bookkeeping on the host: no access, no wait",
        lambda w: [w.k("K", w.n1), w.gpu.malloc("X", of=w.D)],
        ["call: -", "pending K"],
    ),
    (
        "R6.1 freed once, it is uninitialised once",
        lambda w: [w.gpu.free(w.D), x := w.gpu.malloc("X", of=w.D), w.gpu.malloc("Y", of=x)],
        ["call: -"],
    ),
    (
        "R6.1 a second name's free is the memory's",
        lambda w: [x := w.gpu.malloc("X", of=w.D), w.gpu.free(x), w.gpu.malloc("Y", of=w.D)],
        ["call: write Y=uninitialised"],
    ),
    # --- R6.3: stream-ordered --------------------------------------------------------------
    (
        "R6.3 allocation and free are operations of the stream, and nobody waits",
        lambda w: [
            w.k("K1", w.n1),
            x := w.gpu.malloc_async("X", w.n1),
            w.k("K2", w.n1, (), {x: 1}),
            w.gpu.free_async(x, w.n1),
            w.k("K3", w.n1),
            w.k("K4", w.n2),
        ],
        [
            "malloc:X after K1",
            "malloc:X writes X=uninitialised",
            "K2 after malloc:X",
            "free:X after K2",
            f"free:X writes X={FREED}",
            "free:X on n1",
            "K3 after free:X",
            "K4 not after malloc:X free:X",
            "pending K1 malloc:X K2 free:X",
        ],
    ),
    (
        "R6.3 parts",
        lambda w: [x := w.gpu.malloc_async("X", w.n1, parts=("a", "b")), w.gpu.free_async(x, w.n2)],
        [
            "malloc:X writes X.a=uninitialised X.b=uninitialised",
            f"free:X writes X.a={FREED} X.b={FREED}",
        ],
    ),
    (
        "R6.3 another stream needs an event: the free waits for it only then",
        lambda w: [
            w.k("K1", w.n2),
            w.gpu.free_async(w.D, w.n1),
            w.e1.record(w.n2),
            w.n1.wait(w.e1),
            w.gpu.free_async(w.E, w.n1),
        ],
        ["free:D not after K1", "free:E after K1 free:D"],
    ),
    (
        "R6.3 R1.3 on a blocking stream and on NULL, as operations there",
        lambda w: [
            w.k("K1", w.N),
            w.gpu.free_async(w.D, w.b1),
            w.k("K2", w.b2),
            x := w.gpu.malloc_async("X", w.N, of=w.D),
            w.k("K3", w.b2, [x]),
        ],
        ["free:D after K1", "malloc:X after free:D K2", "K3 after malloc:X"],
    ),
    (
        "R6.3 in one stream an address is reused in order",
        lambda w: [
            w.k("K1", w.n1, [w.D]),
            w.gpu.free_async(w.D, w.n1),
            x := w.gpu.malloc_async("X", w.n1, of=w.D),
            w.k("K2", w.n1, (), {x: 1}),
        ],
        ["malloc:X after free:D K1", "K2 after malloc:X", "K2 writes X=1"],
    ),
    (
        "R6.3 R6.4 CUDA's allocator hands freed memory to another stream in order, HIP's may not",
        lambda w: [
            w.k("K1", w.n1, [w.D]),
            w.gpu.free_async(w.D, w.n1),
            x := w.gpu.malloc_async("X", w.n2, of=w.D),
            w.k("K2", w.n2, (), {x: 1}),
        ],
        {
            "cuda": ["K2 after free:D K1"],
            "hip +U1": ["K2 after free:D K1"],
            "hip -U1": ["K2 not after free:D K1"],
        },
    ),
    # --- R6.5, R6.6: record_stream ---------------------------------------------------------
    (
        "R6.5 a free that other streams were recorded for waits for their work so far",
        lambda w: [
            w.k("K1", w.n2, [w.D]),
            w.k("K2", w.b1, [w.D]),
            w.gpu.free_async(w.D, w.n1, used_by=[w.n2, w.b1]),
            w.k("K3", w.n2),
            x := w.gpu.malloc_async("X", w.n1, of=w.D),
            w.k("K4", w.n1, (), {x: 9}),
        ],
        ["free:D after K1 K2", "free:D not after K3", "K4 after K1 K2", "K4 not after K3"],
    ),
    (
        "R6.5 without it the next owner does not wait for them",
        lambda w: [
            w.k("K1", w.n2, [w.D]),
            w.gpu.free_async(w.D, w.n1),
            x := w.gpu.malloc_async("X", w.n1, of=w.D),
            w.k("K2", w.n1, (), {x: 9}),
        ],
        ["K2 not after K1"],
    ),
    (
        "R6.5 the other stream is not held up",
        lambda w: [
            w.k("K1", w.n1),
            w.gpu.free_async(w.D, w.n1, used_by=[w.n2]),
            w.k("K2", w.n2),
        ],
        ["K2 not after K1 free:D"],
    ),
    (
        "R6.6 pinned memory handed out again keeps its kind: the host may write it at once",
        lambda w: [
            w.gpu.memcpy_async(w.D, w.P, w.n1),
            x := w.gpu.malloc("X", of=w.P),
            w.gpu.write(x, 9),
        ],
        ["pending D<-P", "call: write X=9"],
    ),
    # --- provenance ------------------------------------------------------------------------
    (
        "R6.2 HIP: a plain free of a pool's memory does not wait",
        lambda w: [
            x := w.gpu.malloc_async("X", w.n1),
            w.k("K", w.n1, (), {x: 1}),
            w.gpu.free(x),
        ],
        {
            "cuda +R6.1": ["done K malloc:X"],
            "cuda -R6.1": ["pending K malloc:X"],
            "hip": ["pending K malloc:X", f"call: write X={FREED}"],
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


def test_one_address(world: World) -> None:
    """R6.1: names of one address share their regions' places, a fresh one shares none."""
    again = world.gpu.malloc("X", of=world.DD)
    assert [r.slot for r in again.regions] == [r.slot for r in world.DD.regions]
    assert [r.part for r in again.regions] == ["a", "b"]
    assert (again.kind, world.gpu.malloc("Y", of=world.P).kind) == ("device", "pinned")
    fresh = world.gpu.malloc("Z")
    buffers = [thing for thing in vars(world).values() if isinstance(thing, Buffer)]
    taken = {region.slot for buffer in buffers for region in buffer.regions}
    assert fresh.regions[0].slot not in taken
    assert world.gpu.malloc("V").regions[0].slot != fresh.regions[0].slot


def test_stream_ordered_memory_is_on_its_streams_device(world: World) -> None:
    """R6.3: memory from a pool lives on the device of the stream that allocates it."""
    assert world.gpu.malloc_async("X", world.gpu.stream("s", device=1)).device == 1
    assert world.gpu.malloc_async("Y", world.n1).device == 0
