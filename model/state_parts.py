"""What the state of a Python object is made of: parts in which every change of it shows.

`reader(cls)` tells how to read the parts of an object of a class. An object is read by the methods
of the built-in classes, so that nothing that a user has overridden runs.
"""

from __future__ import annotations

import gc
import sys
from array import array
from collections import deque
from functools import lru_cache, partial
from operator import attrgetter
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    SimpleNamespace,
    WrapperDescriptorType,
)
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

from .gpu import Gpu
from .memory import Region
from .objects import Handle
from .state_names import MISSING, content_of_cell, function_parts, in_pairs
from .whose import is_library

if TYPE_CHECKING:
    from collections.abc import Callable

    Read = Callable[[Any], list[Any]]

CONSTANTS = frozenset(
    {int, float, complex, str, bytes, bool, type(None), type(Ellipsis), type(NotImplemented), range}
)
"""What is compared by its value."""

STILL = frozenset(
    {CodeType, GetSetDescriptorType, MemberDescriptorType, MethodDescriptorType}
    | {ClassMethodDescriptorType, WrapperDescriptorType}
    | {type(vars(NamedTuple("Pair", [("first", int)]))["first"])}
)
"""What cannot change, the fields of named tuples too: compared by identity."""

PLAIN = {"blocking", "capacity", "device", "index", "is_null", "kind", "name", "nbytes", "part"} | {
    *("pooled", "serial", "slot")
}
"""What an API object is told when it is made; the rest grows as a protocol goes on."""

REMEMBERED = {"_abc", "typing"}
"""Modules whose objects change only by what they remember of answers that they have given."""


# --- what can be read of a class ------------------------------------------------------------------


def module_parts(module: ModuleType) -> list[Any]:
    """What a module of the user's holds."""
    found = vars(module)
    return [part for name in found if not name.startswith("__") for part in (name, found[name])]


def class_parts(cls: type) -> list[Any]:
    """What a class of the user's holds, and what it inherits from."""
    found = vars(cls)
    return [type(cls), *cls.__bases__, *found, *found.values()]


def gpu_parts(gpu: Any) -> list[Any]:
    """What the user has put into a `Gpu`."""
    found = vars(gpu)
    if len(found) == len(own_names()):
        return [found["step_count"]]
    extra = found.keys() - own_names()
    return [found["step_count"], *[part for name in sorted(extra) for part in (name, found[name])]]


@lru_cache(maxsize=1)
def own_names() -> frozenset[str]:
    """What a `Gpu` holds by itself."""
    return frozenset({*vars(Gpu(0)), "_call"})


def bound_to(function: Any) -> list[Any]:
    """What a built-in method belongs to."""
    owner = function.__self__
    plain = isinstance(owner, (type, ModuleType)) or type(owner).__name__ == "PyCapsule"
    return [] if plain else [owner]


def cached(wrapper: Any) -> list[Any]:
    """What a `functools.cache` has kept that can change; what it adds of the rest is no state."""
    kept: list[Any] = []
    for one in gc.get_referents(wrapper):
        if type(one) is dict and one is not wrapper.__dict__:
            kept.extend(one.values())
        elif type(one).__name__ == "_lru_list_elem":
            kept.append(one)
    links = [part for one in kept for part in referents(one)]
    return [part for part in links if not is_settled(part)]


def referents(one: Any) -> list[Any]:
    """A result in a cache; or the key and the result of a bounded one."""
    if type(one).__name__ != "_lru_list_elem":
        return [one]
    return [part for part in gc.get_referents(one) if type(part).__name__ != "_lru_list_elem"]


def is_settled(value: Any) -> bool:
    """Whether a value cannot change."""
    if type(value) in {tuple, frozenset}:
        return all(is_settled(part) for part in value)
    return type(value) in CONSTANTS or isinstance(value, (Handle, Region, type, FunctionType))


def stream_parts(stream: Any) -> list[Any]:
    """Where a file is that is only written."""
    if stream in {sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__}:
        return []
    return [stream.closed or (stream.tell() if stream.seekable() else None)]


def nothing(_thing: Any) -> list[Any]:
    """A constant has no parts."""
    return []


