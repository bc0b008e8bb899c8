"""Misuse of objects: parts, kinds of memory, another Gpu, wrong types; with the exact texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder.model.errors import BadProtocol

if TYPE_CHECKING:
    from collections.abc import Callable

    # The fixtures' types: test modules cannot import conftest.
    World = Any

ELSEWHERE = " belongs to another Gpu: make it inside the protocol, from the gpu it is given"
NOT_FROM_HOST = " device buffer 'D': copy through pinned or pageable memory, or launch a kernel"
KERNEL = "a kernel cannot access pageable buffer 'G': give it device, pinned or managed memory"
MEMSET = (
    "memset cannot fill pageable buffer 'G': the runtimes take device, pinned or managed memory; "
    "use write()"
)

# (case, misuse of one Gpu's world or of another's, the text of the refusal)
ROWS: list[tuple[str, Callable[[World, World], object], str]] = [
    # --- parts -----------------------------------------------------------------------------
    ("unknown part", lambda w, _: w.DD.c, "buffer 'DD' has no part 'c'; its parts are: a, b"),
    ("by key", lambda w, _: w.DD["c"], "buffer 'DD' has no part 'c'; its parts are: a, b"),
    ("by place", lambda w, _: w.DD[0], "buffer 'DD' has no part 0; its parts are: a, b"),
    (
        "no parts at all",
        lambda w, _: w.D.a,
        "buffer 'D' has no part 'a'; its parts are: none: it was made without parts",
    ),
    (
        "unknown part expected",
        lambda w, _: w.DD.expect(("a", "x"), 1),
        "buffer 'DD' has no part 'x'; its parts are: a, b",
    ),
    (
        "two parts of one name",
        lambda w, _: w.gpu.device("X", parts=("a", "b", "a")),
        "buffer 'X': two parts have one name",
    ),
    *(
        (
            f"reserved {part!r}",
            lambda w, _, part=part: w.gpu.pinned("X", parts=("a", part)),
            f"buffer 'X': {part!r} cannot be the name of a part",
        )
        for part in (
            "regions",
            "by_part",
            "kind",
            "name",
            "slot",
            "gpu",
            "expect",
            "__init__",
            7,
            None,
        )
    ),
    (
        "an empty part name",
        lambda w, _: w.gpu.pageable("X", parts=("", "a")),
        "buffer 'X': '' cannot be the name of a part",
    ),
    # --- what the host and kernels may access ----------------------------------------------
    ("host write", lambda w, _: w.gpu.write(w.D, 1), f"the host cannot write{NOT_FROM_HOST}"),
    ("host read", lambda w, _: w.gpu.read(w.D, 1), f"the host cannot read{NOT_FROM_HOST}"),
    (
        "host read of a part",
        lambda w, _: w.gpu.read(w.DD.a),
        f"the host cannot read{NOT_FROM_HOST}".replace("'D'", "'DD'"),
    ),
    ("kernel reads pageable", lambda w, _: w.k("K", w.n1, {w.G: 1}), KERNEL),
    ("kernel reads pageable, no version", lambda w, _: w.k("K", w.n1, [w.D, w.G]), KERNEL),
    ("kernel writes pageable", lambda w, _: w.k("K", w.n1, (), {w.G: 1}), KERNEL),
    ("kernel copies from pageable", lambda w, _: w.k("K", w.n1, (), {w.D: w.G}), KERNEL),
    (
        "expectation of pageable",
        lambda w, _: w.GG.expect(("a",), 1),
        "a kernel cannot access pageable buffer 'GG': give it device, pinned or managed memory",
    ),
    ("memset of pageable", lambda w, _: w.gpu.memset(w.G, 0), MEMSET),
    ("memset_async of pageable", lambda w, _: w.gpu.memset_async(w.G, 0, w.n1), MEMSET),
    # --- parts of two buffers --------------------------------------------------------------
    *(
        (
            f"{name}: different parts",
            lambda w, _, copy=copy: copy(w),
            "'DD' and 'X' have different parts: copy part by part",
        )
        for name, copy in {
            "memcpy": lambda w: w.gpu.memcpy(w.DD, w.gpu.pinned("X", parts=("a", "c"))),
            "memcpy_async": lambda w: w.gpu.memcpy_async(w.DD, w.gpu.pageable("X"), w.n1),
            "more parts": lambda w: w.gpu.memcpy(w.DD, w.gpu.pinned("X", parts=("a", "b", "c"))),
            "a kernel's copy": lambda w: w.k(
                "K", w.n1, (), {w.DD: w.gpu.pinned("X", parts=("x", "y"))}
            ),
        }.items()
    ),
    (
        "memcpy: fewer parts",
        lambda w, _: w.gpu.memcpy(w.D, w.PP),
        "'D' and 'PP' have different parts: copy part by part",
    ),
    # --- another Gpu -----------------------------------------------------------------------
    ("launch, its stream", lambda w, o: w.k("K", o.n1), f"stream n1{ELSEWHERE}"),
    ("launch, its NULL", lambda w, o: w.k("K", o.N), f"stream NULL{ELSEWHERE}"),
    ("launch, its buffer read", lambda w, o: w.k("K", w.n1, [o.D]), f"region D{ELSEWHERE}"),
    ("launch, its part read", lambda w, o: w.k("K", w.n1, {o.DD.a: 1}), f"region DD.a{ELSEWHERE}"),
    ("launch, written", lambda w, o: w.k("K", w.n1, (), {o.D: 1}), f"region D{ELSEWHERE}"),
    ("launch, copied", lambda w, o: w.k("K", w.n1, (), {w.D: o.D}), f"region D{ELSEWHERE}"),
    (
        "launch, its expectation",
        lambda w, o: w.k("K", w.n1, o.DD.expect(("a",), 1)),
        "the expectation belongs to another Gpu",
    ),
    ("memcpy to", lambda w, o: w.gpu.memcpy(o.D, w.P), f"region D{ELSEWHERE}"),
    ("memcpy from", lambda w, o: w.gpu.memcpy(w.D, o.P), f"region P{ELSEWHERE}"),
    (
        "memcpy_async on",
        lambda w, o: w.gpu.memcpy_async(w.D, w.P, o.n1),
        f"stream n1{ELSEWHERE}",
    ),
    ("memset", lambda w, o: w.gpu.memset(o.D, 0), f"region D{ELSEWHERE}"),
    ("memset_async on", lambda w, o: w.gpu.memset_async(w.D, 0, o.n1), f"stream n1{ELSEWHERE}"),
    ("write", lambda w, o: w.gpu.write(o.P, 0), f"region P{ELSEWHERE}"),
    ("read", lambda w, o: w.gpu.read(o.P), f"region P{ELSEWHERE}"),
    ("record on", lambda w, o: w.e1.record(o.n1), f"stream n1{ELSEWHERE}"),
    ("record of", lambda w, o: w.gpu.record(o.e1, w.n1), f"event e1{ELSEWHERE}"),
    ("wait for", lambda w, o: w.n1.wait(o.e1), f"event e1{ELSEWHERE}"),
    ("wait on", lambda w, o: w.gpu.wait(o.n1, w.e1), f"stream n1{ELSEWHERE}"),
    ("synchronize_event", lambda w, o: w.gpu.synchronize_event(o.e1), f"event e1{ELSEWHERE}"),
    ("synchronize_stream", lambda w, o: w.gpu.synchronize_stream(o.n1), f"stream n1{ELSEWHERE}"),
    ("query a stream", lambda w, o: w.gpu.query(o.n1), f"stream n1{ELSEWHERE}"),
    ("query an event", lambda w, o: w.gpu.query(o.e1), f"event e1{ELSEWHERE}"),
    ("poll", lambda w, o: w.gpu.poll(o.e1), f"event e1{ELSEWHERE}"),
    ("destroy", lambda w, o: w.gpu.destroy(o.n1), f"stream n1{ELSEWHERE}"),
    ("lock", lambda w, o: w.gpu.acquire(o.gpu.lock("L")), f"lock L{ELSEWHERE}"),
    ("unlock", lambda w, o: w.gpu.release(o.gpu.lock("L")), f"lock L{ELSEWHERE}"),
    ("queue put", lambda w, o: w.gpu.put(o.gpu.queue(name="q"), 1), f"queue q{ELSEWHERE}"),
    ("queue get", lambda w, o: w.gpu.get(o.gpu.queue(name="q")), f"queue q{ELSEWHERE}"),
    ("a version", lambda w, o: w.gpu.write(w.P, o.e1), "a version is a number or a string, not e1"),
]


@pytest.mark.parametrize(("misuse", "message"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS])
def test_refused(
    world: World, other: World, misuse: Callable[[World, World], object], message: str
) -> None:
    """The call is refused with this text, and carries nothing out."""
    with pytest.raises(BadProtocol) as refused:
        misuse(world, other)
    assert str(refused.value) == message


def test_joined_expectations(world: World, other: World) -> None:
    """An expectation joined with another Gpu's is refused, in either order."""
    mine, theirs = world.DD.expect(("a",), 1), other.DD.expect(("a",), 1)
    for first, second in ((mine, theirs), (theirs, mine)):
        with pytest.raises(BadProtocol, match="belongs to another Gpu"):
            world.k("K", world.n1, first | second)


def test_refusal_leaves_nothing(world: World) -> None:
    """A refused call issues nothing and is no call."""
    with pytest.raises(BadProtocol):
        world.k("K", world.n1, {world.G: 1})
    with pytest.raises(BadProtocol):
        world.gpu.memcpy(world.D, world.PP)
    assert world.rec.calls == []
    assert world.rec.ops == {}


def test_hasattr(world: World) -> None:
    """`hasattr` tells whether a buffer has a part."""
    assert hasattr(world.DD, "a")
    assert not hasattr(world.DD, "c")
    assert not hasattr(world.D, "a")
