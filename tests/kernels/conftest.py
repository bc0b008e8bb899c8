"""Where the attention kernels run: on the GPU, or on the CPU in Triton's interpreter.

Triton reads `TRITON_INTERPRET` when a kernel is defined, so it is set before the first test module
of this folder imports one.
"""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

NEEDED = ("numpy", "torch", "triton")

if all(map(importlib.util.find_spec, NEEDED)):
    TORCH: Any = importlib.import_module("torch")
    DEVICE = "cuda" if TORCH.cuda.is_available() else "cpu"
    if DEVICE == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"
    # What Triton does by default; from 3.9 on it warns where nothing is said, and here that fails.
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")


@pytest.fixture(scope="session")
def torch() -> Any:
    """The module: a test imports it so that types are checked where it is not installed."""
    return TORCH


@pytest.fixture(scope="session")
def device() -> str:
    """The GPU, if there is one."""
    return DEVICE


@pytest.fixture(scope="session")
def attend(device: str) -> Callable[..., Any]:
    """`attend(batch)`: its `Prefill` after a run over its own plan, or over `plan`.

    `cu_count` is that of the plan; `partial_tiles` is the plan's own number.
    """
    from streamorder.validation.kernels import Prefill, partial_tiles, plan_to_device

    def run(batch: Any, plan: Any = None, *, cu_count: int = 4) -> Prefill:
        own = batch.plan(cu_count=cu_count)
        prefill = Prefill(batch, partial_tiles=partial_tiles(own))
        prefill.run(plan_to_device(own if plan is None else plan, device))
        return prefill

    return run
