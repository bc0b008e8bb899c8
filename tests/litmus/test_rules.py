"""Every rule has its place: in the front end and a litmus program, or in words and why not.

`docs/rules.md` is read as it stands; its tables are compared with the rules' numbers, the front
end's docstrings, the contract's fields, the programs of `validation/litmus` and the tests of gaps.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import streamorder
from streamorder import Contract
from streamorder.validation import litmus

FOLDER = Path(__file__).parent
PAGE = (FOLDER.parents[1] / "docs" / "rules.md").read_text(encoding="utf-8")
MODEL = Path(streamorder.__file__).parent / "model"
FRONT = (
    *("streams", "copies", "allocation", "signals", "graphs", "frontend", "contract"),
    *("stream_calls", "memory_calls", "host_calls", "objects"),
)

SIZES = {1: 8, 2: 13, 3: 9, 4: 6, 5: 7, 6: 6, 7: 6, 8: 6, 9: 6}
RULES = [f"R{group}.{n}" for group, size in SIZES.items() for n in range(1, size + 1)]
RULE, CALLS, GAP = "rule", "calls", "not modelled"
OUTSIDE = ("schedule only, never order: ", "tools: ", "timing: ")
EVIDENCE = {"documented", "source", "derived"}
# What the design says that the model leaves out, by the tests that show it.
DESIGNED_GAPS = {
    "memory order and scopes inside kernels": "test_memory_order_inside_kernels",
    "cache-line staging": "test_cache_line_staging",
    "pointers resolved late": "test_pointers_resolved_late",
    "events bound at execution": "test_events_bound_at_execution",
    "ring-index races of a runtime": "test_ring_index_races_of_a_runtime",
    "several processes": "test_several_processes",
    "timing guarantees": "test_timing_guarantees",
}


def rows(heading: str) -> list[dict[str, str]]:
    """The rows of every table of the page whose first column has this heading."""
    found: list[dict[str, str]] = []
    columns: list[str] | None = None
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line[:1] == "|" else []
        if not cells:
            columns = None
        elif columns is None:
            columns = cells
        elif set(line) - set("|-") and columns[0] == heading:
            found.append(dict(zip(columns, cells, strict=True)))
    return found


def listed(cell: str) -> list[str]:
    """The entries of a cell with commas."""
    return [entry.strip(" `") for entry in cell.split(",") if entry.strip()]


ROWS = {row["Rule"]: row for row in rows("Rule")}
GAPS = rows("Gap")
PROGRAMS = sorted(litmus.NAMES)


def docstrings(path: Path) -> str:
    """Every string that stands alone in a module: docstrings, and those of fields."""
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return "\n".join(
        node.value.value
        for node in tree
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


NAMED = {
    rule for name in FRONT for rule in re.findall(r"\bR\d\.\d+\b", docstrings(MODEL / f"{name}.py"))
}


def names_of_gap_tests() -> set[str]:
    """The names of the tests in `test_gaps.py`."""
    tree = ast.parse((FOLDER / "test_gaps.py").read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    return {name for name in names if name.startswith("test_")}


def test_the_table_has_every_rule_once() -> None:
    """Every rule, in order, and no other."""
    assert [row["Rule"] for row in rows("Rule")] == RULES


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_has_one_place(rule: str) -> None:
    """A rule is in the front end and a litmus program; or in other rules' calls and a program; or
    a gap with a test; or outside, and the table says why.
    """
    row = ROWS[rule]
    place, programs = row["Model"], listed(row["Litmus"])
    shown = [gap for gap in GAPS if gap["Rule"] == rule]
    if place in {RULE, CALLS}:
        assert programs
    elif place == GAP:
        assert shown
        assert not programs
    else:
        assert place.startswith(OUTSIDE)
        assert len(place.partition(": ")[2].split()) > 3
        assert not shown
    assert (rule in NAMED) == (place == RULE)


@pytest.mark.parametrize("rule", RULES)
def test_each_row_is_complete(rule: str) -> None:
    """A row says the rule, its evidence by tag, and its sources by keys of the list of sources."""
    row = ROWS[rule]
    keys = {source["Key"] for source in rows("Key")}
    assert row["What it says"].endswith(".")
    assert row["CUDA and HIP"]
    assert re.split(r"[ ,]", row["Evidence"])[0] in EVIDENCE
    assert {source.split()[0] for source in row["Source"].split(";")} <= keys


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_is_in_its_rule_s_row(name: str) -> None:
    """A program's file and docstring name its rule, and only that rule's row names the program."""
    rule = ".".join(name.split("_")[:2])
    assert [r for r, row in ROWS.items() if name in listed(row["Litmus"])] == [rule]
    docstring = litmus.program(name).__doc__
    assert docstring is not None
    assert docstring.startswith(f"{rule}: ")
    assert "\n\nSource: " in docstring


def test_every_program_of_the_table_exists() -> None:
    """The litmus column names files that exist."""
    assert sorted(name for row in ROWS.values() for name in listed(row["Litmus"])) == PROGRAMS


def test_every_choice_of_the_contract_is_in_the_table() -> None:
    """The contract's fields are in the table, each with a rule that its own text names."""
    fields = {field for row in ROWS.values() for field in listed(row["Contract field"])}
    assert fields == set(Contract._fields) - {"name", "title", "masking"}


def test_every_gap_has_its_test() -> None:
    """The gaps of the page are the tests of `test_gaps.py`; the design's are among them."""
    assert sorted(gap["Test"] for gap in GAPS) == sorted(names_of_gap_tests())
    assert {gap["Rule"] for gap in GAPS} <= set(RULES)
    assert {(gap["Gap"].lower(), gap["Test"]) for gap in GAPS} >= set(DESIGNED_GAPS.items())
