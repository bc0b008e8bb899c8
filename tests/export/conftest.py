"""The checkers that exported models are for, and what is compared with them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from streamorder import BadInput, CannotRunHere, catalogue, check, promela, tla
from streamorder.model.contract import contract_named
from streamorder.model.export import checkers

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder.model.export.checkers import Finding


MAY_BE_REFUSED = ("concurrent()", "while several host threads run")


class Compared(NamedTuple):
    """Our verdict and theirs; `refused` says why there is none of theirs."""

    ours: str
    theirs: Finding | None
    refused: str = ""

    @property
    def agree(self) -> bool:
        """Whether they are the same, and a verdict; or nothing was exported, for a known reason."""
        if self.theirs is None:
            return any(words in self.refused for words in MAY_BE_REFUSED)
        return self.ours == self.theirs.outcome and self.ours in {"HOLDS", "REFUTED"}


def here(start: Callable[[], Any]) -> None:
    """Skip, with what is missing, where a checker cannot run."""
    try:
        start()
    except CannotRunHere as error:
        pytest.skip(f"comparison not run: {error}")


@pytest.fixture(scope="session")
def spin() -> Callable[[str], Finding]:
    """SPIN with the quickest compiler that is here."""
    here(checkers.spin_command)
    here(checkers.quickest_compiler)
    return checkers.spin


@pytest.fixture(scope="session")
def tlc() -> Callable[[str], Finding]:
    """TLC with one worker."""
    here(checkers.tlc_command)
    return checkers.tlc


@pytest.fixture(scope="session")
def compare() -> Callable[..., Compared]:
    """`compare(checker, name, contract)`: the catalogue's protocol, four steps, open promises
    broken on both sides.
    """

    def compared(
        checker: Callable[[str], Finding], name: str, contract: str, **form: Any
    ) -> Compared:
        promised = contract_named(contract)
        export: Any = promela if checker is checkers.spin else tla
        reading = promised._replace(**dict.fromkeys(promised.uncertain, False))
        ours = str(check(catalogue()[name], reading, steps=4).outcome)
        try:
            model = export(catalogue()[name], contract, broken=promised.uncertain, **form)
        except BadInput as error:
            return Compared(ours, None, str(error))
        return Compared(ours, checker(model))

    return compared


@pytest.fixture(scope="session")
def random_kit() -> Any:
    """The generators of random programs."""
    path = Path(__file__).parents[1] / "random_programs" / "conftest.py"
    full = "random_programs_conftest"
    if full not in sys.modules:
        spec = importlib.util.spec_from_file_location(full, path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[full] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[full].Kit()
