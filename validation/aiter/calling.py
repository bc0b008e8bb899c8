"""Calls of AITER by name: versions differ in the order and the number of arguments.

`get_ps_metadata_v1` takes `work_indptr` before `work_info` and `get_mla_metadata_v1` the reverse,
except in the 0.1.7 wheel; `mla_reduce_v1` has seven, eight or nine arguments. Arguments swapped are
arguments of the right type, and nothing would notice. So what is passed is looked up by name in the
function's own parameters, and passed by position in their order, as AITER's own code does.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

from ...model.errors import CannotRunHere

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ALIASES = {"work_info_set": "work_info", "kvlen_granlarity": "kvlen_granularity"}
"""AITER's other names for a parameter, with ours; the second is as its C++ header spells it."""


class Required:
    """The default of a parameter that has none."""


class Parameter(NamedTuple):
    """A parameter of AITER's function, under our name for it."""

    name: str
    default: Any = Required


class Function(NamedTuple):
    """A function of AITER and its parameters in order."""

    name: str
    run: Callable[..., Any]
    parameters: tuple[Parameter, ...]

    def has(self, name: str) -> bool:
        """Whether this version takes an argument of this name."""
        return any(parameter.name == name for parameter in self.parameters)

    def __call__(
        self, values: Mapping[str, Any], *, where_known: Mapping[str, Any] | None = None
    ) -> Any:
        """Call it with every one of `values`, and those of `where_known` that it has.

        Raises:
            CannotRunHere: When it lacks one of `values`, or needs what neither has.
        """
        return self.run(*self.arguments(values, where_known or {}))

    def arguments(self, values: Mapping[str, Any], where_known: Mapping[str, Any]) -> list[Any]:
        """Return what is passed, by position, up to the last that is not left to its default."""
        absent = [name for name in values if not self.has(name)]
        given = {**where_known, **values}
        lacking = [
            name for name, default in self.parameters if default is Required and name not in given
        ]
        if absent or lacking:
            why = [f"does not take {name}" for name in absent]
            why += [f"needs {name}, which is not known here" for name in lacking]
            raise CannotRunHere(f"this AITER's {self.name} {' and '.join(why)}")
        last = max(place for place, (name, _) in enumerate(self.parameters) if name in given)
        return [given.get(name, default) for name, default in self.parameters[: last + 1]]


def function_of(module: Any, name: str) -> Function:
    """Look at a function of AITER.

    Raises:
        CannotRunHere: When its parameters cannot be told.
    """
    run = getattr(module, name)
    parameters = _written(run) or _registered(name)
    if not parameters:
        raise CannotRunHere(
            f"the arguments of this AITER's {name} cannot be told from the function"
        )
    return Function(
        name, run, tuple(Parameter(ALIASES.get(known, known), value) for known, value in parameters)
    )


def _written(run: Callable[..., Any]) -> list[tuple[str, Any]]:
    """Names and defaults in the source: AITER changes `__signature__` at the first call."""
    inner = inspect.unwrap(run)
    code = getattr(inner, "__code__", None)
    if code is None or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return []
    names = code.co_varnames[: code.co_argcount]
    defaults = inner.__defaults__ or ()
    padded = [Required] * (len(names) - len(defaults)) + list(defaults)
    return list(zip(names, padded, strict=True))


def _registered(name: str) -> list[tuple[str, Any]]:
    """Names and defaults of the torch operator that AITER makes of the function."""
    import torch

    try:
        schema = getattr(torch.ops.aiter, name).default._schema  # noqa: SLF001 - there is no other
    except (AttributeError, RuntimeError):
        return []
    return [
        (argument.name, argument.default_value if argument.has_default_value() else Required)
        for argument in schema.arguments
    ]
