"""Measure what a device file states, on the GPU found here.

    python validation/measure_device.py

Prints the sections [host], [copy] and [kernel] as TOML, for a file in `sim/devices`. It needs torch
(CUDA or ROCm) and takes some seconds. Host times include torch's own overhead, which a serving
engine pays as well.
"""

from __future__ import annotations

import sys
from math import log
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

PLAN, LARGE = 9 << 20, 256 << 20
"""Bytes of a prefill plan, and of a copy whose start does not matter."""


def each(
    action: Callable[[], object], after: Callable[[], object], times: int = 400
) -> list[float]:
    """How long the host is busy with an action, in seconds; `after` is not counted."""
    found = []
    for turn in range(times + 50):
        begin = perf_counter()
        action()
        end = perf_counter()
        after()
        if turn >= 50:
            found.append(end - begin)
    return found


def quantile(values: list[float], share: float) -> float:
    """A quantile of measurements."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def middle(values: list[float]) -> float:
    """The median."""
    return quantile(values, 0.5)


def lognormal(values: list[float]) -> str:
    """A log-normal with the median and the spread from the 10th to the 90th percentile."""
    sigma = log(quantile(values, 0.9) / quantile(values, 0.1)) / (2 * 1.2816)
    return f"{{ lognormal = {{ median = {middle(values) * 1e6:.2f}, sigma = {sigma:.3f} }} }}"


def on_device(action: Callable[[], object], stream: Any, times: int = 60) -> list[float]:
    """How long the device is busy with an action that waits behind a delay, in seconds."""
    found = []
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _turn in range(times):
        torch.cuda._sleep(200_000)  # noqa: SLF001 - the host must be ahead: this is the only delay
        first.record(stream)
        action()
        last.record(stream)
        stream.synchronize()
        found.append(first.elapsed_time(last) * 1e-3)
    return found


def main() -> None:
    """Measure and print."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        few = torch.zeros(1024, device="cuda")
        event, wait = torch.cuda.Event(), stream.synchronize
        pinned = torch.empty(LARGE, dtype=torch.uint8, pin_memory=True)
        target = torch.empty(LARGE, dtype=torch.uint8, device="cuda")
        pageable, plan = torch.empty(PLAN, dtype=torch.uint8), target[:PLAN]
        launch = each(lambda: few.add_(1), wait)
        both = each(lambda: (few.add_(1), wait()), wait)
        kernel = on_device(lambda: few.add_(1), stream)
        empty = on_device(lambda: None, stream)
        there = (middle(both) - middle(launch) - (middle(kernel) - middle(empty))) / 2
        small = on_device(lambda: target[:4096].copy_(pinned[:4096], non_blocking=True), stream)
        large = on_device(lambda: target.copy_(pinned, non_blocking=True), stream, 20)
        staged = each(lambda: plan.copy_(pageable), wait, 60)
        torch.set_num_threads(1)
        written = each(lambda: pageable.fill_(1), wait, 60)
        copy = each(lambda: target[:4096].copy_(pinned[:4096], non_blocking=True), wait)
        record, query = each(lambda: event.record(stream), wait), each(event.query, wait)
    runtime = f"CUDA {torch.version.cuda}" if torch.version.cuda else f"HIP {torch.version.hip}"
    start = middle(small) - middle(empty)
    rate = LARGE / (middle(large) - middle(small)) / 1e9
    lines = [
        f"# {torch.cuda.get_device_name()}, torch {torch.__version__}, {runtime}",
        "[host]",
        f"call_us = {lognormal(query)}",
        f"launch_us = {lognormal(launch)}",
        f"copy_us = {lognormal(copy)}",
        f"record_us = {lognormal(record)}",
        f"wake_us = {there * 1e6:.2f}",
        f"write_gb_per_s = {PLAN / middle(written) / 1e9:.1f}",
        "[copy]",
        f"start_us = {start * 1e6:.2f}",
        f"pinned_gb_per_s = {rate:.1f}",
        f"pageable_gb_per_s = {PLAN / middle(staged) / 1e9:.1f}",
        "[kernel]",
        f"start_us = {there * 1e6:.2f}",
        f"default_us = {(middle(kernel) - middle(empty)) * 1e6:.2f} # a small elementwise kernel",
        f"# launches, us: {[round(value * 1e6, 2) for value in launch[:40]]}",
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
