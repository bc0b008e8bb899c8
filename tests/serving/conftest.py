"""Small serving experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder.commands.simulated import classifier, plan_bytes
from streamorder.model.catalogue import catalogue
from streamorder.sim.device import load_device
from streamorder.sim.serving import Serving
from streamorder.sim.serving_model import StepModel
from streamorder.sim.serving_workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable

MODEL = StepModel("by hand", 10e-3, 1e-3, 40e-6, 0.0)
SMALL = Workload(8, 24, prompt_tokens=(600, 1000), output_tokens=(20, 40), token_budget=2048)


@pytest.fixture
def experiment() -> Callable[..., Serving]:
    """A protocol under a small workload; named fields replace those of the workload."""

    def made(
        protocol: str, device: str = "mi355x-rocm10", parameters: Any = None, **changes: Any
    ) -> Serving:
        on = load_device(device)
        workload = SMALL._replace(**changes)
        return Serving(catalogue()[protocol], workload, on, MODEL, parameters or {},
                       plan_bytes(on), classify=classifier(on))  # fmt: skip

    return made
