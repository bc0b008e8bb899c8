"""`streamorder plan`: the plan as text, as data and as a picture; what is refused."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("numpy", reason="the planner needs numpy")

from streamorder.validation.planner import plan_lengths

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

REFUSED = """
plan
plan --lengths 8175,
plan --lengths -3
plan --lengths 8175 --heads 0
plan --lengths 8175 --cus many
plan --lengths 8175 --groups 0
plan --lengths 8175 --contexts 3,3
plan --lengths 8175 --contexts 10
plan --lengths 8175 --max-length 256
plan --lengths 3,5 --contexts 3,0 --not-causal
plan --lengths 8175 --token-budget 8174
plan --lengths 8175 --draw plan
plan --lengths 8175 --draw plan.gif
plan --lengths 8175 --draw nowhere/plan.png
plan --lengths 8175 --slots 3
"""


def test_text(command: Callable[..., tuple[int, str, str]], snapshot: Callable[..., None]) -> None:
    """Figures, buffers, and each thread group's work; sizes of AITER's and within a budget."""
    asked = (
        "--lengths 8175 --cus 256 --heads 16",
        "--lengths 6992,6896,2495 --batch-size 256 --max-length 8192 --groups 3",
        "--lengths 6992,1100 --batch-size 256 --max-length 8192 --token-budget 8192 --groups 3",
        "--lengths 5,70 --contexts 0,290 --not-causal --cus 2 --heads 1",
    )
    pages: list[str] = []
    for words in asked:
        code, out, err = command("plan", *words.split())
        assert (code, err) == (0, "")
        pages.append(f"$ streamorder plan {words}\n{out}")
    snapshot("\n".join(pages), "plan")


def test_json_is_the_plan(command: Callable[..., tuple[int, str, str]]) -> None:
    """The five arrays, and the shapes of all six buffers."""
    code, out, _ = command("plan", "--lengths", "300,20", "--cus", "4", "--format", "json")
    data = json.loads(out)
    plan = plan_lengths([300, 20], cu_count=4, num_heads_k=16)
    assert code == 0
    assert data["plan"] == {name: array.tolist() for name, array in plan.items()}
    assert {name: tuple(data["buffers"][name]) for name in plan} == {
        name: array.shape for name, array in plan.items()
    }
    assert data["buffers"]["work_metadata_ptrs"] == [2]


def test_refusals(
    command: Callable[..., tuple[int, str, str]], snapshot: Callable[..., None]
) -> None:
    """One line each, exit 2, and no picture."""
    said = ""
    for words in REFUSED.strip().splitlines():
        code, out, err = command(*words.split())
        assert (code, out, err.count("\n")) == (2, "", 1), words
        said += f"$ streamorder {words}\n{err}"
    snapshot(said, "plan-refused")


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_picture(
    command: Callable[..., tuple[int, str, str]], workplace: Path, suffix: str
) -> None:
    """The file is of the kind that its name says; the text is printed all the same."""
    pytest.importorskip("matplotlib", reason="pictures of plans need matplotlib")
    begins = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    code, out, _ = command("plan", "--lengths", "8175", "--draw", f"plan{suffix}")
    assert code == 0
    assert out.startswith("work    512 items for 16 heads on 256 thread groups\n")
    assert (workplace / f"plan{suffix}").read_bytes().startswith(begins[suffix])


@pytest.mark.parametrize(
    ("missing", "words"),
    [("numpy", ()), ("matplotlib", ("--draw", "plan.png"))],
    ids=["numpy", "matplotlib"],
)
def test_what_is_missing_is_named(
    command: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
    workplace: Path,
    missing: str,
    words: tuple[str, ...],
) -> None:
    """Exit 4, one line, nothing printed or drawn."""
    for name in [name for name in sys.modules if name.split(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "streamorder.validation.planner")
    code, out, err = command("plan", "--lengths", "8175", *words)
    assert (code, out) == (4, "")
    assert err.endswith(f"needs {missing}: pip install 'streamorder[plot]'\n")
    assert not list(workplace.iterdir())


def test_aiter_is_missing(
    command: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line and exit 4; why else it cannot run is in tests/kernels/aiter."""
    monkeypatch.setitem(sys.modules, "torch", None)
    assert command("plan", "--lengths", "8175", "--aiter") == (
        *(4, ""),
        "streamorder: AITER needs torch for ROCm, and there is no torch here\n",
    )
