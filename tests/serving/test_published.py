"""The published figures: what the page says was simulated, and (slow) that it still comes out."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

ROOT = Path(__file__).parents[2]
KNOWN_MISSES = ["with other cells held back"]
"""What the page says first does not come out, by how it begins."""

DIRECT, STAGED = "fp8-prefill/direct", "fp8-prefill/staged"


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The scripts of benchmarks/ can be imported."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield
    for name in ("fit_serving", "serving_cells", "serving_page", "serving_predictions"):
        sys.modules.pop(name, None)


@pytest.fixture
def page(scripts: None) -> ModuleType:
    """The script that writes the page's tables."""
    del scripts
    import serving_page  # type: ignore[import-not-found]

    return serving_page


@pytest.fixture
def cells(scripts: None) -> ModuleType:
    """The script that knows the published cells."""
    del scripts
    import serving_cells  # type: ignore[import-not-found]

    return serving_cells


@pytest.fixture
def recorded() -> dict[str, Any]:
    """What was simulated last."""
    return json.loads((ROOT / "benchmarks" / "serving_results.json").read_text(encoding="utf-8"))


def test_the_page_shows_what_was_simulated(
    page: ModuleType, recorded: dict[str, Any], tmp_path: Path
) -> None:
    """Written again, it does not change."""
    text = (ROOT / "docs" / "simulation.md").read_text(encoding="utf-8")
    copy = tmp_path / "simulation.md"
    copy.write_text(text, encoding="utf-8")
    page.write_page(recorded, copy)
    assert copy.read_text(encoding="utf-8") == text


def test_what_does_not_come_out_is_known(page: ModuleType, recorded: dict[str, Any]) -> None:
    """Each figure, or the page says first that it does not."""
    checks = page.checks(recorded)
    assert len(checks) == 8
    assert [check.text[:26] for check in checks if not check.reached] == KNOWN_MISSES
    text = (ROOT / "docs" / "simulation.md").read_text(encoding="utf-8")
    assert "<!-- summary: begin -->\n**Does not come out:**\n- with other cells held back" in text


def test_the_models_have_few_parameters(cells: ModuleType, recorded: dict[str, Any]) -> None:
    """At most half as many as fitted figures, and they are those that were simulated."""
    from streamorder.sim.serving_model import load_model

    for name, every in (
        ("dummy-weights", cells.dummy_cells()),
        ("real-weights", cells.real_cells()),
    ):
        fitted = sum(len(cell.figures) for cell in every if cell.fitted)
        model = load_model(name)
        free = [value for value in model[1:] if value]
        assert 2 * len(free) <= fitted
        assert list(recorded["models"][name].values()) == list(model)


@pytest.mark.slow
def test_dummy_weights_come_out(cells: ModuleType) -> None:
    """The six fitted figures within 3 %; unpatched and staged within 1 %; overlap in 5 to 15 % of
    the steps that prefill; 1,024 prompts within a minute of this machine's time.
    """
    from streamorder.sim.serving import serve
    from streamorder.sim.serving_model import load_model

    model = load_model("dummy-weights")
    for cell in cells.dummy_cells():
        begin = time.process_time()
        direct = serve(cells.experiment(cell, model, DIRECT)).metrics
        assert time.process_time() - begin < 60
        staged = serve(cells.experiment(cell, model, STAGED)).metrics
        for name, published in cell.figures.items():
            assert getattr(direct, name) == pytest.approx(published, rel=0.03), name
            assert getattr(staged, name) == pytest.approx(getattr(direct, name), rel=0.01), name
        assert not staged.hazards
        if cell.concurrency == 32:
            assert 0.05 <= direct.overlap_share <= 0.15
            assert sum(direct.hazards.values()) == direct.overlapped
            alone = serve(cells.experiment(cell, model, DIRECT, async_scheduling=False)).metrics
            assert alone.overlapped == 0


@pytest.mark.slow
def test_real_weights_come_out(cells: ModuleType, recorded: dict[str, Any]) -> None:
    """Every cell as recorded; the fitted ones within 3 %."""
    from streamorder.sim.serving import serve
    from streamorder.sim.serving_model import load_model

    model = load_model("real-weights")
    rows = {row["cell"]: row for row in recorded["real-weights"]}
    for cell in cells.real_cells():
        rate = serve(cells.experiment(cell, model)).metrics.output_tok_per_s
        assert rate == pytest.approx(rows[cell.name]["simulated"], rel=0.005), cell.name
        if cell.fitted:
            assert rate == pytest.approx(cells.throughput(cell), rel=0.03), cell.name
