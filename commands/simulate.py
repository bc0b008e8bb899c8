"""`streamorder simulate`: what protocols cost, and what they do to a serving engine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..model.errors import BadInput
from .deciding import targets
from .output import write_json
from .parser import whole

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from ..model.protocol import Protocol
    from ..sim.device import Device
    from .parser import Parser

SERVING = "serving"
HEADS, CLIENTS, BUDGET = 16, 256, 16384
"""What the plan's buffers are made for: heads a rank, sequences, tokens a step."""

SIDE_BY_SIDE = 3
"""So many protocols get a column each; more get a line each."""

Figures = dict[str, float]
"""The figures of one run, by the words of the table."""


def add(parser: Parser) -> None:
    """Its options."""
    parser.add_argument(
        "names", nargs="+", metavar="NAME",
        help="protocols, compared if two; or `serving`, then the protocols that publish its plans",
    )  # fmt: skip
    parser.add_argument("--device", default="mi355x-rocm10", help="a device file, or its name")
    parser.add_argument("--seed", default="1", help="of everything that is drawn")
    parser.add_argument("--runs", default="1", help="how many seeds, from --seed on")
    parser.add_argument("--steps", help="how often the step loop runs (default: 32)")
    parser.add_argument("--kernel-us", help="how long kernels take that the device does not name")
    parser.add_argument("--format", default="text", choices=("text", "json"))
    parser.add_argument("--plot", help="draw the first run: a .png or .svg file")
    parser.add_argument("--chrome", help="the first run as a Chrome trace: a .json file")
    parser.add_argument("--window", help="what --plot and --chrome show, such as 100-250 (ms)")
    parser.add_argument("--model", default="dummy-weights", help="serving: a fitted cost model")
    parser.add_argument("--concurrency", default="32", help="serving: clients in the loop")
    parser.add_argument("--prompts", default="1024", help="serving: prompts in all")
    parser.add_argument("--prompt-tokens", default="8192", help="serving: the longest prompt")
    parser.add_argument("--output-tokens", default="1024", help="serving: the longest answer")
    parser.add_argument("--budget", default=str(BUDGET), help="serving: tokens a step")
    parser.add_argument(
        "--async-scheduling", default="on", choices=("on", "off"),
        help="serving: whether a step is scheduled while the one before it runs",
    )  # fmt: skip
    parser.epilog = "Other options are the protocol's own parameters: --slots 3 --layers 61"
    parser.set_defaults(action=run, takes_parameters=True)


def run(options: argparse.Namespace) -> int:
    """Simulate, print, draw."""
    from ..sim.device import load_device

    device = with_kernels(load_device(options.device), options.kernel_us)
    served = options.names[0] == SERVING
    names = options.names[1:] or ["fp8-prefill/staged"] if served else options.names
    protocols = [protocol for _name, protocol in targets(names)]
    files = [checked(options.plot, (".png", ".svg")), checked(options.chrome, (".json",))]
    simulated = serving_run(options, device) if served else plain_run(options, device)
    runs, first = whole(options.runs, "--runs") or 1, seed_of(options.seed)
    window = window_of(options.window, served=served)
    rows: dict[str, list[Figures]] = {protocol.name: [] for protocol in protocols}
    drawn = []
    with Bar(len(protocols) * runs) as bar:
        for protocol in protocols:
            for seed in range(first, first + runs):
                bar.begin(f"{protocol.name}, seed {seed}")
                wanted = any(files) and seed == first
                figures, timeline = simulated(protocol, seed, window if wanted else None, bar.at)
                rows[protocol.name].append(figures)
                drawn += [(protocol.name, timeline.spans, timeline.mets)] if timeline else []
    plot, chrome = files
    write_files(drawn, plot, chrome, options.window or served, window)
    if options.format == "json":
        write_json(as_data(rows, device, first, options.parameters))
    else:
        print(heading(options, device, served, runs, first))
        print(table(rows))
    return 0


# --- what is simulated ---


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
    experiment = Serving(targets(["fp8-prefill/staged"])[0][1], workload.checked(), device, model,
                         options.parameters, sizes, classify=classifier(device))  # fmt: skip

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


# --- arguments ---


def with_kernels(device: Device, text: str | None) -> Device:
    """The device with another duration for kernels that it does not name."""
    if text is None:
        return device
    from ..sim.durations import duration

    try:
        microseconds = float(text)
    except ValueError:
        raise BadInput(f"--kernel-us must be a number of at least 0, not {text!r}") from None
    kernel = {"default_us": duration(microseconds, 1e-6, "--kernel-us")}
    durations = {**device.durations, "kernel": {**device.durations["kernel"], **kernel}}
    return device._replace(durations=durations)


def seed_of(text: str) -> int:
    """A seed."""
    if not text.isdecimal():
        raise BadInput(f"--seed must be a whole number from 0, not {text!r}")
    return int(text)


def window_of(text: str | None, *, served: bool) -> tuple[float, float]:
    """The seconds to show; of serving by default the first two, as it opens."""
    if text is None:
        return (0.0, 2.0) if served else (0.0, float("inf"))
    first, dash, last = text.partition("-")
    try:
        window = float(first) / 1e3, float(last) / 1e3
    except ValueError:
        window = (0.0, 0.0)
    if not dash or not window[0] < window[1]:
        raise BadInput(f"--window is two times in ms, such as 100-250, not {text!r}")
    return window


