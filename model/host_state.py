"""Everything that a protocol's own Python can reach at a step boundary, in a normal form.

What the loop does next depends on its locals, on what its functions' closures, defaults and
globals hold, and on what these hold in turn. Numbers, strings and containers are walked, so are API
objects and instances of the protocol's own classes; steps count relative to the current one. What
cannot be seen through (a generator, a clock, somebody's C object) makes a proof impossible.
"""

from __future__ import annotations

import builtins
import sys
from collections import deque
from enum import Enum
from functools import partial
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import TYPE_CHECKING, Any

from .code_names import ATTRIBUTES, GLOBALS, IMPORTS, names
from .errors import Unprovable
from .gpu import Gpu
from .memory import Expectation, Idempotent, Opaque, Pairs, Region, Special
from .objects import Handle, Ticket
from .protocol import Protocol
from .step import Step
from .where import is_internal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType

SCALARS = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis), range, Special)
PURE_MODULES = frozenset(
    {"math", "typing", "collections", "contextlib", "__future__", "operator", "enum", "abc"}
)
PURE_BUILTINS = frozenset(
    [
        "abs",
        "all",
        "any",
        "bool",
        "bytes",
        "chr",
        "dict",
        "divmod",
        "enumerate",
        "filter",
        "float",
        "frozenset",
        "int",
        "isinstance",
        "issubclass",
        "len",
        "list",
        "map",
        "max",
        "min",
        "ord",
        "pow",
        "print",
        "range",
        "repr",
        "reversed",
        "round",
        "set",
        "slice",
        "sorted",
        "str",
        "sum",
        "super",
        "tuple",
        "zip",
        "property",
        "staticmethod",
        "classmethod",
        "object",
    ]
)


OF_GPU = frozenset(vars(Gpu(0))) | {"loop", "reading", "_call"}
SUBCLASSED = (int, float, complex, str, bytes, list, tuple, dict, set, frozenset, deque)
ENDED = (bool, Pairs)
INNARDS = frozenset(
    {"serial", "serials", "slot", "cells", "regions", "syncs", "frontier"}
    | {"attrgetter", "methodcaller", "format", "format_map"}
)
"""Attributes of API objects that count what was made or issued: another number in every step; and
what reaches attributes that no code names.
"""
PLAIN_BASES = PURE_MODULES | {"builtins", "streamorder"}
ORDERED = (int, str, bytes, type(None))
"""Elements whose order in a set depends on what was put and taken alone."""
OF_ENUM = frozenset({"_value_", "_name_", "__objclass__", "_sort_order_", "_hashable_values_"})
HARMLESS = frozenset({"__init__", "__name__", "__enter__", "__exit__", "__len__", "__post_init__"})


