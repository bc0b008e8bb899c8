"""Python state that host threads share, wherever it is kept: set between two calls, and set back.

Only what a thread can reach shows it: both threads make the same calls in every trace.
"""

from __future__ import annotations

import abc
import collections
import functools
import math
import operator
import os
import random
import threading
import types
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

import pytest

from streamorder import BadInput, Gpu, Outcome, check

Ways = tuple[Callable[[int], object], Callable[[], object]]


class Counted:
    """An attribute of a class, by hand or by methods of it."""

    n = 0

    @classmethod
    def put(cls, value: int) -> None:
        """Write it."""
        cls.n = value


class Meta(type):
    """Attributes of a class of classes."""

    n = 0


class WithMeta(metaclass=Meta):
    """One of its classes."""


class Derived(Counted):
    """Another class's attribute, inherited."""


class Abstract(abc.ABC):  # noqa: B024 - what is tested
    """A class that remembers answers of `isinstance`."""

    n = 0


class Kind(Enum):
    """A member of an enumeration."""

    ONE = 1


class ListOf(list[int]):
    """A list with attributes."""


class IntOf(int):
    """A number with attributes."""


class Pair(NamedTuple):
    """Named fields."""

    left: list[int]
    right: int


class Private:
    """A slot whose name is mangled."""

    __slots__ = ("__n",)

    def __init__(self) -> None:
        self.__n = 0

    def put(self, value: int) -> None:
        """Write it."""
        self.__n = value

    def get(self) -> int:
        """Read it."""
        return self.__n


class Slots:
    """A value that moves from slot to slot."""

    __slots__ = ("one", "two")

    def __init__(self) -> None:
        self.one = 1

    def put(self, value: int) -> None:
        """Move it."""
        if value:
            self.two = self.one
            del self.one
        else:
            self.one = self.two
            del self.two


class Mistake(Exception):
    """An exception."""


def function() -> None:
    """A function with attributes."""


@functools.cache
def remembered() -> list[int]:
    """A list that a cache keeps."""
    return [0]


@functools.lru_cache(maxsize=4)
def bounded(_key: str) -> list[int]:
    """The same in a bounded cache."""
    return [0]


def attribute(thing: Any) -> Ways:
    """An attribute of this."""
    thing.n = 0
    return lambda value: setattr(thing, "n", value), lambda: thing.n


def item(kept: Any) -> Ways:
    """An item of this."""
    return lambda value: operator.setitem(kept, 0, value), lambda: kept[0]


def by_append(kept: list[int]) -> Ways:
    """A list, by methods of it that are kept."""
    append, pop = kept.append, kept.pop
    return lambda value: append(1) if value else pop(), lambda: len(kept)


def by_slots() -> Ways:
    """Two slots."""
    thing = Slots()
    return thing.put, lambda: hasattr(thing, "two")


def by_private() -> Ways:
    """A mangled slot."""
    thing = Private()
    return thing.put, thing.get


def by_class_method() -> Ways:
    """A class that only its own method writes."""
    return Counted.put, lambda: Counted.n


def by_args() -> Ways:
    """The arguments of an exception."""
    thing = Mistake(0)
    return lambda value: setattr(thing, "args", (value,)), lambda: thing.args[0]


def by_seed(own: Any) -> Ways:
    """Random numbers of one's own, or everybody's."""
    own.seed(0)
    start = own.getstate()
    return own.seed, lambda: own.getstate() != start


def by_everybody() -> Ways:
    """The random numbers of the module."""
    random.seed(0)
    start = random.getstate()
    return lambda value: random.seed(value), lambda: random.getstate() != start  # noqa: PLW0108


def by_environment() -> Ways:
    """The environment."""
    os.environ["NOTED"] = "0"
    return (
        lambda value: operator.setitem(os.environ, "NOTED", str(value)),
        lambda: int(os.environ["NOTED"]),
    )


def by_lock() -> Ways:
    """Python's own lock."""
    lock = threading.Lock()
    return lambda value: lock.acquire() if value else lock.release(), lock.locked


def by_math() -> Ways:
    """An attribute of a module of the standard library."""
    module: Any = math
    module.n = 0

    def put(value: int) -> None:
        module.n = value

    return put, lambda: module.n


def by_other_module() -> Ways:
    """An attribute of a module of the user's."""
    import sys

    return attribute(sys.modules[__name__])


def by_class() -> Ways:
    """The class of an object."""
    thing = Counted()
    return (
        lambda value: setattr(thing, "__class__", Derived if value else Counted),
        lambda: type(thing) is Derived,
    )


