"""The catalogue: what it lists, how names are found, and what every entry owes its reader."""

from __future__ import annotations

import inspect
import pkgutil
import re
from importlib import import_module

import pytest

from streamorder.model import protocols
from streamorder.model.catalogue import catalogue, find
from streamorder.model.contract import CONTRACTS
from streamorder.model.errors import BadInput
from streamorder.model.protocol import Protocol

VERDICTS = {"PROVED", "HOLDS", "REFUTED", "UNDETERMINED"}


def names(*patterns: str) -> list[str]:
    """Return the names that `find` gives for these patterns."""
    return [entry.name for entry in find(patterns)]


def test_every_module_that_declares_protocols_is_listed() -> None:
    """A family that the contents page forgets would silently not be checked."""
    declaring = {
        module.name
        for module in pkgutil.iter_modules(protocols.__path__)
        if any(
            isinstance(thing, Protocol)
            for thing in vars(import_module(f"{protocols.__name__}.{module.name}")).values()
        )
    }
    assert declaring == set(protocols.FAMILIES)


def test_order_is_the_order_of_the_files() -> None:
    """Entries stand in the order in which they are written, each under its own name."""
    entries = catalogue()
    assert list(entries)[:3] == [
        "fp8-prefill/direct",
        "fp8-prefill/direct-item-after",
        "fp8-prefill/direct-blocking-stream",
    ]
    assert list(entries) == list(catalogue())
    assert all(entry.name == name for name, entry in entries.items())


def test_patterns_are_shell_globs() -> None:
    """Each pattern selects whole names; the order stays the catalogue's, without repetition."""
    assert names("fp8-prefill/staged") == ["fp8-prefill/staged"]
    assert names("*/planner-*", "fp8-prefill/direct", "*/direct") == [
        "fp8-prefill/direct",
        "fp8-prefill/planner-on-stream",
        "fp8-prefill/planner-on-device",
    ]
    assert names("*") == list(catalogue())
    assert names() == []


@pytest.mark.parametrize("wrong", ["fp8-prefil/staged", "stagd", "staged"])
def test_unknown_names_are_refused_with_close_ones(wrong: str) -> None:
    """The error names what was asked for and what was probably meant."""
    with pytest.raises(BadInput, match=rf"^unknown protocol '{wrong}': .*did you mean .*/staged\b"):
        find([wrong])


def test_a_name_like_no_other_is_refused_without_a_guess() -> None:
    """No guess is better than a wild one."""
    with pytest.raises(BadInput, match=r"unknown protocol 'zzz'.*no name is spelled like it"):
        find(["fp8-prefill/direct", "zzz"])


@pytest.mark.parametrize("entry", catalogue().values(), ids=list(catalogue()))
def test_entry(entry: Protocol) -> None:
    """One line of summary that fits a listing, a short text with its source, known verdicts."""
    lines = (inspect.getdoc(entry.body) or "").splitlines()
    assert 0 < len(entry.summary) <= 88
    assert 2 <= len([line for line in lines if line]) <= 5
    assert re.search(r"#\d+", "\n".join(lines)), "an entry names its source"
    assert {"cuda", "hip"} <= entry.expects.keys() <= CONTRACTS.keys()
    assert set(entry.expects.values()) <= VERDICTS
    if entry.name.startswith("fp8-prefill/"):
        assert entry.parameters.get("layers") == 1
