"""What `streamorder simulate` runs: a protocol by itself, or a serving engine around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model.errors import BadInput
from .deciding import targets
from .parser import whole

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from ..model.protocol import Protocol
    from ..sim.device import Device
    from ..sim.durations import Duration
    from .figures import Figures

HEADS, CLIENTS, BUDGET = 16, 256, 16384
"""What the plan's buffers are made for: heads a rank, sequences, tokens a step."""


def plain_run(options: argparse.Namespace, device: Device) -> Any:
    """A run of a protocol by itself."""
    from ..sim.serving_metrics import median
    from ..sim.simulate import simulate

    steps, sizes = whole(options.steps, "--steps") or 32, plan_bytes(device)

    def once(protocol: Protocol, seed: int, window: Any, _progress: Any) -> tuple[Figures, Any]:
        timeline = simulate(
            protocol, device, steps=steps, seed=seed, sizes=sizes, **options.parameters
        )
        totals = timeline.totals()
        figures = {
            "time (ms)": totals.seconds * 1e3,
            "host stall (ms)": totals.host_stall * 1e3,
            "device idle (ms)": totals.device_idle * 1e3,
            "plan latency, median (ms)": median(totals.plan_latency) * 1e3,
            "hazards met": float(totals.met),
            "wrong versions read": float(totals.wrong),
            **{f"{lane} busy (%)": part * 100 for lane, part in totals.busy.items()},
        }
        return figures, timeline if window else None

    return once


def serving_run(options: argparse.Namespace, device: Device) -> Any:
    """A run of a serving engine around a protocol."""
    from ..sim.serving import Serving, serve
    from ..sim.serving_model import load_model
    from ..sim.serving_workload import Workload, of_length
    from ..sim.timeline import Timeline

    if options.steps is not None:
        raise BadInput("--steps is not for serving: --prompts says how long it goes on")
    numbers = {
        name: whole(getattr(options, name), f"--{name.replace('_', '-')}") or 1
        for name in ("concurrency", "prompts", "prompt_tokens", "output_tokens", "budget")
    }
    workload = Workload(
        numbers["concurrency"],
        numbers["prompts"],
        prompt_tokens=of_length(numbers["prompt_tokens"]),
        output_tokens=of_length(numbers["output_tokens"]),
        token_budget=numbers["budget"],
        async_scheduling=options.async_scheduling == "on",
    )
    model, sizes = load_model(options.model), plan_bytes(device)
    [(_name, staged)] = targets(["fp8-prefill/staged"])
    experiment = Serving(
        staged,
        workload.checked(),
        device,
        model,
        options.parameters,
        sizes,
        jitter=jitter_of(options.jitter),
        classify=classifier(device),
    )

    def once(protocol: Protocol, seed: int, window: Any, progress: Any) -> tuple[Figures, Any]:
        timeline = Timeline(window) if window else None
        result = serve(experiment._replace(protocol=protocol), seed, watch=timeline,
                       progress=progress)  # fmt: skip
        return served_figures(result.metrics), timeline

    return once


def served_figures(metrics: Any) -> Figures:
    """The metrics of a serving run in the words of the table."""
    return {
        "output (tok/s)": metrics.output_tok_per_s,
        "ITL, median (ms)": metrics.median_itl_ms,
        "TTFT, mean (ms)": metrics.mean_ttft_ms,
        "plans beside a pending prefill (%)": metrics.overlap_share * 100,
        "of these, back only after it (%)": metrics.late_share * 100,
        "plan latency, median (ms)": metrics.plan_latency_ms,
        "host stall (%)": metrics.host_stall_share * 100,
        "device idle (%)": metrics.device_idle_share * 100,
        "plan updates": float(metrics.prefill_steps),
        "hazards met": float(sum(metrics.hazards.values())),
        **{f"  {kind}": float(count) for kind, count in sorted(metrics.hazards.items())},
    }


def plan_bytes(device: Device) -> dict[str, int]:
    """Bytes of the parts of AITER's prefill plan, by its own sizing call."""
    from math import prod

    from ..validation.plan_inputs import plan_sizes

    units = max(1, int(device.numbers["device"]["compute_units"]))
    shapes = plan_sizes(CLIENTS, HEADS, BUDGET, cu_count=units)
    return {name: 4 * prod(shape) for name, shape in shapes.items()}


def classifier(device: Device) -> Callable[[list[int], list[int]], str] | None:
    """What a kernel does that finds another step's plan, by AITER's planner; None without numpy."""
    try:
        from ..validation.stale_plan import effect
    except ImportError:
        return None
    units = max(1, int(device.numbers["device"]["compute_units"]))
    return lambda launched, found: effect(launched, found, cu_count=units, num_heads_k=HEADS).value


def jitter_of(text: str | None) -> Duration | None:
    """How forward passes spread around what the cost model says."""
    from ..sim.durations import LogNormal

    if text is None:
        return None
    try:
        sigma = float(text)
    except ValueError:
        sigma = -1.0
    if not 0 <= sigma <= 1:
        raise BadInput(f"--jitter must be a number from 0 to 1, not {text!r}")
    return LogNormal(1.0, sigma)
