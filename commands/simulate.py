"""`streamorder simulate`: what protocols cost, and what they do to a serving engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..model.errors import BadInput
from .bar import Bar
from .deciding import targets
from .figures import as_data, table
from .output import check_outputs, write_json
from .parser import whole
from .simulated import BUDGET, plain_run, serving_run

if TYPE_CHECKING:
    import argparse

    from ..report.files import Content
    from ..sim.device import Device
    from .figures import Figures
    from .parser import Parser

SERVING = "serving"


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
        "--jitter", help="serving: spread of forward passes, such as 0.02 (log-normal)"
    )
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
    check_outputs(options, [path for path in files if path])
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
    from ..report.files import write_all
    from ..sim.gantt import gantt

    files: dict[Path, Content] = {}
    if plot is not None:
        files[plot] = lambda path: gantt(drawn, path, window if cut else None)
    if chrome is not None:
        files[chrome] = trace_text(drawn)
    write_all(files)


def trace_text(drawn: list[Any]) -> str:
    """Runs as one Chrome trace."""
    import json

    from ..sim.chrome import chrome_trace

    traces = [chrome_trace(spans, mets, title) for title, spans, mets in drawn]
    events = [
        {**event, "pid": event["pid"] + 10 * at}
        for at, trace in enumerate(traces)
        for event in trace["traceEvents"]
    ]
    return json.dumps({**traces[0], "traceEvents": events})


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
