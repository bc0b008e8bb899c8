"""The scripts of benchmarks/: pages show what was measured, and each tool decides a program."""

from __future__ import annotations

import json
import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

FOLDER = Path(__file__).parents[2] / "benchmarks"
OWN = frozenset(path.stem for path in FOLDER.glob("*.py"))


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """`script(name)`: one of the scripts, imported; they import each other by bare names."""
    monkeypatch.syspath_prepend(str(FOLDER))
    yield import_module
    for name in OWN & sys.modules.keys():
        del sys.modules[name]


@pytest.mark.parametrize(
    ("results", "writer"), [("checkers", "checkers_page"), ("results", "table")]
)
def test_page_shows_what_was_measured(
    results: str, writer: str, script: Callable[[str], ModuleType]
) -> None:
    """Written again from its data, it does not change."""
    data = json.loads((FOLDER / f"{results}.json").read_text("utf-8"))
    page = (FOLDER / f"{results}.md").read_text("utf-8")
    assert script(writer).markdown(data) == page


def test_grid_is_whole(script: Callable[[str], ModuleType]) -> None:
    """Every combination is there, and was measured: what did not run says why."""
    cells = script("family").cells(quick=False)
    rows = json.loads((FOLDER / "checkers.json").read_text("utf-8"))["cells"]
    assert len(set(cells)) == len(cells) == 96
    assert [(r["queues"], r["threads"], r["layers"], r["steps"]) for r in rows] == cells
    tools = script("checkers").TOOLS
    known = {"HOLDS", "UNDETERMINED", "NOT RUN", "REFUSED"}
    assert {row[tool]["outcome"] for row in rows for tool in tools} <= known


NEEDS = {"spin-tcc": ("spin", "tcc"), "spin-gcc": ("spin", "gcc"), "tlc": ("java",)}
ALL = ("order", "machine", "spin-tcc", "spin-gcc", "tlc", "minicheck")
DECIDED = {
    ("own", 1, 1, 2): ALL,
    ("own", 2, 1, 2): ("order", "spin-tcc", "minicheck"),
    ("one", 2, 1, 1): ("order", "spin-tcc"),
}
"""Who decides the smallest sizes in some seconds."""


@pytest.mark.parametrize(
    ("tool", "cell"), [(tool, cell) for cell, tools in DECIDED.items() for tool in tools], ids=str
)
def test_tool_decides(
    tool: str, cell: tuple[Any, ...], script: Callable[[str], ModuleType]
) -> None:
    """The smallest sizes, each tool by its own way."""
    missing = [name for name in NEEDS.get(tool, ()) if shutil.which(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} IS NOT HERE: a tool of the comparison did not run")
    found = script("tools").TOOLS[tool](script("family").Cell(*cell), 20.0)
    assert found["outcome"] == "HOLDS"
    assert found["seconds"] > 0


@pytest.mark.parametrize("tool", ["machine", "spin-tcc", "spin-gcc", "tlc", "minicheck"])
def test_tool_that_runs_out_is_undetermined(tool: str, script: Callable[[str], ModuleType]) -> None:
    """Hardly any time is no verdict; minicheck, which has no limit, is ended from outside."""
    missing = [name for name in NEEDS.get(tool, ()) if shutil.which(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} IS NOT HERE: a tool of the comparison did not run")
    cell = script("family").Cell("one", 3, 4, 4)
    found = script("checkers").once(tool, cell, 0.3)
    assert found["outcome"] == "UNDETERMINED"


def test_what_ran_out_is_not_asked_again(
    script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Larger sizes of its series are marked, not decided; another series starts anew."""
    checkers, family = script("checkers"), script("family")
    asked: list[tuple[str, Any]] = []

    def once(tool: str, cell: Any, _limit: float) -> dict[str, Any]:
        asked.append((tool, cell))
        late = tool == "tlc" and cell.steps > 2
        return {"outcome": "UNDETERMINED" if late else "HOLDS", "seconds": 3.0}

    monkeypatch.setattr(checkers, "once", once)
    monkeypatch.setattr(checkers, "command_seconds", lambda *_words: 0.1)
    cells = [family.Cell("own", 2, layers, steps) for layers in (1, 4) for steps in (2, 4, 8)]
    rows = checkers.measured_cells(cells, 1.0)
    outcomes = [row["tlc"]["outcome"] for row in rows]
    assert outcomes == ["HOLDS", "UNDETERMINED", "NOT RUN"] * 2
    assert [cell for tool, cell in asked if tool == "tlc"] == [*cells[:2], *cells[3:5]]
    assert all(row["order"]["outcome"] == "HOLDS" for row in rows)


def test_a_tool_that_fails_is_undetermined(
    script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its error is kept; nothing is taken for a verdict."""
    checkers, family = script("checkers"), script("family")
    monkeypatch.setattr(checkers, "HERE", FOLDER / "nowhere")
    found = checkers.tried("order", family.Cell("own", 1, 1, 2), 1.0)
    assert found["outcome"] == "UNDETERMINED"
    assert "tools.py" in found["why"]


def row(order: float, pan: float, command: float, spin: float, steps: int) -> dict[str, Any]:
    """A size at which everything was decided."""
    holds = {"outcome": "HOLDS", "search": pan, "seconds": spin}
    return {
        "queues": "own", "threads": 2, "layers": 1, "steps": steps, "command": command,
        "order": {"outcome": "HOLDS", "seconds": order}, "spin-tcc": holds, "spin-gcc": holds,
    }  # fmt: skip


def test_summary_counts_what_is_slower(script: Callable[[str], ModuleType]) -> None:
    """By how many sizes, at which, and from where on the whole command is faster."""
    rows = [row(0.2, 0.1, 0.3, 0.2, 2), row(0.2, 0.4, 0.3, 0.6, 4), row(0.2, 2.0, 0.3, 3.0, 8)]
    said = "\n".join(script("checkers_page").summary(rows))
    assert "faster than pan alone at 2 of 3 sizes" in said
    assert "- slower: 2 host threads, own hardware queues, 1 layer, 2 steps: 0.200 s" in said
    assert "from 4 steps on (steps: ratio - 2: 0.67, 4: 2.00, 8: 10.00)" in said
