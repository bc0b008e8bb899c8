"""What publishing a plan costs: the host, the device, and how often the host waits.

The plan is made beforehand: planning itself costs the same in every way. The floor is one copy of
the plan's bytes from page-locked memory, alone on an idle stream.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from .publishing import SLOTS, way
from .reproducer import BATCH_B, busy_wait
from .runtime_library import HOST_TO_DEVICE
from .statistics import median

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .torch_runtime import TorchRuntime

IN_PLACE = "planned in place"
WAYS = ("unpatched", "synchronize-first", "staged-five", "staged", IN_PLACE)
PROTOCOLS = {
    "unpatched": "fp8-prefill/direct",
    "synchronize-first": "fp8-prefill/synchronize-first",
    "staged-five": "fp8-prefill/staged",
    "staged": "fp8-prefill/staged-packed",
    IN_PLACE: "fp8-prefill/staged-packed",
}
"""The catalogue's entry for each way: it says how often the host waits in a step."""

BUSY_MS = 0.5
WARM_UP = 20
"""Rounds that do not count."""


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

    def host(self, subject: Subject, busy: bool = False) -> float:
        """How long the host spends in publishing, us; `busy`: the stream has work."""
        self.runtime.synchronize()
        if busy:
            busy_wait(self.torch, int(BUSY_MS * 1e6))
        started = time.perf_counter_ns()
        subject.publish()
        return (time.perf_counter_ns() - started) / 1e3

    def device(self, subject: Subject) -> float:
        """How long the device takes from before the first to after the last copy, us.

        The host issues everything behind a short delay, so that launching is not what is timed;
        a blocking copy waits for it, and launching is.
        """
        self.runtime.synchronize()
        busy_wait(self.torch, 200_000)
        self.begin.record(subject.stream)
        subject.publish()
        self.end.record(subject.stream)
        self.end.synchronize()
        return 1e3 * self.begin.elapsed_time(self.end)


class Subject(NamedTuple):
    """What is timed: its name, what it does, the stream on which the device does it."""

    name: str
    publish: Callable[[], Any]
    stream: Any


def in_turns(
    subjects: Sequence[Subject], timed: Callable[[Subject], float], runs: int
) -> dict[str, float]:
    """The median of each subject, by its name. They take turns, so that whatever changes in the
    meantime changes for all; the first rounds do not count.
    """
    taken: dict[str, list[float]] = {subject.name: [] for subject in subjects}
    for number in range(-WARM_UP, runs):
        for subject in subjects:
            one = timed(subject)
            if number >= 0:
                taken[subject.name].append(one)
    return {name: median(times) for name, times in taken.items()}


def measure_overhead(
    runtime: TorchRuntime, runs: int = 300, heads: int = 16, lengths: tuple[int, ...] = BATCH_B
) -> dict[str, Any]:
    """Every way of publishing, and the floor."""
    meter = Meter(runtime, heads, tuple(lengths))
    with runtime.torch.cuda.stream(meter.stream):
        floor, empty = one_copy(meter), Subject("empty", nothing, meter.stream)
        subjects = [*(publishing(meter, name) for name in WAYS), floor, empty]
        host = in_turns(subjects, meter.host, runs)
        busy = in_turns(subjects, lambda subject: meter.host(subject, busy=True), runs)
        device = in_turns(subjects, meter.device, runs)
        runtime.synchronize()
    rows = [
        {
            "way": name,
            "host_us": host[name],
            "host_busy_us": busy[name],
            "device_us": device[name],
            "host_waits": waits(name, runtime.info.backend),
            "copies": 1 if name in {"staged", IN_PLACE} else 5,
        }
        for name in WAYS
    ]
    return {
        "rows": rows,
        "floor_device_us": device[floor.name],
        "floor_host_us": host[floor.name],
        "empty_device_us": device[empty.name],
        "nbytes": meter.nbytes,
        "heads": heads,
        "lengths": list(lengths),
        "planning_us": meter.planning_us,
        "runs": runs,
    }


def publishing(meter: Meter, name: str) -> Subject:
    """One way of publishing the plan. Staging stores it in the slot first; one that is planned in
    place is there already, as a planner leaves it that writes into the slot.
    """
    if name == IN_PLACE:
        staged = way("staged", meter.runtime, meter.shapes)
        for _slot in range(SLOTS):
            staged.publish(meter.plan)
        return Subject(name, lambda: staged.plan.publish(leave), meter.stream)
    publisher = way(name, meter.runtime, meter.shapes)
    blocking = name in {"unpatched", "synchronize-first"}
    stream = meter.runtime.null if blocking else meter.stream
    return Subject(name, lambda: publisher.publish(meter.plan), stream)


def one_copy(meter: Meter) -> Subject:
    """One copy of the plan's bytes: on the device, and as one call on the host."""
    torch = meter.torch
    source = torch.zeros(meter.nbytes, dtype=torch.uint8).pin_memory()
    target = torch.zeros(meter.nbytes, dtype=torch.uint8, device="cuda")

    def copy() -> None:
        raw = (target.data_ptr(), source.data_ptr(), meter.nbytes, HOST_TO_DEVICE)
        meter.runtime.memcpy_async(*raw, meter.stream)

    return Subject("one copy", copy, meter.stream)


def nothing() -> None:
    """Issue nothing."""


def leave(_arrays: object) -> None:
    """Leave the slot as it is."""


def waits(name: str, backend: str) -> int:
    """How often the host waits in a step of the catalogue's entry for a way."""
    from ..model.audit import audit
    from ..model.catalogue import catalogue

    return sum(wait.per_step for wait in audit(catalogue()[PROTOCOLS[name]], backend).waits)
