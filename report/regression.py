"""A pytest test that keeps a protocol as it should be: mended, or holding."""

from __future__ import annotations

import os
import re
from pathlib import Path
from pprint import pformat
from textwrap import indent, wrap
from typing import TYPE_CHECKING, Any

from ..model.errors import BadInput
from ..model.verdict import Outcome
from .lanes import swim_lanes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model.verdict import Verdict

TEMPLATE = '''"""Written by `streamorder explain {name} --pytest`: {why}.

{found}
"""

from __future__ import annotations

{imports}

{source}


@pytest.mark.parametrize("contract", {contracts})
def test_{test}(contract: str, streamorder_check) -> None:  # noqa: ANN001
    """No interleaving of {short} reads a wrong version, races or hangs."""
    streamorder_check(PROTOCOL, contracts=[contract]{arguments})
'''


def regression_test(verdicts: Sequence[Verdict], folder: Path, steps: int | None = None) -> str:
    """The test as a Python module, for a file in this folder.

    It needs pytest and Streamorder, whose plugin brings the fixture `streamorder_check`. Raises
    `BadInput` for verdicts on several protocols, and where the protocol's file is not known.
    """
    if len({verdict.name for verdict in verdicts}) != 1:
        raise BadInput("--pytest writes a test of one protocol: name one")
    first = verdicts[0]
    place = located(first, folder, "--pytest")
    filename, _colon, function = place.rpartition(":")
    imports, source = from_file(filename, function) if filename else from_catalogue(place)
    return TEMPLATE.format(
        name=first.name,
        short=function or first.name,
        why=why(verdicts, function or first.name),
        found=found(verdicts),
        imports=imports,
        source=source,
        contracts=pformat([verdict.contract for verdict in verdicts]).replace("'", '"'),
        test=re.sub(r"\W+", "_", function or first.name).strip("_"),
        arguments=arguments(first.parameters, steps),
    )


def from_catalogue(name: str) -> tuple[str, str]:
    """How the test finds an entry of the catalogue."""
    imports = "import pytest\n\nfrom streamorder import catalogue"
    return imports, f'PROTOCOL = catalogue()["{name}"]'


def from_file(path: str, function: str) -> tuple[str, str]:
    """How the test finds a protocol of the user's own."""
    imports = "from pathlib import Path\n\nimport pytest\n\nfrom streamorder.model.load import load"
    source = f'FILE = Path(__file__).parent / "{path}"\n(PROTOCOL,) = load(f"{{FILE}}:{function}")'
    return imports, source


def located(verdict: Verdict, folder: Path, option: str) -> str:
    """How a file in this folder finds a protocol: its name in the catalogue, or `PATH.py:function`
    with the path from there.
    """
    filename, _colon, function = verdict.name.rpartition(":")
    if not filename:
        return verdict.name
    if verdict.where is None:
        raise BadInput(f"{option}: where {verdict.name} is written is not known")
    near = os.path.relpath(Path(verdict.where.filename).resolve(), folder.resolve())
    return f"{Path(near).as_posix()}:{function}"


def arguments(parameters: dict[str, Any], steps: int | None) -> str:
    """The protocol's parameters, and the number of steps if it was given."""
    given = {**({"steps": steps} if steps else {}), **parameters}
    return "".join(f", {name}={value!r}" for name, value in given.items())


def why(verdicts: Sequence[Verdict], short: str) -> str:
    """What the test is for, in the first line of its docstring."""
    outcomes = {verdict.outcome for verdict in verdicts}
    if Outcome.REFUTED in outcomes:
        return f"it fails until {short} is mended"
    if Outcome.UNDETERMINED in outcomes:
        return f"it fails until {short} is decided, and holds"
    return f"it fails once {short} no longer holds"


def found(verdicts: Sequence[Verdict]) -> str:
    """What was found, for the module's docstring."""
    edges = [(verdict, edge) for verdict in verdicts for edge in verdict.missing_edges]
    if not edges:
        held = {Outcome.PROVED, Outcome.HOLDS}.issuperset(verdict.outcome for verdict in verdicts)
        return f"{'It held' if held else 'It was not decided'} when this was written."
    verdict, edge = edges[0]
    lines = wrap(f"Under {verdict.contract}: {edge.sentence}.", 96)
    lines += wrap(f"So {edge.consequence}.", 96) if edge.consequence else []
    picture = swim_lanes([*edge.counterexample, *edge.aftermath], width=96)
    text = "\n".join([*lines, "", indent(picture, "    ")])
    return text.replace("\\", "\\\\").replace('"""', "'''")
