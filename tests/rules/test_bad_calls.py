"""Misuse of calls: wrong types, destroyed streams, host control on data; with the exact texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder.model.errors import BadProtocol

if TYPE_CHECKING:
    from collections.abc import Callable

    # The fixtures' types: test modules cannot import conftest.
    World = Any

GONE = "stream 'n1' was destroyed earlier: make a new one"
ON_DATA = (
    "host control may not depend on data read from P: use read(..., expect=v), which returns v, "
    "or choose(...) to explore both ways"
)
NOT_A_BUFFER = "expected a buffer or a part of one, got "
ITEM = (
    "queue 'q': an item must be immutable (a number, a string, an API object or a tuple of these), "
    "not [1]"
)
CAPACITY = "queue 'q': capacity must be a positive int or None"
CONCURRENT = (
    "concurrent() takes two operations, as launch, memcpy_async and memset_async return them"
)


def after_destroy(call: Callable[[World], object]) -> Callable[[World, World], object]:
    """The call once n1 is destroyed."""
    return lambda w, _: (w.n1.destroy(), call(w))


def on_data(use: Callable[[World], object]) -> Callable[[World, World], object]:
    """A use of data that was read without an expectation."""
    return lambda w, _: use(w.gpu.read(w.P))


# (case, misuse, the text of the refusal)
ROWS: list[tuple[str, Callable[[World, World], object], str]] = [
    # --- wrong types -----------------------------------------------------------------------
    ("launch on a string", lambda w, _: w.k("K", "n1"), "expected a stream, got 'n1'"),
    ("launch on None", lambda w, _: w.k("K", None), "expected a stream, got None"),
    ("launch on an event", lambda w, _: w.k("K", w.e1), "expected a stream, got e1"),
    ("kernel without a name", lambda w, _: w.k(7, w.n1), "a kernel's name must be a string, not 7"),
    ("reads None", lambda w, _: w.k("K", w.n1, None), f"{NOT_A_BUFFER}None"),
    ("reads a string", lambda w, _: w.k("K", w.n1, "D"), f"{NOT_A_BUFFER}'D'"),
    ("reads strings", lambda w, _: w.k("K", w.n1, ["D"]), f"{NOT_A_BUFFER}'D'"),
    ("reads an event", lambda w, _: w.k("K", w.n1, {w.e1: 1}), f"{NOT_A_BUFFER}e1"),
    (
        "reads a list version",
        lambda w, _: w.k("K", w.n1, {w.D: [1]}),
        "a version must be hashable, not [1]",
    ),
    (
        "reads a region version",
        lambda w, _: w.k("K", w.n1, {w.D: w.DD.a}),
        "a version is a number or a string, not DD.a",
    ),
    (
        "expects a list version",
        lambda w, _: w.DD.expect(("a",), [1]),
        "a version must be hashable, not [1]",
    ),
    (
        "writes a list",
        lambda w, _: w.k("K", w.n1, (), [w.D]),
        "writes is a mapping from regions to versions",
    ),
    ("writes a string", lambda w, _: w.k("K", w.n1, (), {"D": 1}), f"{NOT_A_BUFFER}'D'"),
    (
        "writes a list version",
        lambda w, _: w.k("K", w.n1, (), {w.D: [1]}),
        "a version must be hashable, not [1]",
    ),
    (
        "writes an event",
        lambda w, _: w.k("K", w.n1, (), {w.D: w.e1}),
        "a version is a number or a string, not e1",
    ),
    ("memcpy to a string", lambda w, _: w.gpu.memcpy("D", w.P), f"{NOT_A_BUFFER}'D'"),
    ("memcpy from None", lambda w, _: w.gpu.memcpy(w.D, None), f"{NOT_A_BUFFER}None"),
    ("memcpy from a list", lambda w, _: w.gpu.memcpy(w.D, [w.P]), f"{NOT_A_BUFFER}[P]"),
    ("memcpy to a list", lambda w, _: w.gpu.memcpy([w.D], w.P), f"{NOT_A_BUFFER}[D]"),
    (
        "memcpy_async on None",
        lambda w, _: w.gpu.memcpy_async(w.D, w.P, None),
        "expected a stream, got None",
    ),
    ("memset of None", lambda w, _: w.gpu.memset(None, 0), f"{NOT_A_BUFFER}None"),
    (
        "memset to a list",
        lambda w, _: w.gpu.memset(w.D, [0]),
        "a version must be hashable, not [0]",
    ),
    (
        "memset_async on a string",
        lambda w, _: w.gpu.memset_async(w.D, 0, "n1"),
        "expected a stream, got 'n1'",
    ),
    ("write to a string", lambda w, _: w.gpu.write("P", 1), f"{NOT_A_BUFFER}'P'"),
    ("write to an event", lambda w, _: w.gpu.write(w.e1, 1), f"{NOT_A_BUFFER}e1"),
    ("write of a list", lambda w, _: w.gpu.write(w.P, [1]), "a version must be hashable, not [1]"),
    ("write to nothing", lambda w, _: w.gpu.write([], 1), f"{NOT_A_BUFFER}[]"),
    ("write to several", lambda w, _: w.gpu.write([w.P, w.D], 1), f"{NOT_A_BUFFER}[P, D]"),
    ("memset of nothing", lambda w, _: w.gpu.memset([], 1), f"{NOT_A_BUFFER}[]"),
    ("memset of several", lambda w, _: w.gpu.memset([w.D, w.G], 1), f"{NOT_A_BUFFER}[D, G]"),
    ("read of None", lambda w, _: w.gpu.read(None), f"{NOT_A_BUFFER}None"),
    ("read of nothing", lambda w, _: w.gpu.read([]), f"{NOT_A_BUFFER}[]"),
    (
        "read, a list expected",
        lambda w, _: w.gpu.read(w.P, expect=[1]),
        "a version must be hashable, not [1]",
    ),
    ("record None", lambda w, _: w.gpu.record(None, w.n1), "expected an event, got None"),
    ("record on a string", lambda w, _: w.e1.record("n1"), "expected a stream, got 'n1'"),
    ("wait for None", lambda w, _: w.n1.wait(None), "expected an event, got None"),
    ("wait, arguments swapped", lambda w, _: w.gpu.wait(w.e1, w.n1), "expected a stream, got e1"),
    (
        "synchronize_event of a stream",
        lambda w, _: w.gpu.synchronize_event(w.n1),
        "expected an event, got n1",
    ),
    (
        "synchronize_stream of None",
        lambda w, _: w.gpu.synchronize_stream(None),
        "expected a stream, got None",
    ),
    ("query of None", lambda w, _: w.gpu.query(None), "expected an event, got None"),
    ("poll of a stream", lambda w, _: w.gpu.poll(w.n1), "expected an event, got n1"),
    ("destroy of an event", lambda w, _: w.gpu.destroy(w.e1), "expected a stream, got e1"),
    ("join of None", lambda w, _: w.gpu.join(None), "expected a host thread, got None"),
    (
        "acquire of a queue",
        lambda w, _: w.gpu.acquire(w.gpu.queue(name="q")),
        "expected a lock, got q",
    ),
    ("get of a lock", lambda w, _: w.gpu.get(w.gpu.lock("L")), "expected a queue, got L"),
    ("put of a list", lambda w, _: w.gpu.queue(name="q").put([1]), ITEM),
    ("thread of a string", lambda w, _: w.gpu.thread("f"), "thread() takes a function, not 'f'"),
    ("a stream's name", lambda w, _: w.gpu.stream(1), "a stream's name must be a string, not 1"),
    (
        "an event's name",
        lambda w, _: w.gpu.event(None),
        "an event's name must be a string, not None",
    ),
    (
        "a buffer's name",
        lambda w, _: w.gpu.device(("D",)),
        "a buffer's name must be a string, not ('D',)",
    ),
    (
        "a string for parts",
        lambda w, _: w.gpu.device("X", parts="plan"),
        "buffer 'X': parts is an iterable of names, not the string 'plan'",
    ),
    (
        "expects a region version",
        lambda w, _: w.DD.expect(("a",), w.D),
        "a version is a number or a string, not D",
    ),
    (
        "expects data",
        lambda w, _: w.DD.expect(("a",), w.gpu.read(w.P)),
        "a version is a number or a string, not <data read from P>",
    ),
    (
        "read, data expected",
        lambda w, _: w.gpu.read(w.P, expect=w.gpu.read(w.P)),
        "a version is a number or a string, not <data read from P>",
    ),
    # --- streams that may not be used ------------------------------------------------------
    ("destroy NULL", lambda w, _: w.N.destroy(), "the NULL stream cannot be destroyed"),
    ("destroyed: launch", after_destroy(lambda w: w.k("K", w.n1)), GONE),
    ("destroyed: record", after_destroy(lambda w: w.e1.record(w.n1)), GONE),
    ("destroyed: wait", after_destroy(lambda w: w.n1.wait(w.e1)), GONE),
    ("destroyed: synchronize", after_destroy(lambda w: w.n1.synchronize()), GONE),
    ("destroyed: query", after_destroy(lambda w: w.n1.query()), GONE),
    ("destroyed: copy", after_destroy(lambda w: w.gpu.memcpy_async(w.D, w.P, w.n1)), GONE),
    ("destroyed: staged copy", after_destroy(lambda w: w.gpu.memcpy_async(w.D, w.G, w.n1)), GONE),
    ("destroyed: host copy", after_destroy(lambda w: w.gpu.memcpy_async(w.Q, w.P, w.n1)), GONE),
    ("destroyed: fill", after_destroy(lambda w: w.gpu.memset_async(w.D, 0, w.n1)), GONE),
    ("destroyed: again", after_destroy(lambda w: w.n1.destroy()), GONE),
    # --- queues, choices, reasons, properties ----------------------------------------------
    ("capacity 0", lambda w, _: w.gpu.queue(0, "q"), CAPACITY),
    ("capacity -1", lambda w, _: w.gpu.queue(-1, "q"), CAPACITY),
    ("capacity True", lambda w, _: w.gpu.queue(True, "q"), CAPACITY),
    ("capacity 1.5", lambda w, _: w.gpu.queue(1.5, "q"), CAPACITY),
    ("no options", lambda w, _: w.gpu.choose(), "choose() needs at least one option"),
    (
        "no reason",
        lambda w, _: w.gpu.sync_allowed("").__enter__(),
        "sync_allowed() needs a reason in words",
    ),
    (
        "a blank reason",
        lambda w, _: w.gpu.sync_allowed(" ").__enter__(),
        "sync_allowed() needs a reason in words",
    ),
    (
        "reason None",
        lambda w, _: w.gpu.sync_allowed(None).__enter__(),
        "sync_allowed() needs a reason in words",
    ),
    ("concurrent with None", lambda w, _: w.gpu.concurrent(None, w.k("K", w.n1)), CONCURRENT),
    ("concurrent, second None", lambda w, _: w.gpu.concurrent(w.k("K", w.n1), None), CONCURRENT),
    ("concurrent, a buffer", lambda w, _: w.gpu.concurrent(w.k("K", w.n1), w.D), CONCURRENT),
    # --- data on which nothing may depend --------------------------------------------------
    ("data: if", on_data(bool), ON_DATA),
    ("data: not", on_data(lambda x: not x), ON_DATA),
    ("data: int", on_data(int), ON_DATA),
    ("data: float", on_data(float), ON_DATA),
    ("data: ==", on_data(lambda x: x == 1), ON_DATA),
    ("data: !=", on_data(lambda x: x != 1), ON_DATA),
    ("data: <", on_data(lambda x: x < 1), ON_DATA),
    ("data: as an index", on_data(lambda x: [1, 2][x]), ON_DATA),
    ("data: range", on_data(range), ON_DATA),
    ("data: as a key", on_data(lambda x: {1: 2}[x]), ON_DATA),
    ("data: in a set", on_data(lambda x: {x}), ON_DATA),
    ("data: in", on_data(lambda x: x in (1, 2)), ON_DATA),
    ("data: in a name", on_data(lambda x: f"slot{x}"), ON_DATA),
    ("data: + 1", on_data(lambda x: x + 1), ON_DATA),
    ("data: % 2", on_data(lambda x: x % 2), ON_DATA),
    ("data: 2 *", on_data(lambda x: 2 * x), ON_DATA),
    ("data: // 2", on_data(lambda x: x // 2), ON_DATA),
    ("data: minus", on_data(lambda x: -x), ON_DATA),
    ("data: iterated", on_data(list), ON_DATA),
    ("data: its element", on_data(lambda x: x[0]), ON_DATA),
    ("data: len", on_data(len), ON_DATA),
    (
        "data: as a version",
        lambda w, _: w.gpu.write(w.P, w.gpu.read(w.P)),
        "a version is a number or a string, not <data read from P>",
    ),
    (
        "data: queued",
        lambda w, _: w.gpu.queue(name="q").put(w.gpu.read(w.P)),
        ITEM.replace("[1]", "<data read from P>"),
    ),
]


@pytest.mark.parametrize(("misuse", "message"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS])
def test_refused(
    world: World, other: World, misuse: Callable[[World, World], object], message: str
) -> None:
    """The call is refused with this text, and carries nothing out."""
    with pytest.raises(BadProtocol) as refused:
        misuse(world, other)
    assert str(refused.value) == message
