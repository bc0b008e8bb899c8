"""What a host thread's function can reach, frozen, so that a later change of it shows.

Host threads may share API objects only: a checker traces each thread on its own, so a Python
variable that one thread writes and another reads would be decided wrongly.
"""

from __future__ import annotations

from array import array
from collections import deque
from enum import Enum
from functools import cache, partial
from operator import is_
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from .errors import BadProtocol
from .gpu import Gpu
from .memory import Region
from .objects import Handle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .where import Where

CONSTANTS = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis), range, frozenset)
OPAQUE = (type, Enum, ModuleType, BuiltinFunctionType, CodeType, Gpu, Handle, Region)
KNOWN = (
    *(list, tuple, deque, dict, set, frozenset, bytearray, array),
    *(MethodType, FunctionType, partial),
)
"""What is known by its parts alone; anything else is one object among others."""


def frozen(thing: object, where: Where | None = None) -> object:
    """A value that changes when anything reachable from `thing` does.

    Reaches closure cells, globals that the code names, defaults, attributes and the contents of
    lists, tuples, dicts, sets and deques. Raises `BadProtocol` for an iterator, whose hidden
    position is state.
    """
    return _freeze(thing, {}, where)


def held(things: Iterable[object]) -> list[tuple[Any, list[Any]]]:
    """Everything changeable that can be reached from these, each with its parts: while the parts
    are kept, none of them can be taken for a later object at the same address.
    """
    seen: set[int] = set()
    found: list[tuple[Any, list[Any]]] = []
    waiting = list(things)
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, (*CONSTANTS, *OPAQUE)):
            continue
        seen.add(id(one))
        parts = _parts(one)
        waiting.extend(parts)
        if not isinstance(one, tuple):
            found.append((one, parts))
    return found


def untouched(holding: list[tuple[Any, list[Any]]]) -> bool:
    """Whether each part is the very object that it was: then nothing has changed, and nothing
    needs to be compared. If not, something may have.
    """
    return all(_same(_parts(thing), parts) for thing, parts in holding)


def _same(now: list[Any], before: list[Any]) -> bool:
    return len(now) == len(before) and all(map(is_, now, before))


def _freeze(thing: Any, seen: dict[int, int], where: Where | None) -> object:
    if isinstance(thing, CONSTANTS):
        return type(thing), thing
    if isinstance(thing, OPAQUE):
        return id(thing)
    if id(thing) in seen:
        return "seen", seen[id(thing)]
    seen[id(thing)] = len(seen)
    if hasattr(type(thing), "__next__"):
        raise BadProtocol(
            f"host threads share an iterator ({type(thing).__name__}): its position is Python "
            "state; threads may share API objects only",
            str(where) if where else None,
        )
    kind = id(type(thing)) if isinstance(thing, KNOWN) else id(thing)
    return kind, tuple(_freeze(part, seen, where) for part in _parts(thing))


def _parts(thing: Any) -> list[Any]:
    if isinstance(thing, (list, tuple, deque)):
        return list(thing)
    if isinstance(thing, dict):
        return [part for pair in thing.items() for part in pair]
    if isinstance(thing, (set, frozenset)):
        return sorted(thing, key=repr)
    if isinstance(thing, MethodType):
        return [thing.__self__, thing.__func__]
    if isinstance(thing, FunctionType):
        return _reached_by(thing)
    if isinstance(thing, (bytearray, array)):
        return [bytes(thing)]
    if isinstance(thing, partial):
        return [thing.func, thing.args, thing.keywords]
    slots = [name for cls in type(thing).__mro__ for name in getattr(cls, "__slots__", ())]
    fields = [getattr(thing, name) for name in slots if hasattr(thing, name)]
    return [*fields, *_parts(getattr(thing, "__dict__", {}))]


def _reached_by(fn: FunctionType) -> list[Any]:
    """What a function's code can reach: closure, defaults and the globals that it names."""
    cells = [_content(cell) for cell in fn.__closure__ or ()]
    named = [fn.__globals__[name] for name in _names(fn.__code__) if name in fn.__globals__]
    return [fn.__code__, *cells, fn.__defaults__, fn.__kwdefaults__, *named]


@cache
def _names(code: CodeType) -> tuple[str, ...]:
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return tuple(sorted(set(code.co_names).union(*(_names(nested) for nested in inner))))


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return "empty"
