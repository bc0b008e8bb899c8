"""Attention over a plan is attention: the kernels against the float32 reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("numpy", reason="the planner needs numpy")
pytest.importorskip("torch", reason="the attention kernels need torch: make torch")
pytest.importorskip("triton", reason="the attention kernels need Triton: make torch")

from streamorder.model.errors import BadInput
from streamorder.validation.kernels import Batch, Prefill, partial_tiles, plan_to_device, warm_up
from streamorder.validation.planner import plan_sizes

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPES: dict[str, tuple[dict[str, Any], int, int]] = {
    # batch, compute units, partial tiles of the plan
    "split-and-whole": ({"lengths": [300, 100, 1], "heads": 2}, 4, 2),
    "split-in-three": ({"lengths": [258], "heads": 1}, 6, 5),
    "one-token": ({"lengths": [1], "heads": 2}, 4, 0),
    "no-token": ({"lengths": [0, 3], "heads": 1, "context_lens": [4, 3]}, 4, 0),
    "more-keys": ({"lengths": [70, 5], "heads": 1, "context_lens": [290, 150]}, 3, 4),
    "not-causal": (
        {"lengths": [5, 70], "heads": 1, "context_lens": [0, 290], "is_causal": False},
        2,
        2,
    ),
}


@pytest.mark.parametrize(("batch", "units", "partials"), SHAPES.values(), ids=SHAPES)
def test_matches_the_reference(
    attend: Callable[..., Prefill], device: str, batch: dict[str, Any], units: int, partials: int
) -> None:
    """Whole and split tiles, with pages out of order and scales other than 1."""
    made = Batch.random(**batch, device=device, scattered=True, scales=(0.5, 1.5, 2.0))
    assert partial_tiles(made.plan(cu_count=units)) == partials
    seen = attend(made, cu_count=units).compare()
    assert seen.matches, seen
    assert seen.rows == sum(batch["lengths"]) * batch["heads"]


def test_one_batch_after_another_in_kept_buffers(
    attend: Callable[..., Prefill], device: str
) -> None:
    """Arrays for the largest batch hold a smaller one's plan; past it there is no work."""
    sizes = plan_sizes(3, 1, 300, cu_count=4)
    for lengths in ([150, 2, 1], [20]):
        batch = Batch.random(lengths, heads=1, device=device)
        plan = batch.plan(cu_count=4, buffers=sizes)
        assert {name: array.shape for name, array in plan.items()}.items() <= sizes.items()
        assert attend(batch, plan).compare().matches


def test_nothing_is_written_before_it_is_launched(device: str) -> None:
    """A new output is poison; the forward kernel leaves the rows of split tiles to the other."""
    batch = Batch.random([260], heads=1, device=device)
    plan = batch.plan(cu_count=2)
    arrays = plan_to_device(plan, device)
    prefill = Prefill(batch, partial_tiles=partial_tiles(plan))
    before = prefill.compare()
    assert (before.unwritten, before.wrong, before.first) == (260, 0, (0, 0))
    prefill.forward(arrays)
    between = prefill.compare()
    assert (between.unwritten, between.wrong, between.first) == (4, 0, (256, 0))
    prefill.reduce(arrays)
    assert prefill.compare().matches
    prefill.poison()
    assert prefill.compare() == before


def test_warm_up(device: str) -> None:
    """It compiles every kernel by running it, and says nothing when they are right."""
    warm_up(device)


def test_the_example_of_the_page(
    device: str, pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    """docs/aiter.md shows how, and it works as shown but for the size."""
    page = (pytestconfig.rootpath / "docs" / "aiter.md").read_text(encoding="utf-8")
    example = page.partition("```python\n")[2].partition("```")[0]
    small = example.replace("[8175], heads=16", "[130], heads=1").replace("256", "2")
    exec(small.replace('"cuda"', f'"{device}"'), {})  # noqa: S102 - our own page
    assert capsys.readouterr().out.startswith("matches the reference in 130 rows, ")


def test_plans_of_another_kind_are_refused(torch: Any, device: str) -> None:
    """Kernels take addresses: an array of other numbers would be misread, not converted."""
    batch = Batch.random([3], heads=1, device=device)
    arrays = plan_to_device(batch.plan(cu_count=2), device)
    prefill = Prefill(batch, partial_tiles=0)
    with pytest.raises(BadInput, match="work_info must be a contiguous int32 tensor"):
        prefill.forward({**arrays, "work_info": arrays["work_info"].long()})
    spread = torch.zeros(8, dtype=torch.int32, device=device)[::2]
    with pytest.raises(BadInput, match="reduce_indptr must be a contiguous int32 tensor"):
        prefill.reduce({**arrays, "reduce_indptr": spread})


@pytest.mark.parametrize(
    "batch",
    [
        {"lengths": [3], "heads": 0},
        {"lengths": [-1], "heads": 1},
        {"lengths": [3], "heads": 1, "context_lens": [3, 3]},
    ],
    ids=["no-head", "negative", "two-contexts"],
)
def test_batches_that_cannot_be(device: str, batch: dict[str, Any]) -> None:
    """One line says what a batch is made of."""
    with pytest.raises(BadInput, match="no batch has"):
        Batch.random(**batch, device=device)
