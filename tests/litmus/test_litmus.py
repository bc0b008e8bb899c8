"""The rules as small programs: what the model allows is what `validation/litmus` states.

A module states what its rule allows and forbids, judged from the rule's source before the model is
asked; the model's outcomes and verdicts stand in the `.expected` file of the same name.
`--promote` writes those files again, never the statements.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from streamorder.validation.litmus import NAMES, program
from streamorder.validation.litmus_model import SERIAL, answer, contracts, page

FOLDER = Path(__file__).parent


@pytest.mark.parametrize("name", NAMES)
def test_expected(name: str, request: pytest.FixtureRequest) -> None:
    """Outcomes and verdicts are those of the `.expected` file."""
    path = FOLDER / f"{name}.expected"
    seen = page(name)
    if request.config.getoption("--promote"):
        path.write_text(seen, encoding="utf-8", newline="\n")
    assert path.is_file(), "judge the outcomes, then run with --promote"
    assert seen == path.read_text(encoding="utf-8"), "(if this is right, run with --promote)"


def statements() -> list[object]:
    """Every (program, contract); where model and rule disagree the test is expected to fail."""
    made = []
    for name in NAMES:
        known = getattr(program(name), "DISAGREES", {})
        for contract in contracts(name):
            reason = known.get(contract, known.get("cuda") if contract == "cuda-hmm" else None)
            marks = [pytest.mark.xfail(reason=reason)] if reason else []
            made.append(pytest.param(name, contract, marks=marks, id=f"{name}-{contract}"))
    return made


@pytest.mark.parametrize(("name", "contract"), statements())
def test_stated(name: str, contract: str) -> None:
    """What the rule allows can happen, what it forbids cannot; anything else is a torn version."""
    stated = program(name)
    plain = contract.removesuffix(SERIAL).removesuffix("-hmm")
    allowed = stated.ALLOWED.get(contract, stated.ALLOWED[plain])
    forbidden = stated.FORBIDDEN.get(contract, stated.FORBIDDEN.get(plain, set()))
    found = set(answer(name, contract).outcomes)
    assert allowed <= found, f"allowed and impossible: {sorted(allowed - found)}"
    assert not forbidden & found, f"forbidden and possible: {sorted(forbidden & found)}"
    unjudged = sorted(outcome for outcome in found - allowed if "torn" not in outcome)
    assert not unjudged, f"neither allowed nor forbidden, and possible: {unjudged}"


def test_every_expected_file_has_a_program() -> None:
    """A page whose program is gone is deleted by hand."""
    assert sorted(path.stem for path in FOLDER.glob("*.expected")) == list(NAMES)