WHOLE: dict[type, Read] = {
    list: lambda x: [*list.__iter__(x)],
    tuple: lambda x: [*tuple.__iter__(x)],
    deque: lambda x: [*deque.__iter__(x)],
    dict: in_pairs,
    set: lambda x: sorted(set.__iter__(x), key=repr),
    frozenset: lambda x: sorted(frozenset.__iter__(x), key=repr),
    bytearray: lambda x: [bytes(x)],
    array: lambda x: [bytes(x)],
    MethodType: lambda x: [x.__self__, x.__func__],
    FunctionType: function_parts,
    BuiltinFunctionType: bound_to,
    MethodWrapperType: bound_to,
    CellType: lambda x: [content_of_cell(x)],
    MappingProxyType: lambda x: [*x.keys(), *x.values()],
}
"""How to read an object of exactly this class, or the content of one of a class derived from it."""

CONTENT: dict[type, Read] = {
    **WHOLE,
    **dict.fromkeys((*CONSTANTS, object, slice, property, staticmethod, classmethod), nothing),
    SimpleNamespace: nothing,
    BaseException: lambda x: [x.args, x.__cause__, x.__context__],
    partial: lambda x: [x.func, x.args, x.keywords],
    ref: lambda x: [x()],
    ModuleType: module_parts,
    type: class_parts,
    type(lru_cache(nothing)): cached,
}
"""The same, of what has attributes besides; of these nothing is hidden."""


@lru_cache(maxsize=4096)
def reader(cls: type) -> Read:
    """How to read the parts of an object of this class."""
    if cls in WHOLE:
        return WHOLE[cls]
    if cls is Gpu:
        return gpu_parts
    if issubclass(cls, (Handle, Region)):
        return slots_of(cls)
    if is_library(cls.__module__) and cls.__module__.startswith("streamorder.") and is_bare(cls):
        return nothing
    return instance_reader(cls)


def is_bare(cls: type) -> bool:
    """Whether objects of a class have no attributes but those it declares."""
    return not cls.__dictoffset__ and not issubclass(cls, BaseException)


def slots_of(cls: type) -> Read:
    """Of an API object what is plain; the rest of it is made as a protocol goes on."""
    get = attrgetter(*sorted(PLAIN & {member.__name__ for member in members(cls)}))
    return lambda x: [*get(x)]


def members(cls: type) -> list[Any]:
    """The descriptors of slots and of fields, under whatever name."""
    return [
        found
        for base in cls.__mro__
        for found in vars(base).values()
        if type(found) is MemberDescriptorType
    ]


def value_of(member: Any, thing: Any) -> Any:
    """What is in a slot."""
    try:
        return member.__get__(thing)
    except AttributeError:
        return MISSING


def instance_reader(cls: type) -> Read:
    """The parts of an instance: its class, content, slots and attributes."""
    content = content_of(cls)
    found = [] if cls in CONTENT else members(cls)
    has_dict = bool(cls.__dictoffset__) and not issubclass(cls, (type, ModuleType))

    def read(thing: Any) -> list[Any]:
        parts = [type(thing), *content(thing), *[value_of(member, thing) for member in found]]
        return [*parts, *in_pairs(attributes(thing))] if has_dict else parts

    return read


def attributes(thing: Any) -> dict[str, Any]:
    """The attributes that an instance has itself."""
    return object.__getattribute__(thing, "__dict__")


def content_of(cls: type) -> Read:
    """How to read what a built-in class keeps for this one."""
    if cls.__module__ == "_thread" and cls.__name__ in {"lock", "RLock"}:
        return lambda x: [repr(x)]
    from io import IOBase

    if issubclass(cls, IOBase):
        return stream_parts
    base = solid(cls)
    return CONTENT.get(base, reduced)


def solid(cls: type) -> type:
    """The class whose C code keeps the state of objects of this class."""
    while cls not in CONTENT:
        base = cls.__base__
        assert base is not None
        own = 8 * sum(type(found) is MemberDescriptorType for found in vars(cls).values())
        own += 8 * bool(cls.__dictoffset__ and not base.__dictoffset__)
        own += 8 * bool(cls.__weakrefoffset__ and not base.__weakrefoffset__)
        if cls.__basicsize__ - base.__basicsize__ > own or cls.__itemsize__ != base.__itemsize__:
            return cls
        cls = base
    return cls


def reduced(thing: Any) -> list[Any]:
    """The state of an object that keeps it in C, as it gives it for copies of itself.

    Raises whatever the object raises where it cannot be copied.
    """
    state = thing.__reduce_ex__(2)
    if isinstance(state, str):
        return []
    return [[*part] if hasattr(type(part), "__next__") else part for part in state]
