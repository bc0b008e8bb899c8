"""Protocols: functions written against the stream API, with their parameters and expectations."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any, overload

from .errors import BadInput, BadParameter
from .unrun import ran
from .where import Where

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .gpu import Gpu


STARRED = 0x04 | 0x08
"""The flags of code that takes `*args` or `**kwargs` (`inspect.CO_VARARGS`, `CO_VARKEYWORDS`)."""

SIZES = ("slots", "layers")
"""Parameters of which there is at least one."""

TAKEN = frozenset(
    {"batched", "broken", "checks", "compared", "contract", "contracts", "costs", "device",
     "engine", "entry", "env", "evidence", "format", "help", "inputs", "jobs", "kept", "limits",
     "module", "most", "protocol", "prove", "runtime", "runtimes", "seconds", "seed", "sizes",
     "steps", "sweep", "target", "trace"}
)  # fmt: skip
"""What no parameter of a protocol can be called: whatever decides, runs or exports a protocol takes
these itself, beside the protocol's parameters.
"""


class Protocol:
    """A protocol function with the defaults of its own parameters.

    - `name` is how the command line calls it, `summary` the first line of its docstring;
    - `parameters` maps each parameter after `gpu` to its default;
    - `expects` maps a contract's name to the verdict that a catalogue entry states (a value of
      `Outcome`); empty for a user's protocol.
    """

    def __init__(
        self,
        body: Callable[..., object],
        name: str,
        parameters: dict[str, Any],
        expects: Mapping[str, str],
    ) -> None:
        self.body = body
        self.name = name
        self.parameters = parameters
        self.expects = dict(expects)
        self.__doc__ = body.__doc__
        self.__name__ = body.__name__
        self.__wrapped__ = body

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (self.body.__doc__ or "").strip().partition("\n")[0]

    @property
    def where(self) -> Where | None:
        """The line at which the function begins; None for what is no Python function."""
        code = getattr(self.body, "__code__", None)
        return Where(code.co_filename, code.co_firstlineno) if code else None

    def bind(self, given: Mapping[str, Any]) -> Callable[[Gpu], None]:
        """The protocol with these parameters over its defaults; raises `BadInput` for others."""
        for name, value in given.items():
            if name not in self.parameters:
                raise BadParameter(self.name, name, "", tuple(self.parameters))
            refuse_value(self.name, name, value, self.parameters[name])
        arguments = {**self.parameters, **given}
        for size in SIZES:
            if type(arguments.get(size)) is int and arguments[size] < 1:
                raise BadParameter(self.name, size, f"must be at least 1, not {arguments[size]}")
        return lambda gpu: self(gpu, **arguments)

    def __call__(self, gpu: Gpu, **arguments: object) -> None:
        """Run the function itself, as a protocol that builds on it does."""
        ran(self.body(gpu, **arguments), f"protocol {self.__name__!r}", self.where)

    def __repr__(self) -> str:
        return f"<protocol {self.name}>"


@overload
def protocol(body: Callable[..., None], /) -> Protocol: ...


@overload
def protocol(
    name: str | None = None, /, *, expects: Mapping[str, str] | None = None, **parameters: Any
) -> Callable[[Callable[..., None]], Protocol]: ...


def protocol(
    name: str | Callable[..., None] | None = None,
    /,
    *,
    expects: Mapping[str, str] | None = None,
    **parameters: Any,
) -> Protocol | Callable[[Callable[..., None]], Protocol]:
    """Declare a function `f(gpu, ...)` a protocol, with defaults for its own parameters.

    With nothing to add, `@protocol` needs no brackets. Raises `BadInput` when the function's
    parameters and the defaults do not fit.
    """
    if callable(name):
        return protocol()(name)

    def declare(body: Callable[..., None]) -> Protocol:
        if not callable(body):
            raise BadInput(
                f"a protocol is a function f(gpu, ...), or what @protocol or catalogue() gives, "
                f"not {body!r}"
            )
        accepted, defaults = signature(body)
        defaults.update(parameters)
        names = accepted[1:]
        if not accepted:
            raise BadInput(
                f"protocol {body.__name__!r} takes no gpu: its first parameter must be gpu, as in "
                f"def {body.__name__}(gpu)"
            )
        if sorted(names) != sorted(defaults):
            raise BadInput(
                f"protocol {body.__name__!r} takes (gpu, {', '.join(names)}) but has defaults for "
                f"({', '.join(defaults)}): give each parameter after gpu a default"
            )
        for taken in sorted(TAKEN.intersection(names)):
            raise BadInput(
                f"protocol {body.__name__!r}: {taken!r} cannot be a parameter, for `check` and the "
                "command take it themselves: call it otherwise"
            )
        return Protocol(body, name or body.__name__, defaults, expects or {})

    return declare


def refuse_value(owner: str, name: str, value: object, default: object) -> None:
    """Raise `BadParameter` for a value that is not of the default's kind."""
    if isinstance(default, bool):
        if type(value) is not bool:
            raise BadParameter(owner, name, f"takes true or false, not {value!r}")
    elif isinstance(default, int):
        if type(value) is not type(default):
            raise BadParameter(owner, name, f"takes a whole number, not {value!r}")
        if value < (least := int(name in SIZES)):
            raise BadParameter(owner, name, f"must be at least {least}, not {value}")


def signature(body: Callable[..., None]) -> tuple[list[str], dict[str, Any]]:
    """The names of a function's parameters, and the defaults of those after the first."""
    if type(body) is FunctionType and not body.__dict__ and not body.__code__.co_flags & STARRED:
        # Every protocol of the catalogue: `inspect` alone takes longer to import than they do.
        code, given = body.__code__, body.__defaults__ or ()
        names = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        optional = names[code.co_argcount - len(given) : code.co_argcount]
        defaults = {**dict(zip(optional, given, strict=True)), **(body.__kwdefaults__ or {})}
    else:
        from inspect import Parameter
        from inspect import signature as inspected

        accepted = inspected(body).parameters.values()
        names = [p.name for p in accepted]
        defaults = {p.name: p.default for p in accepted if p.default is not Parameter.empty}
    return names, {name: value for name, value in defaults.items() if name not in names[:1]}
