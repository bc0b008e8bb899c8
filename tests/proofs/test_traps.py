"""Step loops that a careless proof would call right: each is wrong, late or by hidden state.

None may come out PROVED. Where the hazard is within the proof's reach it must be found; where the
state is hidden the proof must say why it gives up.
"""

from __future__ import annotations

import itertools
import random
import time
from typing import TYPE_CHECKING, Any

import pytest

from streamorder import Gpu, Outcome, check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LATE = 40
counter = 0


class Counting:
    """A counter in a class attribute."""

    number = 0


def objects(gpu: Gpu) -> tuple[Any, ...]:
    """Two streams, an event, a buffer that one writes and the other reads."""
    return gpu.stream("s"), gpu.stream("t"), gpu.event("e"), gpu.device("d")


def step(gpu: Gpu, things: tuple[Any, ...], s: Any, *, waits: bool) -> None:
    """Write on one stream, read on the other; without the wait the read races."""
    one, two, event, d = things
    one.wait(event)
    gpu.launch("make", one, writes={d: s})
    event.record(one)
    if waits:
        two.wait(event)
    gpu.launch("use", two, reads={d: s})
    event.record(two)


def at_step_40(gpu: Gpu) -> None:
    """The step number itself."""
    things = objects(gpu)
    for s in gpu.steps():
        step(gpu, things, s, waits=s != LATE)


def local_counter(gpu: Gpu) -> None:
    """A counter in a local."""
    things, number = objects(gpu), 0
    for s in gpu.steps():
        number += 1  # noqa: SIM113 - what is tested
        step(gpu, things, s, waits=number != LATE)


def counter_in_a_list(gpu: Gpu) -> None:
    """A counter in a container."""
    things, number = objects(gpu), [0]
    for s in gpu.steps():
        number[0] += 1
        step(gpu, things, s, waits=number[0] != LATE)


def module_counter(gpu: Gpu) -> None:
    """A global."""
    global counter  # noqa: PLW0603 - it is what is tested
    things, counter = objects(gpu), 0
    for s in gpu.steps():
        counter += 1
        step(gpu, things, s, waits=counter != LATE)


def class_counter(gpu: Gpu) -> None:
    """A class attribute."""
    things, Counting.number = objects(gpu), 0
    for s in gpu.steps():
        Counting.number += 1
        step(gpu, things, s, waits=Counting.number != LATE)


def counted(seen: list[int] = []) -> int:  # noqa: B006 - it is what is tested
    """A mutable default: how often this was called."""
    seen.append(1)
    return len(seen)


def mutable_default(gpu: Gpu) -> None:
    """A default argument that changes."""
    things = objects(gpu)
    counted.__defaults__[0].clear()  # type: ignore[index]
    for s in gpu.steps():
        step(gpu, things, s, waits=counted() != LATE)


def closure(gpu: Gpu) -> None:
    """A variable of an enclosing function."""
    things, number = objects(gpu), 0

    def count() -> int:
        nonlocal number
        number += 1
        return number

    for s in gpu.steps():
        step(gpu, things, s, waits=count() != LATE)


def instance(gpu: Gpu) -> None:
    """An attribute of the protocol's own object."""
    things, own = objects(gpu), Counting()
    own.number = 0
    for s in gpu.steps():
        own.number = own.number + 1
        step(gpu, things, s, waits=own.number != LATE)


def zipped(gpu: Gpu) -> None:
    """An iterator around the loop."""
    things = objects(gpu)
    pattern = itertools.cycle([True] * (LATE - 1) + [False])
    for s, waits in zip(gpu.steps(), pattern, strict=False):
        step(gpu, things, s, waits=waits)


def enumerated(gpu: Gpu) -> None:
    """`enumerate` keeps a number of its own."""
    things = objects(gpu)
    for number, s in enumerate(gpu.steps()):
        step(gpu, things, s, waits=number != LATE)


def an_iterator(gpu: Gpu) -> None:
    """An iterator in a local."""
    things, numbers = objects(gpu), iter(range(10**6))
    for s in gpu.steps():
        step(gpu, things, s, waits=next(numbers) != LATE)


def a_generator(gpu: Gpu) -> None:
    """A generator in a local."""
    things, numbers = objects(gpu), (n for n in range(10**6))
    for s in gpu.steps():
        step(gpu, things, s, waits=next(numbers) != LATE)


def inside_a_generator(gpu: Gpu) -> None:
    """A generator around the loop."""
    things = objects(gpu)

    def steps() -> Iterator[Any]:
        yield from gpu.steps()

    for number, s in enumerate(steps()):
        step(gpu, things, s, waits=number != LATE)


def randomly(gpu: Gpu) -> None:
    """A random number."""
    things, source = objects(gpu), random.Random(1)  # noqa: S311 - what is tested
    for s in gpu.steps():
        step(gpu, things, s, waits=source.random() > 1 / LATE)


def by_the_clock(gpu: Gpu) -> None:
    """A clock."""
    things = objects(gpu)
    begun = time.monotonic()
    for s in gpu.steps():
        step(gpu, things, s, waits=time.monotonic() < begun + 3600)


def by_identity(gpu: Gpu) -> None:
    """The address of an object."""
    things = objects(gpu)
    for s in gpu.steps():
        step(gpu, things, s, waits=id(object()) != LATE)


def text_of_the_step(gpu: Gpu) -> None:
    """The step as text."""
    things = objects(gpu)
    for s in gpu.steps():
        step(gpu, things, s, waits=str(s) != str(LATE))


