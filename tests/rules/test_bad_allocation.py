"""Misuse of allocation, with the exact texts; what is freed twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder.model.errors import BadProtocol

if TYPE_CHECKING:
    from collections.abc import Callable

    # The fixtures' types: test modules cannot import conftest.
    World = Any


NOT_A_BUFFER = "expected a buffer, got "
ELSEWHERE = " belongs to another Gpu: make it inside the protocol, from the gpu it is given"

# (case, misuse, the text of the refusal)
MISUSE: list[tuple[str, Callable[[World, World], object], str]] = [
    ("malloc name", lambda w, _: w.gpu.malloc(1), "a buffer's name must be a string, not 1"),
    ("of None's like", lambda w, _: w.gpu.malloc("X", of="D"), f"{NOT_A_BUFFER}'D'"),
    ("of a part", lambda w, _: w.gpu.malloc("X", of=w.DD.a), f"{NOT_A_BUFFER}DD.a"),
    ("of another's", lambda w, o: w.gpu.malloc("X", of=o.D), f"buffer D{ELSEWHERE}"),
    (
        "more parts",
        lambda w, _: w.gpu.malloc("X", parts=("a",), of=w.DD),
        "'X' reuses 'DD', which has 2 parts",
    ),
    (
        "fewer parts",
        lambda w, _: w.gpu.malloc("X", parts=("a", "b"), of=w.D),
        "'X' reuses 'D', which has 1 parts",
    ),
    (
        "parts of a string",
        lambda w, _: w.gpu.malloc("X", "ab"),
        "buffer 'X': parts is an iterable of names, not the string 'ab'",
    ),
    ("free None", lambda w, _: w.gpu.free(None), f"{NOT_A_BUFFER}None"),
    ("free a part", lambda w, _: w.gpu.free(w.DD.a), f"{NOT_A_BUFFER}DD.a"),
    ("free another's", lambda w, o: w.gpu.free(o.D), f"buffer D{ELSEWHERE}"),
    (
        "malloc_async on None",
        lambda w, _: w.gpu.malloc_async("X", None),
        "expected a stream, got None",
    ),
    ("malloc_async of", lambda w, o: w.gpu.malloc_async("X", w.n1, of=o.D), f"buffer D{ELSEWHERE}"),
    (
        "malloc_async on another's",
        lambda w, o: w.gpu.malloc_async("X", o.n1),
        f"stream n1{ELSEWHERE}",
    ),
    ("free_async None", lambda w, _: w.gpu.free_async(None, w.n1), f"{NOT_A_BUFFER}None"),
    ("free_async on None", lambda w, _: w.gpu.free_async(w.D, None), "expected a stream, got None"),
    ("free_async of another's", lambda w, o: w.gpu.free_async(o.D, w.n1), f"buffer D{ELSEWHERE}"),
    (
        "used by None",
        lambda w, _: w.gpu.free_async(w.D, w.n1, used_by=[None]),
        "expected a stream, got None",
    ),
    (
        "used by another's",
        lambda w, o: w.gpu.free_async(w.D, w.n1, [o.n2]),
        f"stream n2{ELSEWHERE}",
    ),
    (
        "used by a destroyed one",
        lambda w, _: (w.n2.destroy(), w.gpu.free_async(w.D, w.n1, [w.n2])),
        "stream 'n2' was destroyed earlier: make a new one",
    ),
    (
        "free_async on a destroyed stream",
        lambda w, _: (w.n1.destroy(), w.gpu.free_async(w.D, w.n1)),
        "stream 'n1' was destroyed earlier: make a new one",
    ),
    (
        "malloc_async on a destroyed stream",
        lambda w, _: (w.n1.destroy(), w.gpu.malloc_async("X", w.n1)),
        "stream 'n1' was destroyed earlier: make a new one",
    ),
]


@pytest.mark.parametrize(("misuse", "message"), [r[1:] for r in MISUSE], ids=[r[0] for r in MISUSE])
def test_refused(
    world: World, other: World, misuse: Callable[[World, World], object], message: str
) -> None:
    """The call is refused with this text."""
    with pytest.raises(BadProtocol) as refused:
        misuse(world, other)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "misuse",
    [
        lambda w: (w.gpu.free(w.D), w.gpu.free(w.D)),
        lambda w: (w.gpu.free_async(w.D, w.n1), w.gpu.free(w.D)),
    ],
    ids=["freed twice", "freed in a stream, then on the host"],
)
def test_not_allocated(world: World, misuse: Callable[[World], object]) -> None:
    """R6.*: what is not allocated, or not by this allocator, cannot be freed."""
    with pytest.raises(BadProtocol):
        misuse(world)