def checked(text: str | None, endings: tuple[str, ...]) -> Path | None:
    """A file that can be written, before anything is simulated."""
    if text is None:
        return None
    path = Path(text)
    if path.suffix not in endings:
        raise BadInput(f"{text!r} must end with {' or '.join(endings)}")
    if not path.parent.is_dir():
        raise BadInput(f"there is no folder {str(path.parent)!r} to write {path.name!r} to")
    if path.suffix != ".json":
        from ..sim.gantt import pyplot

        pyplot()
    return path


# --- what is written ---


def write_files(
    drawn: list[Any], plot: Path | None, chrome: Path | None, cut: object, window: Any
) -> None:
    """The plot and the trace of the first seed."""
    if plot is not None:
        from ..sim.gantt import gantt

        gantt(drawn, plot, window if cut else None)
    if chrome is not None:
        import json

        from ..sim.chrome import chrome_trace

        traces = [chrome_trace(spans, mets, title) for title, spans, mets in drawn]
        events = [
            {**event, "pid": event["pid"] + 10 * at}
            for at, trace in enumerate(traces)
            for event in trace["traceEvents"]
        ]
        chrome.write_text(json.dumps({**traces[0], "traceEvents": events}), encoding="utf-8")


def heading(options: argparse.Namespace, device: Device, served: bool, runs: int, seed: int) -> str:
    """What was simulated, in a line."""
    if served:
        what = (
            f"serving {options.prompts} prompts of up to {options.prompt_tokens} tokens to "
            f"{options.concurrency} clients, async scheduling {options.async_scheduling}, "
            f"{options.model}"
        )
    else:
        what = f"{options.steps or 32} steps"
    seeds = f"seed {seed}" if runs == 1 else f"seeds {seed} to {seed + runs - 1}"
    return f"{what}, on {device.name} ({device.title}), {seeds}"


def table(rows: dict[str, list[Figures]]) -> str:
    """A line a figure, a column a protocol; of two the change, on the same random numbers. Of many
    protocols a line each.
    """
    labels = list(dict.fromkeys(label for runs in rows.values() for run in runs for label in run))
    if len(rows) > SIDE_BY_SIDE:
        labels = [label for label in labels if not label.endswith("busy (%)")]
        lines = [["", *(label.strip() for label in labels)]]
        lines += [[name, *shown(runs, labels)] for name, runs in rows.items()]
        return aligned(lines)
    columns = [[name, *shown(runs, labels)] for name, runs in rows.items()]
    if len(rows) == 2:
        first, second = rows.values()
        columns.append(["change", *changes(first, second, labels)])
    return aligned([list(line) for line in zip(["", *labels], *columns, strict=True)])


def shown(runs: list[Figures], labels: list[str]) -> list[str]:
    """The means of figures, with their intervals."""
    from ..sim.replicates import estimate

    return [estimate([run.get(label, 0.0) for run in runs]).shown() for label in labels]


def changes(first: list[Figures], second: list[Figures], labels: list[str]) -> list[str]:
    """Relative changes of figures, with their intervals; none from 0."""
    from ..sim.replicates import change

    found = []
    for label in labels:
        before = [run.get(label, 0.0) for run in first]
        after = [run.get(label, 0.0) for run in second]
        if any(value == 0 for value in before):
            found.append("")
            continue
        by = change(before, after)
        found.append(f"{by.mean:+.2%}" + ("" if by.half is None else f" ± {by.half:.2%}"))
    return found


def aligned(lines: list[list[str]]) -> str:
    """A table: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = []
    for first, *others in lines:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        text.append("  ".join([first.ljust(widths[0]), *cells]).rstrip())
    return "\n".join(text)


def as_data(
    rows: dict[str, list[Figures]], device: Device, seed: int, parameters: dict[str, Any]
) -> dict[str, Any]:
    """Everything as plain data."""
    from ..sim.replicates import estimate

    return {
        "device": device.name,
        "seed": seed,
        "parameters": parameters,
        "protocols": [
            {
                "name": name,
                "runs": [{label.strip(): value for label, value in run.items()} for run in runs],
                "mean": {
                    label.strip(): estimate([run.get(label, 0.0) for run in runs])._asdict()
                    for label in runs[0]
                },
            }
            for name, runs in rows.items()
        ],
    }


class Bar:
    """A progress bar on standard error, if that is a terminal."""

    WIDTH = 30

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = -1
        self.text = ""
        self.shown = sys.stderr.isatty()

    def __enter__(self) -> Bar:  # noqa: PYI034 - nothing inherits
        return self

    def __exit__(self, *_error: object) -> None:
        if self.shown:
            sys.stderr.write("\r" + " " * 110 + "\r")

    def begin(self, text: str) -> None:
        """The next run begins."""
        self.done += 1
        self.text = text
        self.at(0, 1)

    def at(self, part: int, whole: int) -> None:
        """So much of the run is done."""
        if self.shown:
            share = (self.done + part / whole) / self.total
            filled = "█" * round(share * self.WIDTH)
            sys.stderr.write(f"\r{filled:░<{self.WIDTH}} {share:4.0%} {self.text[:60]:60}")
            sys.stderr.flush()
