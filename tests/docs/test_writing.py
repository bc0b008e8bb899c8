"""docs/calls.md lists every call of the API with its arguments, and none that does not exist."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import pytest

from streamorder.model.gpu import Gpu
from streamorder.model.memory import Buffer
from streamorder.model.objects import Agent, Cell, Event, Graph, HostThread, Lock, Queue, Stream

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CLASSES = {
    "gpu": Gpu,
    "stream": Stream,
    "event": Event,
    "graph": Graph,
    "cell": Cell,
    "agent": Agent,
    "lock": Lock,
    "queue": Queue,
    "thread": HostThread,
    "buffer": Buffer,
}
"""The word by which the page names an object of each class."""

PLUMBING = {"as_gpu", "attach", "check_version", "count", "hidden", "scratch"}
"""What readings and the front end ask of a Gpu; no protocol calls it."""

CALL = re.compile(rf"`({'|'.join(CLASSES)})\.(\w+)(\(.*?\))?`")


@pytest.fixture(scope="module")
def calls(pytestconfig: pytest.Config) -> str:
    """The text of docs/calls.md."""
    path: Path = pytestconfig.rootpath / "docs" / "calls.md"
    return path.read_text(encoding="utf-8")


def documented(calls: str) -> dict[tuple[str, str], str]:
    """What the page lists, with its arguments as written: first cells, and the closing list."""
    rows = re.findall(r"^\| (`.*?) \|", calls, flags=re.MULTILINE)
    listed = [*rows, calls.partition("## The same calls")[2]]
    return {(owner, name): shown for text in listed for owner, name, shown in CALL.findall(text)}


def public(cls: type) -> dict[str, object]:
    """A class's public methods and properties, inherited ones too."""
    names = [name for name in dir(cls) if not name.startswith("_") and name not in PLUMBING]
    members = {name: inspect.getattr_static(cls, name) for name in names}
    return {
        name: member
        for name, member in members.items()
        if inspect.isfunction(member) or isinstance(member, property)
    }


def arguments(function: Callable[..., object]) -> str:
    """A method's arguments as a caller writes them, with their defaults."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    bare = [parameter.replace(annotation=parameter.empty) for parameter in parameters]
    return str(inspect.Signature(bare)).replace("'", '"')


@pytest.mark.parametrize("owner", CLASSES)
def test_every_call_is_named(calls: str, owner: str) -> None:
    """Every public method and property of the class stands in the page."""
    named = {name for listed_owner, name in documented(calls) if listed_owner == owner}
    assert set(public(CLASSES[owner])) - named == set()


def test_every_named_call_exists(calls: str) -> None:
    """No listed call is of a method that is gone, or with arguments that it does not take."""
    known = {(owner, name) for owner, cls in CLASSES.items() for name in public(cls)}
    listed = documented(calls)
    assert set(listed) - known == {("gpu", "null_stream"), ("buffer", "part")}
    for (owner, name), shown in listed.items():
        method = public(CLASSES[owner]).get(name)
        if inspect.isfunction(method):
            assert shown == arguments(method), f"{owner}.{name}"
        else:
            assert not shown, f"{owner}.{name} is no method"


def test_text_names_no_other_call(calls: str) -> None:
    """What prose mentions in passing exists too."""
    for owner, name, _shown in CALL.findall(calls):
        exists = hasattr(CLASSES[owner], name) or (owner, name) == ("buffer", "part")
        assert exists or name == "null_stream", f"{owner}.{name}"
