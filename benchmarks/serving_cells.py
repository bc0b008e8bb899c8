# ruff: noqa: INP001 - a script, run from a checkout and never installed
"""The published serving figures as experiments: cells of (lengths, concurrency) with a target."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from streamorder.commands.simulated import BUDGET, classifier, plan_bytes
from streamorder.model.catalogue import catalogue
from streamorder.sim.device import load_device
from streamorder.sim.serving import Serving
from streamorder.sim.serving_metrics import HEADLINE
from streamorder.sim.serving_workload import Workload, of_length

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from streamorder.sim.serving_model import StepModel

PUBLISHED = tomllib.loads(
    (Path(__file__).parent / "serving_published.toml").read_text(encoding="utf-8")
)
DEVICE = "mi355x-rocm10"
PROTOCOLS = ("fp8-prefill/direct", "fp8-prefill/staged")
SEED = 1


class Cell(NamedTuple):
    """One published run: lengths, clients, prompts in all, and the figures by name."""

    prompt: int
    output: int
    concurrency: int
    prompts: int
    figures: dict[str, float]
    fitted: bool

    @property
    def name(self) -> str:
        """Such as `8k/1k @ 32`."""
        return f"{short(self.prompt)}/{short(self.output)} @ {self.concurrency}"

    def workload(self, *, async_scheduling: bool = True) -> Workload:
        """What the run asks of the engine."""
        return Workload(
            self.concurrency,
            self.prompts,
            of_length(self.prompt),
            of_length(self.output),
            BUDGET,
            async_scheduling=async_scheduling,
        )


def short(tokens: int) -> str:
    """A number of tokens as benchmarks name it."""
    return f"{tokens // 1024}k" if tokens >= 1024 else str(tokens)


def experiment(cell: Cell, model: StepModel, protocol: str = "fp8-prefill/direct",
               device: str = DEVICE, *, async_scheduling: bool = True) -> Serving:  # fmt: skip
    """A cell as something to simulate."""
    on = load_device(device)
    workload = cell.workload(async_scheduling=async_scheduling)
    return Serving(
        catalogue()[protocol],
        workload,
        on,
        model,
        sizes=plan_bytes(on),
        classify=classifier(on),
    )


def dummy_cells() -> list[Cell]:
    """Dummy weights: three figures a cell, all fitted."""
    data = PUBLISHED["dummy-weights"]
    found = []
    for cell in data["cells"]:
        clients = cell["concurrency"]
        figures = {name: cell[name] for name in HEADLINE}
        prompts, fitted = data["prompts_a_client"] * clients, clients in data["fitted"]
        found.append(Cell(cell["prompt"], cell["output"], clients, prompts, figures, fitted))
    return found


def real_cells() -> list[Cell]:
    """Real weights: throughput only; some cells are fitted, the others predicted."""
    data = PUBLISHED["real-weights"]
    return [
        Cell(shape["prompt"], shape["output"], clients, data["prompts_a_client"] * clients,
             {"output_tok_per_s": figure}, clients in shape["fitted"])
        for shape in data["shapes"]
        for clients, figure in zip(shape["concurrency"], shape["output_tok_per_s"], strict=True)
    ]  # fmt: skip


def throughput(cell: Cell) -> float:
    """The published output tok/s."""
    return cell.figures["output_tok_per_s"]
