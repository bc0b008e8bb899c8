"""Loops that go wrong late, by state that is easily overlooked: none of them may be proved."""

from __future__ import annotations

import os
from collections import UserList, deque
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from streamorder import CUDA, Outcome, check, protocol
from streamorder.model import check as checking
from streamorder.model.prove import prove_readings

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Gpu

Waits = "Callable[[Any], bool]"


def stepped(gpu: Gpu, waits: Callable[[Any], bool]) -> None:
    """One stream fills a table, another uses it; nothing is wrong while the second waits."""
    one, two, done, table = gpu.stream("s"), gpu.stream("t"), gpu.event("e"), gpu.device("table")
    for s in gpu.steps():
        one.wait(done)
        gpu.launch("fill", one, writes={table: s})
        done.record(one)
        if waits(s):
            two.wait(done)
        gpu.launch("use", two, reads={table: s})
        done.record(two)


# --- the number of the step, in other words ---


def far(gpu: Gpu) -> None:
    """A difference compared with a constant."""
    stepped(gpu, lambda s: s - 6 != 0)


def below(gpu: Gpu) -> None:
    """The same the other way round."""
    stepped(gpu, lambda s: s - 10 <= -2)


def remembered(gpu: Gpu) -> None:
    """A step of five steps ago compared with a constant."""
    ages: list[Any] = [-1] * 5

    def waits(s: Any) -> bool:
        ages.append(s)
        return ages.pop(0) < 3

    stepped(gpu, waits)


def as_a_fraction(gpu: Gpu) -> None:
    """Compared with a number that is no `int`."""
    stepped(gpu, lambda s: s != 20 / 2)


def as_an_integer(gpu: Gpu) -> None:
    """Only where it is an `int`."""
    stepped(gpu, lambda s: not (isinstance(s, int) and s == 7))


def as_a_pattern(gpu: Gpu) -> None:
    """The same as a pattern."""

    def waits(s: Any) -> bool:
        match s:
            case int():
                return s != 7
            case _:
                return True

    stepped(gpu, waits)


def refusal_swallowed(gpu: Gpu) -> None:
    """What a proof refuses is caught, whatever it is."""

    def number(s: Any) -> int:
        try:
            return int(s)
        except:  # noqa: E722 - as somebody may write
            return 0

    stepped(gpu, lambda s: number(s) != 7)


# --- counters out of sight ---


class Private:
    """A private slot."""

    __slots__ = ("__at",)

    def __init__(self) -> None:
        self.__at = 0

    def tick(self) -> int:
        """One more."""
        self.__at += 1
        return self.__at


def in_a_private_slot(gpu: Gpu) -> None:
    """Its name in the class is another."""
    counter = Private()
    stepped(gpu, lambda _s: counter.tick() != 8)


def in_the_environment(gpu: Gpu) -> None:
    """Through a module that only a function's own import names."""

    def tick() -> int:
        import os as system

        system.environ["STREAMORDER_K"] = str(int(system.environ["STREAMORDER_K"]) + 1)
        return int(system.environ["STREAMORDER_K"])

    def reset() -> None:
        import os as system

        system.environ["STREAMORDER_K"] = "0"

    reset()
    stepped(gpu, lambda _s: tick() != 8)


class Told(Exception):
    """An exception as a box."""


def in_an_exception(gpu: Gpu) -> None:
    """In its arguments."""
    box = Told(0)

    def tick() -> int:
        box.args = (box.args[0] + 1,)
        return box.args[0]

    stepped(gpu, lambda _s: tick() != 8)


class Kind(Enum):
    """An enumeration with a member."""

    A = 1


def on(box: Any) -> Callable[[Gpu], None]:
    """A counter that is an attribute of something."""

    def body(gpu: Gpu) -> None:
        box.n = 0

        def tick() -> int:
            box.n += 1
            return box.n

        stepped(gpu, lambda _s: tick() != 8)

    return body


class Count(enumerate):  # type: ignore[type-arg]
    """A builtin iterator by another name."""


def in_an_iterator(gpu: Gpu) -> None:
    """In the position of an instance of a subclass."""
    count: Any = Count(range(10**6))

    def tick() -> int:
        for at, _item in count:
            return at
        return -1

    stepped(gpu, lambda _s: tick() != 8)


def in_a_capacity(gpu: Gpu) -> None:
    """In how much a deque may hold."""
    box: list[deque[int]] = [deque(maxlen=1)]

    def tick() -> int:
        box[0] = deque(box[0], maxlen=(box[0].maxlen or 0) + 1)
        return box[0].maxlen or 0

    stepped(gpu, lambda _s: tick() != 8)


def in_the_finger_of_a_set(gpu: Gpu) -> None:
    """In which element is taken next."""
    free = set(range(8))

    def waits(_s: Any) -> bool:
        slot = free.pop()
        free.add(slot)
        return slot != 6

    stepped(gpu, waits)


CALLS = [0]


class Meta(type):
    """A class of classes with a method that counts."""

    def tick(cls) -> int:
        """One more."""
        CALLS[0] += 1
        return CALLS[0]


class Counted(metaclass=Meta):
    """A class that counts."""


def in_a_metaclass(gpu: Gpu) -> None:
    """By a method of the class's class."""
    CALLS[0] = 0
    stepped(gpu, lambda _s: Counted.tick() != 8)


@protocol()
def one_more(gpu: Gpu) -> None:
    """A protocol that counts."""
    del gpu
    CALLS[0] += 1


def in_a_protocol(gpu: Gpu) -> None:
    """By another protocol that the loop calls; who reads it names it too."""
    CALLS[0] = 0

    def waits(_s: Any) -> bool:
        one_more(gpu)
        return CALLS[0] != 8

    stepped(gpu, waits)


