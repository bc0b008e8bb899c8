"""The kernels on a GPU: the batches of vLLM's ordering test, and many random ones."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("numpy", reason="the planner needs numpy")
pytest.importorskip("torch", reason="the attention kernels need torch")
pytest.importorskip("triton", reason="the attention kernels need Triton")

from streamorder.validation.kernels import Batch, Prefill, partial_tiles, plan_to_device, warm_up
from streamorder.validation.planner import PlanRefused, plan_sizes

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.gpu

BATCHES = [[8175], [6992, 6896, 2495], [4096] * 4, [1], [2048, 512, 128, 31]]


@pytest.fixture(autouse=True)
def _on_a_gpu(device: str) -> None:
    """Here the sizes are for a GPU; in the interpreter they would take hours."""
    if device == "cpu":
        pytest.fail("no GPU: these tests were asked for by -m gpu")


@pytest.mark.parametrize("units", [256, 132])
@pytest.mark.parametrize("lengths", BATCHES, ids=str)
def test_batches_of_the_ordering_test(
    attend: Callable[..., Prefill], device: str, lengths: list[int], units: int
) -> None:
    """Sixteen heads, on as many units as an MI355X or an H200 has."""
    batch = Batch.random(lengths, heads=16, device=device)
    seen = attend(batch, cu_count=units).compare()
    assert seen.matches, seen


@pytest.mark.parametrize("seed", range(60))
def test_random_batches(attend: Callable[..., Prefill], device: str, seed: int) -> None:
    """Lengths, contexts, heads, units, scales and page order drawn from a seed."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    lengths = [draw.choice([1, 31, 255, 256, 257, draw.randint(1, 3000)]) for _ in range(9)]
    lengths = lengths[: draw.randint(1, 9)]
    extra = [draw.choice([0, draw.randint(0, 2000)]) for _ in lengths]
    batch = Batch.random(
        lengths,
        heads=draw.choice([1, 2, 8, 12, 16]),
        device=device,
        context_lens=[q + more for q, more in zip(lengths, extra, strict=True)],
        is_causal=draw.random() < 0.8,
        scattered=draw.random() < 0.5,
        scales=(draw.uniform(0.3, 1.2), draw.uniform(0.3, 1.2), draw.uniform(0.1, 4)),
        seed=seed,
    )
    seen = attend(batch, cu_count=draw.choice([20, 80, 132, 256, 304])).compare()
    assert seen.matches, (seed, lengths, extra, seen)


def test_stale_plans_of_kept_buffers(device: str) -> None:
    """Every ordered pair of batches: the other's plan is seen, and faults nothing."""
    sizes = plan_sizes(4, 16, 8192, cu_count=256)
    made = [Batch.random(lengths, heads=16, device=device) for lengths in BATCHES]
    plans = [batch.plan(cu_count=256, buffers=sizes) for batch in made]
    for batch, own in zip(made, plans, strict=True):
        for plan in plans:
            prefill = Prefill(batch, partial_tiles=partial_tiles(own))
            prefill.run(plan_to_device(plan, device))
            assert prefill.compare().matches == (plan is own)


def test_a_graph_replays_both_kernels(torch: Any, device: str) -> None:
    """Neither kernel allocates or waits; a replay reads the plan that is there by then."""
    warm_up(device)
    sizes = plan_sizes(4, 16, 8192, cu_count=256)
    batch = Batch.random([2048, 512, 128, 31], heads=16, device=device)
    plan = batch.plan(cu_count=256, buffers=sizes)
    arrays = plan_to_device(plan, device)
    prefill = Prefill(batch, partial_tiles=partial_tiles(plan))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        prefill.run(arrays)
    assert prefill.compare().unwritten == prefill.compare().rows
    graph.replay()
    assert prefill.compare().matches
    prefill.poison()
    arrays["work_indptr"].zero_()
    graph.replay()
    assert not prefill.compare().matches


def test_a_plan_in_one_arena_compiles_nothing_more(torch: Any, device: str) -> None:
    """Views that begin at any element are launched without another variant of the kernels."""
    from streamorder.validation.kernels.forward import forward_kernel
    from streamorder.validation.kernels.reduce import reduce_kernel

    def variants() -> int:
        return sum(
            len(entry[0])
            for kernel in (forward_kernel, reduce_kernel)
            for entry in kernel.device_caches.values()
        )

    warm_up(device)
    before = variants()
    batch = Batch.random([700, 33, 1], heads=16, device=device)
    plan = batch.plan(cu_count=37)
    for shift in range(5):
        arena = torch.zeros(sum(a.size for a in plan.values()) + shift, dtype=torch.int32)
        views, start = {}, shift
        for name, array in plan.items():
            part = arena[start : start + array.size]
            part.copy_(torch.from_numpy(array).flatten())
            views[name] = (start, array.shape)
            start += array.size
        there = arena.to(device)
        prefill = Prefill(batch, partial_tiles=partial_tiles(plan))
        prefill.run(
            {
                name: there[at : at + plan[name].size].view(shape)
                for name, (at, shape) in views.items()
            }
        )
        assert prefill.compare().matches
    assert before
    assert variants() == before


def test_refused_batches_reach_no_gpu(device: str) -> None:
    """The host refuses a plan before anything is launched."""
    batch = Batch.random([3, 5], heads=2, device=device, context_lens=[3, 0], is_causal=False)
    with pytest.raises(PlanRefused, match="would be dropped"):
        batch.plan(cu_count=4)