STATE: dict[str, Callable[[Gpu], Ways]] = {
    "class": lambda _: attribute(Counted),
    "class by its method": lambda _: by_class_method(),
    "class of classes": lambda _: attribute(Meta),
    "class with a class of its own": lambda _: attribute(WithMeta),
    "abstract class": lambda _: attribute(Abstract),
    "class of an object": lambda _: by_class(),
    "enumeration": lambda _: attribute(Kind.ONE),
    "gpu": attribute,
    "function": lambda _: attribute(function),
    "partial": lambda _: attribute(functools.partial(print)),
    "list of one's own": lambda _: attribute(ListOf()),
    "number of one's own": lambda _: attribute(IntOf(0)),
    "namespace": lambda _: attribute(types.SimpleNamespace()),
    "named tuple": lambda _: item(Pair([0], 0).left),
    "default dict": lambda _: item(collections.defaultdict(int)),
    "ordered dict": lambda _: item(collections.OrderedDict({0: 0})),
    "user list": lambda _: item(collections.UserList([0])),
    "cached list": lambda _: item(remembered()),
    "list in a bounded cache": lambda _: item(bounded("key")),
    "cached list by the cache": lambda _: (
        lambda value: operator.setitem(remembered(), 0, value),
        lambda: remembered()[0],
    ),
    "bound methods": lambda _: by_append([]),
    "exception": lambda _: by_args(),
    "random numbers": lambda _: by_seed(random.Random(0)),  # noqa: S311 - no secret
    "everybody's random numbers": lambda _: by_everybody(),
    "environment": lambda _: by_environment(),
    "lock": lambda _: by_lock(),
    "slots": lambda _: by_slots(),
    "mangled slot": lambda _: by_private(),
    "module of the library": lambda _: by_math(),
    "module of the user": lambda _: by_other_module(),
}


@pytest.mark.parametrize("kept", STATE)
def test_it_is_refused(kept: str) -> None:
    """Each thread makes the same calls in every trace, and yet one depends on the other."""

    def body(gpu: Gpu) -> None:
        s, t, d = gpu.stream("s"), gpu.stream("t"), gpu.device("d")
        x, y = gpu.pinned("x"), gpu.pinned("y")
        put, get = STATE[kept](gpu)

        def other() -> None:
            gpu.write(x, 0)
            put(1)
            gpu.write(x, 1)
            put(0)

        gpu.thread(other)
        gpu.launch("one", s, writes={d: 1})
        gpu.write(y, 1)
        if not get():
            s.synchronize()
        gpu.launch("two", t, writes={d: 2})

    with pytest.raises(BadInput, match=r"host thread 'other' shares Python state"):
        check(body)


HIDDEN: dict[str, Callable[[], Any]] = {
    "memory view": lambda: memoryview(bytearray(1)),
    "iterator in a namespace": lambda: types.SimpleNamespace(work=iter([1])),
    "iterator in a user list": lambda: collections.UserList([iter([1])]),
    "keys of a dict": {"a": 1}.keys,
    "thread local": threading.local,
}


@pytest.mark.parametrize("kept", HIDDEN)
def test_what_hides_its_state_is_refused(kept: str) -> None:
    """Nobody could see whether it has changed."""
    thing = HIDDEN[kept]()
    with pytest.raises(BadInput, match=r"host threads share an (object|iterator)"):
        check(lambda gpu: gpu.thread(lambda: repr(thing)).join())


@functools.cache
def squared(number: int) -> int:
    """A pure function that is cached."""
    return number * number


def harmless(gpu: Gpu) -> None:
    """What a host thread may use: it is no state, or does not change."""
    fields = {"kept": (1, 2.5, float("nan")), "kind": Kind.ONE}
    fixed = types.MappingProxyType(fields)
    assert squared(3) + math.floor(2.5) + len(fixed) == 13
    assert isinstance(gpu, Gpu)
    assert isinstance(Pair([], 0), tuple)
    assert not issubclass(int, Abstract)
    assert os.fspath("a") == "a"
    print("in a host thread", threading.Lock())  # noqa: T201 - what is tested
    gpu.launch(Kind.ONE.name, gpu.stream("s"))


def test_what_does_not_change_may_be_shared() -> None:
    """Constants, classes, caches of pure functions, modules of the standard library."""
    squared.cache_clear()

    def body(gpu: Gpu) -> None:
        op = gpu.launch("before", gpu.null_stream)
        threads = [gpu.thread(harmless, gpu), gpu.thread(lambda: (op, harmless(gpu))[1])]
        squared(4)
        for thread in threads:
            thread.join()

    assert check(body).outcome is Outcome.HOLDS


def test_an_item_of_a_queue_has_no_attributes() -> None:
    """A number with attributes could carry state from thread to thread."""
    with pytest.raises(BadInput, match="an item must be immutable"):
        check(lambda gpu: gpu.queue().put(IntOf(1)))
