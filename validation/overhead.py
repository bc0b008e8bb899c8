"""What publishing a plan costs: the host, the device, and how often the host waits.

The plan is made beforehand: planning itself costs the same in every way. The floor is one copy of
the plan's bytes from page-locked memory, alone on an idle stream.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from .publishing import way
from .reproducer import BATCH_B, busy_wait
from .statistics import median

if TYPE_CHECKING:
    from collections.abc import Callable

    from .torch_runtime import TorchRuntime

WAYS = ("unpatched", "synchronize-first", "staged-five", "staged")
PROTOCOLS = {
    "unpatched": "fp8-prefill/direct",
    "synchronize-first": "fp8-prefill/synchronize-first",
    "staged-five": "fp8-prefill/staged",
    "staged": "fp8-prefill/staged-packed",
}
"""The catalogue's entry for each way: it says how often the host waits in a step."""

BUSY_MS = 0.5


class Meter:
    """Times publishing on one stream."""

    def __init__(self, runtime: TorchRuntime, heads: int, lengths: tuple[int, ...]) -> None:
        from .plan_inputs import plan_sizes
        from .planner import plan_lengths

        self.runtime, self.torch = runtime, runtime.torch
        cu_count = self.torch.cuda.get_device_properties(0).multi_processor_count
        self.shapes = plan_sizes(len(lengths), heads, max(lengths), cu_count=cu_count)
        started = time.perf_counter()
        self.plan = plan_lengths(lengths, cu_count=cu_count, num_heads_k=heads, buffers=self.shapes)
        self.planning_us = 1e6 * (time.perf_counter() - started)
        self.stream = runtime.stream(blocking=False)
        self.nbytes = sum(array.nbytes for array in self.plan.values())
        cuda = self.torch.cuda
        self.begin, self.end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)

    def host(self, publish: Callable[[], Any], runs: int, busy: bool) -> float:
        """Median time that the host spends in publishing, us; `busy`: the stream has work."""
        taken = []
        for _ in range(runs):
            self.runtime.synchronize()
            if busy:
                busy_wait(self.torch, int(BUSY_MS * 1e6))
            started = time.perf_counter_ns()
            publish()
            taken.append((time.perf_counter_ns() - started) / 1e3)
        self.runtime.synchronize()
        return median(taken)

    def device(self, publish: Callable[[], Any], stream: Any, runs: int) -> float:
        """Median time on the device from before the first to after the last copy, us.

        The host issues everything behind a short delay, so that launching is not what is timed;
        a blocking copy waits for it, and launching is.
        """
        taken = []
        for _ in range(runs):
            self.runtime.synchronize()
            busy_wait(self.torch, 200_000)
            self.begin.record(stream)
            publish()
            self.end.record(stream)
            self.end.synchronize()
            taken.append(1e3 * self.begin.elapsed_time(self.end))
        return median(taken)


def measure_overhead(
    runtime: TorchRuntime, runs: int = 300, heads: int = 16, lengths: tuple[int, ...] = BATCH_B
) -> dict[str, Any]:
    """Every way of publishing, and the floor."""
    meter = Meter(runtime, heads, tuple(lengths))
    with runtime.torch.cuda.stream(meter.stream):
        rows = [measured(meter, name, runs) for name in WAYS]
        floor = floor_of(meter, runs)
    return {
        "rows": rows,
        **floor,
        "nbytes": meter.nbytes,
        "heads": heads,
        "lengths": list(lengths),
        "planning_us": meter.planning_us,
        "runs": runs,
    }


def measured(meter: Meter, name: str, runs: int) -> dict[str, Any]:
    """One way."""
    from ..model.audit import audit
    from ..model.catalogue import catalogue

    publisher = way(name, meter.runtime, meter.shapes)
    blocking = name in {"unpatched", "synchronize-first"}
    stream = meter.runtime.null if blocking else meter.stream

    def publish() -> None:
        publisher.publish(meter.plan)

    for _ in range(20):
        publish()
    waits = audit(catalogue()[PROTOCOLS[name]], meter.runtime.info.backend)
    return {
        "way": name,
        "host_us": meter.host(publish, runs, busy=False),
        "host_busy_us": meter.host(publish, runs, busy=True),
        "device_us": meter.device(publish, stream, runs),
        "host_waits": sum(wait.per_step for wait in waits.waits),
        "copies": 1 if name == "staged" else 5,
    }


def floor_of(meter: Meter, runs: int) -> dict[str, Any]:
    """One copy of the plan's bytes: on the device, and as one call on the host."""
    torch = meter.torch
    source = torch.zeros(meter.nbytes, dtype=torch.uint8).pin_memory()
    target = torch.zeros(meter.nbytes, dtype=torch.uint8, device="cuda")
    raw = (target.data_ptr(), source.data_ptr(), meter.nbytes, 1)

    def copy() -> None:
        meter.runtime.memcpy_async(*raw, meter.stream)

    copy()
    return {
        "floor_device_us": meter.device(copy, meter.stream, runs),
        "floor_host_us": meter.host(copy, runs, busy=False),
        "empty_device_us": meter.device(lambda: None, meter.stream, runs),
    }
