"""The text and the picture of a plan."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("numpy", reason="the planner needs numpy")

from streamorder.model.errors import CannotRunHere
from streamorder.validation.plan_picture import describe_plan, draw_plan, summarise_plan
from streamorder.validation.planner import Plan, plan_lengths

if TYPE_CHECKING:
    from pathlib import Path

THREE_MIXED = """\
work    1,280 items for 16 heads on 256 thread groups
groups  16 clusters of 16 with 1 head each; all work alike, the first is shown
tiles   65 (row.tile), 15 of them split into 30 partials (row.tile*partial)
load    13,247 to 13,440 pages of keys a group, 99.8% balanced, 0 idle

  group       pages  work
      0      13,392  ########################  0.0 0.27 0.1 0.26*0
      1      13,440  ########################  0.26*1 0.2 0.25 0.3 0.24*2
        and 14 more groups"""

IDLE = """\
work    6 items for 3 heads on 4 thread groups
groups  1 cluster of 4 with 3 heads
tiles   2 (row.tile), 0 of them split into 0 partials (row.tile*partial)
load    0 to 300 pages of keys a group, 25.5% balanced, 2 idle

  group       pages  work
      0         300  ########################  0.0
      1           6                            1.0
      2           0
      3           0"""


def three_mixed() -> Plan:
    """Plan the batch of vLLM's ordering test that has split tiles."""
    return plan_lengths([6992, 6896, 2495], cu_count=256, num_heads_k=16)


def test_text_of_a_batch() -> None:
    """A heading, and a line for each thread group up to the limit."""
    assert describe_plan(three_mixed(), limit=2) == THREE_MIXED


def test_text_shows_idle_groups_and_one_head_of_three() -> None:
    """Two units of keys for four groups; each tile is done for three heads."""
    assert describe_plan(plan_lengths([100, 2], cu_count=4, num_heads_k=3)) == IDLE


def test_text_of_nothing() -> None:
    """A plan without work has groups, all idle, and is balanced."""
    text = describe_plan(plan_lengths([], cu_count=4, num_heads_k=2))
    assert "work    0 items for 0 heads on 4 thread groups" in text
    assert "100.0% balanced, 4 idle" in text


def test_summary_of_a_batch() -> None:
    """The counts are data too; a load is what the group's items read."""
    summary = summarise_plan(three_mixed())
    assert (summary.heads, summary.clusters, summary.tiles) == (16, 16, 65)
    assert (summary.split, summary.partials, summary.merges) == (15, 30, 15)
    assert summary.loads[:16] * 16 == summary.loads
    assert max(summary.loads) == 13_440
    assert [item.label for item in summary.work[16][:2]] == ["0.0", "0.27"]


@pytest.mark.parametrize(
    ("lengths", "heads"),
    [([6992, 6896, 2495], 16), ([8175], 1), ([40] * 12, 12), ([], 2)],
    ids=["one-panel", "five-panels", "many-rows", "nothing"],
)
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_picture_is_written(lengths: list[int], heads: int, suffix: str, tmp_path: Path) -> None:
    """The suffix says the format, whatever the plan's shape."""
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    path = tmp_path / f"plan{suffix}"
    draw_plan(plan_lengths(lengths, cu_count=256, num_heads_k=heads), path, title="a plan")
    start = path.read_bytes()[:8]
    assert start == b"\x89PNG\r\n\x1a\n" if suffix == ".png" else start.startswith(b"<?xml")


def test_picture_marks_items_without_keys(tmp_path: Path) -> None:
    """A tile that sees no key has no length, and a diamond in its row's colour."""
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    lengths, contexts = [16, 16, 16], [300, 0, 300]
    plan = plan_lengths(lengths, context_lens=contexts, cu_count=2, num_heads_k=1, is_causal=False)
    draw_plan(plan, tmp_path / "plan.svg")
    assert "#e07b1a" in (tmp_path / "plan.svg").read_text()


def test_missing_matplotlib_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The error says what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(CannotRunHere, match=r"needs matplotlib: pip install 'streamorder\[plot\]'"):
        draw_plan(three_mixed(), tmp_path / "plan.png")