def second_loop(gpu: Gpu) -> None:
    """A second loop, whose first step meets what the first loop left."""
    one, two, event, d = objects(gpu)
    for s in gpu.steps():
        step(gpu, (one, two, event, d), s, waits=True)
    for s in gpu.steps():
        gpu.launch("make", one, writes={d: s})


def free_after_the_loop(gpu: Gpu) -> None:
    """Wrong only from as many steps on as there are slots: the last one's reader is not awaited."""
    stream, slots = gpu.stream("s"), [gpu.pinned(f"slot{n}") for n in range(5)]
    d, events = gpu.device("d"), [gpu.event(f"e{n}") for n in range(5)]
    for s in gpu.steps():
        events[s % 5].synchronize()
        gpu.write(slots[s % 5], s)
        gpu.memcpy_async(d, slots[s % 5], stream)
        events[s % 5].record(stream)
    for event in events[:4]:
        event.synchronize()
    gpu.write(slots[4], -1)


def an_old_version(gpu: Gpu) -> None:
    """A read that expects what was there two steps before, from a buffer written every third."""
    stream, d = gpu.stream("s"), gpu.device("d")
    gpu.launch("first", stream, writes={d: -2})
    for s in gpu.steps():
        gpu.launch("use", stream, reads={d: s - 2})
        if s % 3 == 0:
            gpu.launch("make", stream, writes={d: s - 1})
        else:
            gpu.launch("make", stream, writes={d: s - 1})
        if s > 7:
            gpu.launch("make", stream, writes={d: s})


def a_slot_too_few(gpu: Gpu) -> None:
    """Pinned slots used again before the copy has read them."""
    stream, slots, d = gpu.stream("s"), [gpu.pinned("a"), gpu.pinned("b")], gpu.device("d")
    for s in gpu.steps():
        gpu.write(slots[s % 2], s)
        gpu.memcpy_async(d, slots[s % 2], stream)
        gpu.launch("use", stream, reads={d: s})


def attribute_of_the_gpu(gpu: Any) -> None:
    """An attribute that the protocol gives to `gpu`."""
    things, gpu.number = objects(gpu), 0
    for s in gpu.steps():
        gpu.number += 1
        step(gpu, things, s, waits=gpu.number != LATE)


def globals_of_a_function(gpu: Gpu) -> None:
    """A global that no code names."""
    things, names = objects(gpu), step.__globals__
    names["hidden"] = 0
    for s in gpu.steps():
        names["hidden"] += 1
        step(gpu, things, s, waits=names["hidden"] != LATE)


class Numbers(list[int]):
    """A list with an attribute of its own."""

    number = 0


class Number(int):
    """A number with an attribute of its own."""

    number = 0


class Table(dict[str, int]):
    """A dict with an attribute of its own."""

    number = 0


def attribute_of(thing: Any) -> Callable[[Gpu], None]:
    """A counter in an attribute of an instance of a builtin's subclass."""

    def body(gpu: Gpu) -> None:
        things, own = objects(gpu), thing()
        for s in gpu.steps():
            own.number += 1
            step(gpu, things, s, waits=own.number != LATE)

    body.__name__ = f"attribute_of_{thing.__name__}"
    return body


def serial_number(gpu: Gpu) -> None:
    """How many objects were made, told by a new one."""
    things, first = objects(gpu), gpu.event("first").serial
    for s in gpu.steps():
        step(gpu, things, s, waits=gpu.event("new").serial != first + LATE)


REFUTED = [
    at_step_40, local_counter, counter_in_a_list, module_counter, class_counter, mutable_default,
    closure, instance, attribute_of_the_gpu, free_after_the_loop, an_old_version, a_slot_too_few,
]  # fmt: skip
HIDDEN = [
    zipped, enumerated, an_iterator, a_generator, inside_a_generator, randomly, by_the_clock,
    by_identity, text_of_the_step, second_loop, globals_of_a_function, serial_number,
    attribute_of(Numbers), attribute_of(Number), attribute_of(Table),
]  # fmt: skip


@pytest.mark.parametrize("body", REFUTED, ids=lambda body: body.__name__)
def test_found(body: Callable[[Gpu], None]) -> None:
    """The hazard is within reach of the proof's search, however late."""
    found = check(body, prove=True)
    assert found.outcome is not Outcome.PROVED
    assert found.outcome is Outcome.REFUTED or found.unproved


@pytest.mark.parametrize("body", HIDDEN, ids=lambda body: body.__name__)
def test_given_up(body: Callable[[Gpu], None]) -> None:
    """What cannot be seen through ends in a bounded verdict that says why."""
    found = check(body, prove=True)
    assert found.outcome in {Outcome.HOLDS, Outcome.REFUTED}
    assert found.outcome is Outcome.REFUTED or found.unproved


def test_late_steps_are_reached() -> None:
    """The step number's own constant is followed past any fixed bound."""
    found = check(at_step_40, prove=True)
    assert found.outcome is Outcome.REFUTED
    assert found.steps is not None
    assert found.steps > LATE


def test_pageable_snapshot() -> None:
    """A pageable source under the contract that leaves its snapshot open is not proved."""

    def body(gpu: Gpu) -> None:
        stream, d, h = gpu.stream("s"), gpu.device("d"), gpu.pageable("h")
        for s in gpu.steps():
            gpu.write(h, s)
            gpu.memcpy_async(d, h, stream)
            gpu.launch("use", stream, reads={d: s})

    assert check(body, "cuda", prove=True).outcome is Outcome.PROVED
    assert check(body, "cuda-hmm", prove=True).outcome is Outcome.UNDETERMINED
