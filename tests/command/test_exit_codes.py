"""Exit codes over the whole catalogue: as it states, and as a protocol of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder import Protocol, catalogue, check
from streamorder.model.verdict import combined_exit_code

if TYPE_CHECKING:
    from collections.abc import Callable

CODES = {"PROVED": 0, "HOLDS": 0, "REFUTED": 1, "UNDETERMINED": 3}

ENTRIES = catalogue()


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_that_is_as_it_states(name: str, command: Callable[..., Any]) -> None:
    """It exits 0 under each contract, whatever its verdict is."""
    for contract in ENTRIES[name].expects:
        code, out, err = command("check", name, "--contract", contract)
        assert (code, err) == (0, "")
        assert f" under {contract}: " in out
        assert "[expected" not in out


@pytest.mark.parametrize("name", ENTRIES)
def test_the_same_protocol_without_expectations(name: str) -> None:
    """It exits with its verdict's own code; with another expectation never with 0, and where a
    pass was not expected with 1.
    """
    entry = ENTRIES[name]
    own = Protocol(entry.body, name, entry.parameters, {})
    for contract, expected in entry.expects.items():
        verdict = check(own, contract)
        assert verdict.expected is None
        assert verdict.exit_code == CODES[expected]
        for stated, code in CODES.items():
            met = code == CODES[expected]
            found = verdict._replace(expected=stated).exit_code
            assert found == (0 if met else CODES[expected] or 1)


@pytest.mark.parametrize(("engine", "code"), [("order", 0), ("machine", 3)])
def test_everything_at_once(engine: str, code: int, command: Callable[..., Any]) -> None:
    """0 by the order engine; the machine leaves open what states that it is concurrent."""
    assert command("check", "--engine", engine).code == code


def test_the_code_of_several_is_that_of_the_worst(command: Callable[..., Any]) -> None:
    """2 before 1 before 3, over whatever stands beside it."""
    kept, lost = "corpus/C24-gradient-bucket/overlap-kept", "fp8-prefill/direct"
    assert command("check", kept, lost, "--engine", "machine").code == 3
    assert command("check", kept, lost, "--engine", "order").code == 0
    assert combined_exit_code([0, 3, 1]) == 1
    assert combined_exit_code([4, 3, 2]) == 2
    assert combined_exit_code([4, 0]) == 4
    assert combined_exit_code([]) == 0
