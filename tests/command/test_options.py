"""Options that are not a command's, and the names that a protocol's parameters may not have."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest

from streamorder import BadInput, audit, check, exhaustive, promela, protocol, repair, tla
from streamorder.model.protocol import TAKEN
from streamorder.report.design import gather
from streamorder.sim.simulate import simulate

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Gpu

SIDE = """
from streamorder import Gpu, protocol


@protocol()
def side(gpu: Gpu, turns: int = 2, fast: bool = False) -> None:
    d = gpu.device("d")
    gpu.launch("k", gpu.stream("s"), writes={d: 1})
"""

ELSEWHERE = """
prove side.py --steps 3
prove side.py --engine machine
prove side.py --prove 3
prove side.py --jobs 2
check side.py --prove 1
check side.py --limits 1
check side.py --target=1
repair side.py --limits 3
repair side.py --engine machine
repair side.py --runtime rocm-10
audit side.py --engine order
audit side.py --runtime rocm-10
doc side.py --steps 3 --out d3
export side.py --module M --tla -
simulate side.py --sizes 3
check side.py --html side.html
check side.py --step 4
check side.py --turn 4
check side.py --turns -1
check side.py --turns many
check side.py --fast 1
audit side.py --turn-s 4
explain side.py --depth 3
"""


def test_of_another_command(
    refuse: Callable[..., str], write: Callable[[str, str], str], snapshot: Callable[..., None]
) -> None:
    """Refused in one line that says which commands have it, or what could be meant."""
    write("side.py", SIDE)
    said = {words: refuse(*words.split()) for words in ELSEWHERE.strip().splitlines()}
    page = "".join(f"$ streamorder {words}\n{line}" for words, line in said.items())
    snapshot(page, "errors-options")


def test_a_wrong_parameter_in_another_process(
    refuse: Callable[..., str], write: Callable[[str, str], str]
) -> None:
    """It comes back from there as it is."""
    write("side.py", SIDE)
    assert "side.py:side has no parameter --turn;" in refuse(
        "check", "side.py", "--turn", "3", "--jobs", "2"
    )


@pytest.mark.parametrize(
    "taker",
    [audit, check, exhaustive, promela, tla, repair, gather, simulate],
    ids=lambda taker: taker.__name__,
)
def test_names_that_are_taken(taker: Callable[..., Any]) -> None:
    """Whatever hands a protocol its parameters takes no other name itself."""
    own = {
        name
        for name, one in inspect.signature(taker).parameters.items()
        if one.kind in {one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY}
    }
    assert own <= TAKEN


@pytest.mark.parametrize("name", ["steps", "contract", "seed", "jobs"])
def test_a_parameter_of_a_taken_name(
    name: str, refuse: Callable[..., str], write: Callable[[str, str], str]
) -> None:
    """Refused where it is declared, whatever it is decided with."""
    write("side.py", SIDE.replace("turns", name))
    said = refuse("check", "side.py")
    assert said.startswith(f"streamorder: side.py:4: protocol 'side': '{name}' cannot be a ")


def test_in_the_library() -> None:
    """The same mistakes, told of keywords."""

    @protocol
    def side(gpu: Gpu, turns: int = 2) -> None:
        gpu.launch("k", gpu.stream("s" * turns))

    with pytest.raises(BadInput, match="side has no parameter turn; it has: turns; did you mean t"):
        check(side, turn=3)
    with pytest.raises(BadInput, match="side: turns must be at least 0, not -1"):
        check(side, turns=-1)
    with pytest.raises(BadInput, match=r"^steps must be a positive whole number"):
        check(side, steps=0)


TWICE = """
check side.py --contract cuda --contract hip
check side.py --turns 1 --turns=2
check side.py --runtime rocm-10 --sweep queues=1..4 --sweep ring=1..2
check side.py --runtime rocm-10 --env GPU_MAX_HW_QUEUES=1 --env GPU_MAX_HW_QUEUES=2
check side.py --runtime rocm-10 --env GPU_MAX_HW_QUEUES=1 --sweep queues=1..4
explain side.py --runtime rocm-10 --env ROC_AQL_QUEUE_SIZE=8 --sweep ring=1..4
plan --lengths 3 --lengths 4
"""


def test_twice(
    refuse: Callable[..., str], write: Callable[[str, str], str], snapshot: Callable[..., None]
) -> None:
    """What is given twice, or set in two ways, is refused: the last would win unseen."""
    write("side.py", SIDE)
    said = {words: refuse(*words.split()) for words in TWICE.strip().splitlines()}
    page = "".join(f"$ streamorder {words}\n{line}" for words, line in said.items())
    snapshot(page, "errors-twice")


@pytest.mark.parametrize("thing", ["side.py", 3, None], ids=repr)
def test_what_is_no_protocol(thing: Any) -> None:
    """The library says what it takes instead."""
    with pytest.raises(BadInput, match="a protocol is a function f") as refused:
        check(thing, "cuda")
    assert str(refused.value).endswith(f"not {thing!r}")
