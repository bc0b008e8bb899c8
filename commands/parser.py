"""A parser whose errors are one clear line, and the protocol's own parameters told from options."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from ..model.errors import BadInput
from ..model.protocol import TAKEN
from . import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model.errors import BadParameter


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one clear line, and whose options are never guessed."""

    def __init__(self, prog: str, **settings: Any) -> None:
        self.valued: dict[str, bool] = {}
        self.several: set[str] = set()
        super().__init__(prog, **settings, allow_abbrev=False)

    def add_argument(self, *flags: Any, **settings: Any) -> argparse.Action:
        """As usual; remembers which options there are, and whether each takes a value."""
        action = super().add_argument(*flags, **settings)
        self.several |= set(action.option_strings if settings.get("action") == "append" else ())
        self.valued.update(dict.fromkeys(action.option_strings, action.nargs != 0))
        return action

    def error(self, message: str) -> NoReturn:
        """Refuse the command line."""
        raise BadInput(f"{message} (see {self.prog} --help)")

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The options; `parameters` holds those that are the protocol's own."""
        known, own = self.split(arguments)
        self.refuse_twice([*known, *own])
        options = self.parse_args(known)
        options.parameters = own_parameters(own) if options.takes_parameters else refuse_rest(own)
        for name in options.parameters:
            if name in TAKEN:
                raise BadInput(self.elsewhere(name))
        return options

    def elsewhere(self, name: str) -> str:
        """Why there is no such option here, and no such parameter anywhere."""
        option = as_option(name)
        takers = commands_with(option)
        if takers:
            return f"{option} is an option of {listed(takers)} alone"
        command = self.prog.rpartition(" ")[2]
        return f"{command} has no option {option}, and no protocol has a parameter of that name"

    def unknown(self, error: BadParameter) -> str:
        """A wrong parameter in the words of the command line."""
        takers = commands_with(as_option(error.name)) if error.known is not None else []
        also = [option[2:] for option in self.valued if option.startswith("--")]
        beside = f"; {as_option(error.name)} is an option of {listed(takers)}" if takers else ""
        return error.said("--", also) + beside

    def refuse_twice(self, words: Sequence[str]) -> None:
        """Refuse an option that is given twice: the last would win, and nothing say so."""
        given: set[str] = set()
        for word in words:
            name, _equals, _value = word.partition("=")
            if name in given and name not in self.several:
                both = " (--contract cuda,hip takes several)" if name == "--contract" else ""
                raise BadInput(f"{name} is given twice: give it once{both}")
            given |= {name} if name.startswith("--") else set()

    def split(self, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
        """The command's own words, and the `--name value` pairs that are the protocol's."""
        known: list[str] = []
        own: list[str] = []
        words = iter(arguments)
        for word in words:
            name, equals, _value = word.partition("=")
            mine = not word.startswith("--") or name in self.valued
            to = known if mine else own
            to.append(word)
            if word.startswith("-") and not equals and self.valued.get(name, not mine):
                to += [value for value in [next(words, None)] if value is not None]
        return known, own


def as_option(name: str) -> str:
    """A parameter as the command line writes it."""
    return f"--{name.replace('_', '-')}"


def commands_with(option: str) -> list[str]:
    """The commands that have an option."""
    found = []
    for name in COMMANDS:
        parser = Parser(name)
        import_module(f".{name}", __package__).add(parser)
        found += [name] if option in parser.valued else []
    return found


def listed(names: Sequence[str]) -> str:
    """Names in a sentence."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def own_parameters(rest: list[str]) -> dict[str, Any]:
    """`--name value` pairs that are the protocol's own."""
    found: dict[str, Any] = {}
    words = [part for word in rest for part in (word.split("=", 1) if word[:2] == "--" else [word])]
    for at in range(0, len(words), 2):
        name = words[at]
        if not name.startswith("--") or len(name) == 2:
            raise BadInput(f"unexpected argument {name!r}")
        if at + 1 >= len(words):
            raise BadInput(f"{name} needs a value")
        found[name[2:].replace("-", "_")] = value_of(words[at + 1])
    return found


def value_of(word: str) -> object:
    """A parameter's value: a whole number, true or false, or a word."""
    try:
        return int(word)
    except ValueError:
        return {"true": True, "false": False}.get(word.lower(), word)


def refuse_rest(rest: list[str]) -> dict[str, Any]:
    """Commands without parameters take no more words."""
    if rest:
        raise BadInput(f"unexpected argument {rest[0]!r}")
    return {}


def whole(text: str | None, option: str) -> int | None:
    """A positive whole number."""
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise BadInput(f"{option} must be a positive whole number, not {text!r}")
    return int(text)
