"""Protocols from a user's own file: `FILE.py` or `FILE.py:function`."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import BadInput, StreamorderError, in_one_line
from .protocol import Protocol, protocol

if TYPE_CHECKING:
    from types import ModuleType


def load(target: str) -> list[Protocol]:
    """The protocols that `FILE.py` declares, or the one function that `FILE.py:function` names.

    Raises `BadInput` for a file that is missing, cannot be parsed, fails, or has no protocol.
    """
    filename, _colon, name = target.partition(":")
    module = imported(Path(filename))
    found = declared(module, filename)
    if name in found:
        return [found[name]]
    if name:
        return [function_named(module, filename, name)]
    if not found:
        raise BadInput(no_protocol(module, filename))
    return list(found.values())


def declared(module: ModuleType, filename: str) -> dict[str, Protocol]:
    """The protocols that a file declares itself, by name; raises `BadInput` for two of one name."""
    found: dict[str, Protocol] = {}
    for thing in vars(module).values():
        if isinstance(thing, Protocol) and thing.body.__module__ == module.__name__:
            known = found.setdefault(thing.name, renamed(thing, f"{filename}:{thing.name}"))
            if known.body is not thing.body:
                raise BadInput(f"{filename} has two protocols named {thing.name!r}: rename one")
    return found


def imported(path: Path) -> ModuleType:
    """A file's module; the same file is executed once in a process, until it changes."""
    if path.is_dir():
        raise BadInput(f"{path}: is a folder; name a file in it, FILE.py")
    if not path.is_file():
        raise BadInput(f"{path}: no such file")
    changed = path.stat().st_mtime_ns
    return executed(path, path.resolve(), changed)


@cache
def executed(path: Path, _resolved: Path, _changed: int) -> ModuleType:
    """Execute a file as a module of its own; its folder can be imported from, as for a script."""
    name = f"streamorder_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadInput(f"{path}: cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise BadInput(f"{path}:{error.lineno}: cannot be parsed: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: cannot be parsed: it is not UTF-8 text") from error
    except StreamorderError as error:
        raise BadInput(f"{path}{last_line(error, path)}: {error}") from error
    except (Exception, SystemExit) as error:
        line = last_line(error, path)
        raise BadInput(f"{path}{line}: importing it raised {in_one_line(error)}") from error
    finally:
        sys.path.pop(0)
    return module


def last_line(error: BaseException, path: Path) -> str:
    """`:line` of the file itself in an error's traceback."""
    lines = []
    at = error.__traceback__
    while at is not None:
        if Path(at.tb_frame.f_code.co_filename).resolve() == path.resolve():
            lines.append(at.tb_lineno)
        at = at.tb_next
    return f":{lines[-1]}" if lines else ""


def function_named(module: ModuleType, filename: str, name: str) -> Protocol:
    """The protocol or plain function of this name."""
    thing: Any = getattr(module, name, None)
    if isinstance(thing, Protocol):
        return renamed(thing, f"{filename}:{name}")
    if inspect.isfunction(thing):
        return renamed(protocol()(thing), f"{filename}:{name}")
    raise BadInput(f"{filename} has no protocol or function named {name!r}")


def no_protocol(module: ModuleType, filename: str) -> str:
    """Why a file has nothing to check, and how to mend it."""
    functions = [
        name
        for name, thing in vars(module).items()
        if inspect.isfunction(thing) and list(inspect.signature(thing).parameters)[:1] == ["gpu"]
    ]
    hint = f", or name the function: {filename}:{functions[0]}" if functions else ""
    return (
        f"{filename} has no protocol: decorate a function f(gpu, ...) with "
        f"@streamorder.protocol(){hint}"
    )


def renamed(thing: Protocol, name: str) -> Protocol:
    """The same protocol under the name by which the command line asked for it."""
    return Protocol(thing.body, name, thing.parameters, thing.expects)
