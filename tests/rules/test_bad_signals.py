"""Misuse of host functions, cells and agents, with the exact texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder.model.errors import BadProtocol

if TYPE_CHECKING:
    from collections.abc import Callable

    # The fixtures' types: test modules cannot import conftest.
    World = Any


ELSEWHERE = " belongs to another Gpu: make it inside the protocol, from the gpu it is given"
NOT_A_BUFFER = "expected a buffer or a part of one, got "
ON_DEVICE = "a host function cannot access device buffer 'D'"
WORD = "a cell holds a whole number, not "

# (case, misuse, the text of the refusal)
MISUSE: list[tuple[str, Callable[[World, World], object], str]] = [
    (
        "host function on None",
        lambda w, _: w.gpu.host_func("f", None),
        "expected a stream, got None",
    ),
    ("host function reads the device", lambda w, _: w.gpu.host_func("f", w.n1, [w.D]), ON_DEVICE),
    (
        "host function writes the device",
        lambda w, _: w.gpu.host_func("f", w.n1, (), {w.D: 1}),
        ON_DEVICE,
    ),
    (
        "host function copies the device",
        lambda w, _: w.gpu.host_func("f", w.n1, (), {w.P: w.D}),
        ON_DEVICE,
    ),
    (
        "host function writes a list",
        lambda w, _: w.gpu.host_func("f", w.n1, (), [w.P]),
        "writes is a mapping from regions to versions",
    ),
    (
        "host function, another's stream",
        lambda w, o: w.gpu.host_func("f", o.n1),
        f"stream n1{ELSEWHERE}",
    ),
    (
        "host function on a destroyed stream",
        lambda w, _: (w.n1.destroy(), w.gpu.host_func("f", w.n1)),
        "stream 'n1' was destroyed earlier: make a new one",
    ),
    ("cell's name", lambda w, _: w.gpu.cell(1), "a cell's name must be a string, not 1"),
    ("set a string", lambda w, _: w.gpu.cell("F").set("1"), f"{WORD}'1'"),
    ("set True", lambda w, _: w.gpu.cell("F").set(True), f"{WORD}True"),
    ("wait for 1.5", lambda w, _: w.gpu.cell("F").wait(1.5), f"{WORD}1.5"),
    (
        "write_value None",
        lambda w, _: w.gpu.write_value(w.n1, w.gpu.cell("F"), None),
        f"{WORD}None",
    ),
    ("wait_value None", lambda w, _: w.gpu.wait_value(w.n1, w.gpu.cell("F"), None), f"{WORD}None"),
    (
        "write_value to a buffer",
        lambda w, _: w.gpu.write_value(w.n1, w.P, 1),
        "expected a cell, got P",
    ),
    (
        "wait_value for a buffer",
        lambda w, _: w.gpu.wait_value(w.n1, w.P, 1),
        "expected a cell, got P",
    ),
    (
        "write_value on None",
        lambda w, _: w.gpu.write_value(None, w.gpu.cell("F"), 1),
        "expected a stream, got None",
    ),
    (
        "wait_value on an event",
        lambda w, _: w.gpu.wait_value(w.e1, w.gpu.cell("F"), 1),
        "expected a stream, got e1",
    ),
    (
        "another's cell",
        lambda w, o: w.gpu.write_value(w.n1, o.gpu.cell("F"), 1),
        f"cell F{ELSEWHERE}",
    ),
    ("set another's cell", lambda w, o: w.gpu.set_cell(o.gpu.cell("F"), 1), f"cell F{ELSEWHERE}"),
    (
        "write_value on a destroyed stream",
        lambda w, _: (w.n1.destroy(), w.gpu.write_value(w.n1, w.gpu.cell("F"), 1)),
        "stream 'n1' was destroyed earlier: make a new one",
    ),
    ("a kernel reads a cell", lambda w, _: w.k("K", w.n1, [w.gpu.cell("F")]), f"{NOT_A_BUFFER}F"),
    ("agent's name", lambda w, _: w.gpu.agent(None), "an agent's name must be a string, not None"),
    ("agent reads None", lambda w, _: w.gpu.agent("nic").read(None), f"{NOT_A_BUFFER}None"),
    (
        "agent writes a list",
        lambda w, _: w.gpu.agent("nic").write(w.D, [1]),
        "a version must be hashable, not [1]",
    ),
    (
        "agent expects a list",
        lambda w, _: w.gpu.agent("nic").read(w.D, expect=[1]),
        "a version must be hashable, not [1]",
    ),
    ("agent, another's buffer", lambda w, o: w.gpu.agent("nic").read(o.D), f"region D{ELSEWHERE}"),
    (
        "another's agent",
        lambda w, o: w.gpu.post(o.gpu.agent("nic"), w.D, writes=False),
        f"agent nic{ELSEWHERE}",
    ),
    (
        "post of a stream",
        lambda w, _: w.gpu.post(w.n1, w.D, writes=False),
        "expected an agent, got n1",
    ),
    (
        "host function without a name",
        lambda w, _: w.gpu.host_func(7, w.n1),
        "a host function's name must be a string, not 7",
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


def test_agent_writes_something(world: World) -> None:
    """A post that should write is never silently a read: None is no version."""
    try:
        world.gpu.agent("nic").write(world.D, None)
    except BadProtocol:
        return
    assert world.rec.holds("nic writes D=None")


def test_host_function_takes_an_expectation(world: World) -> None:
    """`reads` of a host function takes what `launch` takes."""
    world.gpu.host_func("f", world.n1, world.PP.expect(("a",), 1))
    assert world.rec.holds("f reads PP.a=1")