def in_a_name(gpu: Gpu) -> None:
    """In the name of an event."""
    event = gpu.event("")
    event.name = ""

    def tick() -> int:
        event.name += "x"
        return len(event.name)

    stepped(gpu, lambda _s: tick() != 8)


class Version:
    """A version that is told apart by what its text does not show."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and other.n == self.n

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "V"


def in_a_version(gpu: Gpu) -> None:
    """Memory holds one of two that look the same."""
    s, table = gpu.stream("s"), gpu.device("table")
    for n in gpu.steps():
        if n % 8 == 0:
            gpu.launch("fill", s, writes={table: Version(gpu.choose(1, 2))})
        if n % 8 == 6:
            gpu.launch("use", s, reads={table: Version(1)})


class Flag:
    """A context manager that does wrong at its end, if it was told so."""

    def __init__(self, gpu: Gpu) -> None:
        self.bad, self.gpu = False, gpu
        self.s, self.t, self.b = gpu.stream("u"), gpu.stream("v"), gpu.device("b")

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_why: object) -> None:
        if self.bad:
            self.gpu.launch("w1", self.s, writes={self.b: 1})
            self.gpu.launch("w2", self.t, writes={self.b: 2})


def in_a_context(gpu: Gpu) -> None:
    """In a manager that nothing names any more."""
    one, table = gpu.stream("s"), gpu.device("table")
    flag: Any
    with Flag(gpu) as flag:
        for s in gpu.steps():
            gpu.launch("fill", one, writes={table: s})
            if s == 9:
                flag.bad = gpu.choose(False, True)
                flag = None  # noqa: PLW2901 - nothing names it any more


def in_equal_writes(gpu: Gpu) -> None:
    """Writes that need no order while they are equal: how old the one is depends on a choice."""
    one, two, table = gpu.stream("s"), gpu.stream("t"), gpu.device("table")
    late = False
    for n in gpu.steps():
        if n % 8 == 0:
            gpu.synchronize()
            late = gpu.choose(False, True)
        if n % 8 == int(late) and n % 8 < 2:
            gpu.launch("a", one, writes={table: gpu.idempotent(n)})
        if n % 8 == 6:
            gpu.launch("b", two, writes={table: gpu.idempotent(n - 6)})


HIDDEN: list[Any] = [
    *(far, below, remembered, as_a_fraction, as_an_integer, as_a_pattern, refusal_swallowed),
    *(in_a_private_slot, in_the_environment, in_an_exception, in_an_iterator, in_a_capacity),
    *(in_the_finger_of_a_set, in_a_metaclass, in_a_protocol, in_a_name, in_a_version),
    *(in_a_context, in_equal_writes),
    *(
        pytest.param(on(box), id=f"on_{type(box).__name__}")
        for box in (Kind.A, partial(len), UserList(), stepped, Counted)
    ),
]


@pytest.mark.parametrize("body", HIDDEN)
def test_is_not_proved(body: Any) -> None:
    """The search finds what is wrong, or says what it cannot see."""
    found = prove_readings(body, CUDA, {}, 10.0)
    assert not isinstance(found, list), found
    os.environ.pop("STREAMORDER_K", None)


@pytest.mark.parametrize("body", HIDDEN)
def test_goes_wrong_late(body: Any) -> None:
    """What a bounded run of many steps finds, so that these are traps at all."""
    assert check(body, "cuda", steps=8 if body is in_a_version else 24).outcome is Outcome.REFUTED


def test_a_check_looks_further_than_it_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were a proof wrong, or impossible, many steps would still be looked at."""
    assert check(as_a_fraction, "cuda", prove=True).outcome is Outcome.HOLDS
    monkeypatch.setattr(checking, "FARTHEST", 64)
    assert check(as_a_fraction, "cuda", prove=True).outcome is Outcome.REFUTED


def test_a_wrong_proof_is_doubted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bounded run that refutes what was proved says so."""
    proofs = prove_readings(partial(stepped, waits=lambda _s: True), CUDA, {}, 10.0)
    assert isinstance(proofs, list)
    monkeypatch.setattr("streamorder.model.prove.prove_readings", lambda *_args: proofs)
    monkeypatch.setattr(checking, "FARTHEST", 64)
    verdict = check(far, "cuda", prove=True)
    assert verdict.outcome is Outcome.REFUTED
    assert checking.DOUBTED in verdict.warnings


def test_a_loop_in_a_function_is_proved_again_and_again() -> None:
    """The interpreter replaces calls that it has seen often by others."""

    def waits(s: Any) -> bool:
        return bool(s >= 0)

    def body(gpu: Gpu) -> None:
        stepped(gpu, waits)

    for _ in range(30):
        assert isinstance(prove_readings(body, CUDA, {}, 10.0), list)


@pytest.mark.parametrize("use", ["n & 1", "divmod(n, 2)[1]", "int(70 - n > 66)", "n ** 2 % 2"])
def test_arithmetic_that_a_proof_does_not_follow(use: str) -> None:
    """Is no mistake of the protocol: it holds for the steps that were tried."""

    def body(gpu: Gpu) -> None:
        stream, buffers = gpu.stream("s"), [gpu.device("a"), gpu.device("b")]
        for n in gpu.steps():
            gpu.launch("k", stream, writes={buffers[eval(use, {"n": n})]: n})  # noqa: S307

    verdict = check(body, "cuda", prove=True)
    assert verdict.outcome is Outcome.HOLDS
    assert verdict.unproved is not None
