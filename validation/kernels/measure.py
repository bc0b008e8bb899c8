"""How long the kernels take on this device, and whether they are right there.

    python -m streamorder.validation.kernels.measure > validation/results/kernels.json

Times are medians of single launches from Python with device events around them, in microseconds, so
those below about 70 are the launch rather than the kernel. `teraflops` counts
the multiplications and additions that causal attention needs, 2 (192 + 128) for each query, head
and visible key.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from shutil import which
from statistics import median
from subprocess import run
from typing import TYPE_CHECKING, Any

import torch
import triton

from ...model.errors import CannotRunHere
from .batch import Batch, partial_tiles, plan_to_device
from .prefill import Prefill, warm_up
from .shapes import QK_DIM, V_DIM

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BATCHES = ([8175], [6992, 6896, 2495], [4096] * 4, [1], [2048, 512, 128, 31])
"""Lengths of the batches in vLLM's ordering test."""

REPEATS = 20


def measure_kernels(
    batches: Sequence[Sequence[int]] = BATCHES, *, heads: int = 16, cu_count: int = 256
) -> dict[str, Any]:
    """Run each batch on the GPU: its agreement with the reference, and its times.

    Raises:
        CannotRunHere: When there is no GPU.
    """
    if not torch.cuda.is_available():
        raise CannotRunHere("no GPU: torch finds neither a CUDA nor a ROCm device")
    warm_up("cuda")
    return {
        "device": torch.cuda.get_device_name(),
        "driver": _driver(),
        "units": torch.cuda.get_device_properties(0).multi_processor_count,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "rocm": torch.version.hip,
        "triton": triton.__version__,
        "date": datetime.now(timezone.utc).date().isoformat(),
        "heads": heads,
        "cu_count": cu_count,
        "batches": [_measure(lengths, heads, cu_count) for lengths in batches],
    }


def _driver() -> str | None:
    """The driver's version, as its own tool tells it; none where that is not installed."""
    if not (tool := which("nvidia-smi")):
        return None
    asked = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
    return run(asked, capture_output=True, text=True, check=True).stdout.split()[0]  # noqa: S603


def _measure(lengths: Sequence[int], heads: int, cu_count: int) -> dict[str, Any]:
    batch = Batch.random(lengths, heads=heads, device="cuda")
    plan = batch.plan(cu_count=cu_count)
    arrays = plan_to_device(plan, "cuda")
    prefill = Prefill(batch, partial_tiles=partial_tiles(plan))
    prefill.run(arrays)
    seen = prefill.compare()
    forward = _median_us(lambda: prefill.forward(arrays))
    pairs = sum(length * (length + 1) // 2 for length in lengths)
    return {
        "lengths": list(lengths),
        "partials": partial_tiles(plan),
        "matches": seen.matches,
        "worst_deviation": seen.worst,
        "forward_us": round(forward, 1),
        "reduce_us": round(_median_us(lambda: prefill.reduce(arrays)), 1),
        "teraflops": round(2 * (QK_DIM + V_DIM) * heads * pairs / forward / 1e6, 1),
    }


def _median_us(launch: Callable[[], None]) -> float:
    times: list[float] = []
    for _ in range(REPEATS):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        launch()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1000)
    return median(times)


if __name__ == "__main__":
    json.dump(measure_kernels(), sys.stdout, indent=2)