class HostState:
    """Walks what is reachable and numbers objects in the order in which it meets them.

    `made` says whether an object was made inside the step loop (it is then known by its place in
    the walk, not by itself); `temporaries` lists those met, `operations` the operations.
    """

    def __init__(self, now: int, is_temporary: Callable[[Handle], bool]) -> None:
        self.now = now
        self.is_temporary = is_temporary
        self.numbers: dict[int, int] = {}
        self.kept: list[object] = []
        self.temporaries: dict[Handle, int] = {}
        self.operations: dict[Ticket, int] = {}
        self.sets = self.pops = False
        self.walks: tuple[tuple[Any, Callable[[Any], tuple[Any, ...]]], ...] = (
            (FunctionType, self.function),
            (MethodType, self.method),
            (ModuleType, self.module),
            ((BuiltinFunctionType, WrapperDescriptorType), self.builtin),
            (type, self.cls),
            ((staticmethod, classmethod), self.wrapper),
            (property, self.attribute),
            (deque, self.queue),
            (partial, self.applied),
            (Protocol, self.protocol),
        )

    def of_frames(self, frames: Iterable[FrameType]) -> tuple[Any, ...]:
        """The normal form of everything that these frames and their code can reach."""
        found = tuple(
            (self.code(frame.f_code, frame.f_globals), self.mapping(frame.f_locals))
            for frame in frames
        )
        if self.sets and self.pops:
            raise Unprovable("the loop can reach a set and a pop(): which element comes is hidden")
        return found

    def of(self, thing: Any) -> Any:
        """The normal form of a thing."""
        if type(thing) in SCALARS or isinstance(thing, Special):
            return type(thing).__name__, thing if isinstance(thing, (int, str, bytes)) else repr(
                thing
            )
        if isinstance(thing, Step):
            return "step", self.now - thing.number
        if isinstance(thing, (Handle, Region, Ticket)):
            return self.of_api(thing)
        if isinstance(thing, CodeType):
            return "code"
        if isinstance(thing, Gpu):
            return "Gpu", self.mapping({n: v for n, v in vars(thing).items() if n not in OF_GPU})
        if id(thing) in self.numbers:
            return "again", self.numbers[id(thing)]
        self.numbers[id(thing)] = len(self.numbers)
        self.kept.append(thing)
        return self.composite(thing)

    def of_api(self, thing: Handle | Region | Ticket) -> tuple[Any, ...]:
        """An API object, a region, an operation."""
        if isinstance(thing, Ticket):
            return "operation", self.operations.setdefault(thing, len(self.operations))
        if isinstance(thing, Region):
            return "region", self.handle(thing.buffer), thing.index
        return self.handle(thing)

    def handle(self, thing: Handle) -> tuple[Any, ...]:
        """An API object: by its serial number, or by its place where a step made it."""
        if not self.is_temporary(thing):
            return type(thing).__name__, thing.serial, thing.name
        number = self.temporaries.setdefault(thing, len(self.temporaries))
        return type(thing).__name__, "temporary", number

    def composite(self, thing: Any) -> tuple[Any, ...]:
        """Containers, functions, classes and instances."""
        name = type(thing).__name__
        if (
            isinstance(thing, SUBCLASSED)
            and type(thing) not in SUBCLASSED
            and type(thing) not in ENDED
        ):
            return self.derived(thing, name)
        if isinstance(thing, (list, tuple)):
            return name, tuple(self.of(part) for part in thing)
        if isinstance(thing, dict):
            return name, self.mapping(thing)
        if isinstance(thing, (set, frozenset)):
            return name, self.elements(thing)
        if isinstance(thing, (Expectation, Idempotent, Pairs, Opaque)):
            return name, self.fields(thing)
        return self.callable_or_instance(thing, name)

    def elements(self, thing: set[Any] | frozenset[Any]) -> tuple[Any, ...]:
        """What a set holds, in the order in which it is gone through, where that is its own."""
        self.sets |= type(thing) is set
        found = [self.of(part) for part in thing]
        plain = all(isinstance(part, ORDERED) for part in thing)
        return tuple(found if plain else sorted(found, key=repr))

    def derived(self, thing: Any, name: str) -> tuple[Any, ...]:
        """An instance of a subclass of a builtin: only named tuples hold nothing else."""
        if isinstance(thing, Enum):
            return self.member(thing, name)
        if not isinstance(thing, tuple) or getattr(thing, "__dict__", None):
            raise Unprovable(f"the loop can reach a {name}, a builtin with attributes of its own")
        own = "class" if is_foreign(type(thing)) else self.of(type(thing))
        return name, own, tuple(self.of(part) for part in thing)

    def callable_or_instance(self, thing: Any, name: str) -> tuple[Any, ...]:
        """Functions and methods by what they reach; classes and instances of the protocol's own."""
        for kind, walk in self.walks:
            if isinstance(thing, kind):
                return walk(thing)
        if isinstance(thing, Enum):
            return self.member(thing, name)
        if type(thing).__module__ in PURE_MODULES:
            return name, self.fields(thing) or repr(thing)
        if is_foreign(type(thing)):
            raise Unprovable(
                f"the loop can reach a {name}, whose state cannot be seen: a proof knows numbers, "
                "strings, containers, API objects and the protocol's own classes"
            )
        for base in type(thing).__mro__:
            if base.__module__ not in PLAIN_BASES and is_foreign(base):
                raise Unprovable(f"the loop can reach a {name}, which is a {base.__qualname__}")
            # Of the builtins only exceptions show what they hold.
            shown = issubclass(base, BaseException) or base is object
            if base.__module__ == "builtins" and not shown:
                raise Unprovable(
                    f"the loop can reach a {name}, whose state as {base.__qualname__} is hidden"
                )
        return name, self.of(type(thing)), self.fields(thing)

    def member(self, thing: Enum, name: str) -> tuple[Any, ...]:
        """A member of an enumeration, with what else was put into it."""
        own = {n: v for n, v in vars(thing).items() if n not in OF_ENUM}
        return name, thing.name, self.mapping(own)

    def method(self, thing: Any) -> tuple[Any, ...]:
        """A bound method."""
        return "method", self.of(thing.__self__), self.of(thing.__func__)

    def queue(self, thing: deque[Any]) -> tuple[Any, ...]:
        """A deque, with how much it can hold."""
        return "deque", thing.maxlen, tuple(self.of(part) for part in thing)

    def applied(self, thing: Any) -> tuple[Any, ...]:
        """A function with some of its arguments."""
        parts = thing.func, thing.args, thing.keywords, vars(thing)
        return "partial", *(self.of(part) for part in parts)

    def protocol(self, thing: Protocol) -> tuple[Any, ...]:
        """Another protocol, which the loop may call."""
        return "protocol", self.of(thing.body), self.of(thing.parameters)

    def wrapper(self, thing: Any) -> tuple[Any, ...]:
        """A static or class method."""
        return "wrapper", self.of(thing.__func__)

    def attribute(self, thing: Any) -> tuple[Any, ...]:
        """A property."""
        return "property", self.of(thing.fget), self.of(thing.fset)

    def fields(self, thing: Any) -> tuple[Any, ...]:
        """An instance's attributes."""
        known = dict(slots_of(thing))
        if isinstance(thing, BaseException):
            known["args"] = thing.args
        return self.mapping({**known, **getattr(thing, "__dict__", {})})

    def mapping(self, thing: Any) -> tuple[Any, ...]:
        """A mapping, in its own order, which iteration can see."""
        return tuple((self.of(key), self.of(value)) for key, value in thing.items())

    def function(self, thing: FunctionType) -> tuple[Any, ...]:
        """A function: its closure, defaults and attributes, and what its code names."""
        if is_internal(thing.__code__.co_filename):
            return "function", thing.__qualname__
        cells = tuple(content(self, cell) for cell in thing.__closure__ or ())
        defaults = self.of(thing.__defaults__), self.of(thing.__kwdefaults__)
        named = self.code(thing.__code__, thing.__globals__)
        return "function", thing.__qualname__, cells, defaults, self.mapping(thing.__dict__), named

    def code(self, code: CodeType, known: dict[str, Any]) -> tuple[Any, ...]:
        """The globals that a piece of code, or code within it, can name."""
        found = []
        for name in names(code, IMPORTS):
            if name.partition(".")[0] not in PURE_MODULES | {"streamorder"}:
                raise Unprovable(f"the loop imports {name!r}, which may hold state")
        for name in names(code, ATTRIBUTES):
            self.pops |= name == "pop"
            if name in INNARDS or (name.startswith("__") and name not in HARMLESS):
                raise Unprovable(
                    f"the loop uses .{name}, through which it can see what a proof does not"
                )
        for name in names(code, GLOBALS):
            if name in known:
                found.append((name, self.of(known[name])))
            elif hasattr(builtins, name):
                found.append((name, self.builtin(getattr(builtins, name))))
        return tuple(found)

    def module(self, thing: ModuleType) -> tuple[Any, ...]:
        """A module without state, by name."""
        if thing.__name__.partition(".")[0] in PURE_MODULES | {"streamorder"}:
            return "module", thing.__name__
        raise Unprovable(f"the loop can reach the module {thing.__name__!r}, which may hold state")

    def builtin(self, thing: Any) -> tuple[Any, ...]:
        """A builtin that only computes."""
        name = getattr(thing, "__name__", repr(thing))
        known = (name in PURE_BUILTINS and name not in INNARDS) or (
            isinstance(thing, type) and issubclass(thing, BaseException)
        )
        if known or (getattr(thing, "__module__", "") in PURE_MODULES and name not in INNARDS):
            return "builtin", name
        raise Unprovable(f"the loop can reach {name}(), whose result a proof cannot foresee")

    def cls(self, thing: type) -> tuple[Any, ...]:
        """A class of the protocol's own: its attributes; any other by name."""
        if is_foreign(thing):
            if thing.__module__ == "builtins":
                return self.builtin(thing)
            if thing.__module__.partition(".")[0] in PURE_MODULES | {"streamorder"}:
                return "class", thing.__qualname__
            raise Unprovable(
                f"the loop can reach the class {thing.__qualname__!r} of {thing.__module__}"
            )
        skip = {"__dict__", "__weakref__", "__doc__", "__module__", "__slots__", "__annotations__"}
        own = {n: v for n, v in vars(thing).items() if n not in skip and not is_slot(v)}
        made_by = () if is_foreign(type(thing)) else self.of(type(thing))
        bases = tuple(self.of(base) for base in thing.__bases__)
        return "class", thing.__qualname__, bases, self.mapping(own), made_by


def is_slot(thing: object) -> bool:
    """Whether a class attribute only describes a slot."""
    return type(thing).__name__ in {"member_descriptor", "getset_descriptor"}


def slots_of(thing: object) -> Iterator[tuple[str, Any]]:
    """The slots that hold something, by their names in the class (a private one's is mangled)."""
    for cls in type(thing).__mro__:
        for name, slot in vars(cls).items():
            if type(slot).__name__ == "member_descriptor":
                try:
                    yield f"{cls.__qualname__}.{name}", slot.__get__(thing)
                except AttributeError:
                    continue


def is_foreign(cls: type) -> bool:
    """Whether a class is not the protocol's own: builtin, of a library, or Streamorder's."""
    module = sys.modules.get(cls.__module__)
    filename = getattr(module, "__file__", None)
    return filename is None or is_internal(filename) or "site-packages" in filename


def content(walk: HostState, cell: Any) -> Any:
    """What a closure cell holds."""
    try:
        return walk.of(cell.cell_contents)
    except ValueError:
        return "empty"
