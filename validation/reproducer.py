"""The bug itself, on real FP8 attention: batch A is to run while batch B is planned.

A waits behind a delay on a non-blocking stream; B's plan is published at once; then everything
runs, and both outputs are compared with float32 attention. The reader is launched anew each time,
or replayed from a graph. Without the delay the same says how often it goes wrong by itself.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from .publishing import way
from .statistics import wilson

if TYPE_CHECKING:
    from .torch_runtime import TorchRuntime

BATCH_A = (8175,)
BATCH_B = (6992, 6896, 2495)
DELAY_MS = 8.0

MODES = ("unpatched", "graph", "synchronize-first", "staged", "staged-five", "staged-no-wait")


class Reproducer:
    """Both batches, their plans and outputs."""

    def __init__(
        self, runtime: TorchRuntime, heads: int, a: tuple[int, ...], b: tuple[int, ...]
    ) -> None:
        from .kernels import Batch, Prefill, partial_tiles, warm_up
        from .plan_inputs import plan_sizes

        self.runtime, self.torch = runtime, runtime.torch
        device = "cuda"
        warm_up(device, heads=heads)
        self.cu_count = self.torch.cuda.get_device_properties(0).multi_processor_count
        self.shapes = plan_sizes(max(len(a), len(b)), heads, max(*a, *b), cu_count=self.cu_count)
        batches = [Batch.random(list(lengths), heads=heads, device=device) for lengths in (a, b)]
        self.plans = [batch.plan(cu_count=self.cu_count, buffers=self.shapes) for batch in batches]
        tiles = max(partial_tiles(plan) for plan in self.plans)
        self.prefills = [Prefill(batch, partial_tiles=tiles) for batch in batches]
        for batch in batches:
            batch.reference()
        self.stream = runtime.stream(blocking=False)
        self.cycles = self.cycles_per_ms()
        self.bytes = 4 * sum(array.size for array in self.plans[0].values())
        self.graph: Any = None

    def cycles_per_ms(self) -> float:
        """How long torch's delay kernel takes, measured."""
        cuda, cycles = self.torch.cuda, 20_000_000
        begin, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        busy_wait(self.torch, cycles)
        begin.record()
        busy_wait(self.torch, cycles)
        end.record()
        end.synchronize()
        return cycles / begin.elapsed_time(end)

    def trial(self, mode: str, publisher: Any, delay_ms: float) -> dict[str, Any]:
        """One run: are A and B right?"""
        first, second = self.prefills
        with self.torch.cuda.stream(self.stream):
            first.poison()
            second.poison()
            self.runtime.synchronize()
            if mode in {"unpatched", "graph", "synchronize-first"}:
                publisher.publish(self.plans[0])
                self.runtime.synchronize()
            if delay_ms:
                busy_wait(self.torch, int(delay_ms * self.cycles))
            if mode.startswith("staged"):
                publisher.publish(self.plans[0])
            self.read(mode, first, publisher)
            started = time.perf_counter()
            publisher.publish(self.plans[1])
            host = time.perf_counter() - started
            second.run(publisher.arrays)
            self.runtime.synchronize()
            results = [prefill.compare() for prefill in self.prefills]
        return {
            "a": results[0].matches,
            "b": results[1].matches,
            "a_text": str(results[0]),
            "b_text": str(results[1]),
            "host_us": 1e6 * host,
        }

    def read(self, mode: str, prefill: Any, publisher: Any) -> None:
        """A's kernels: launched, or replayed from a graph that was captured before."""
        if mode != "graph":
            prefill.run(publisher.arrays)
            return
        self.runtime.graph_launch(self.graph, self.stream)

    def capture(self, prefill: Any, publisher: Any) -> None:
        """Capture A's kernels."""
        with self.torch.cuda.stream(self.stream):
            prefill.run(publisher.arrays)
            self.runtime.synchronize()
            self.runtime.begin_capture(self.stream)
            prefill.run(publisher.arrays)
            self.graph = self.runtime.end_capture(self.stream)


def busy_wait(torch: Any, cycles: int) -> None:
    """Keep the current stream busy for so many cycles, with torch's own kernel for that."""
    torch.cuda._sleep(cycles)  # noqa: SLF001 - torch has no public one


def reproduce(
    runtime: TorchRuntime,
    mode: str,
    forced: int = 100,
    unforced: int = 100,
    heads: int = 16,
    a: tuple[int, ...] = BATCH_A,
    b: tuple[int, ...] = BATCH_B,
) -> dict[str, Any]:
    """Run a mode behind a delay, and without one; how often each output was right."""
    reproducer = Reproducer(runtime, heads, tuple(a), tuple(b))
    name = "unpatched" if mode == "graph" else mode
    with runtime.torch.cuda.stream(reproducer.stream):
        publisher = way(name, runtime, reproducer.shapes)
        if mode == "graph":
            publisher.publish(reproducer.plans[0])
            runtime.synchronize()
            reproducer.capture(reproducer.prefills[0], publisher)
    reproducer.trial(mode, publisher, 0.0)
    return {
        "mode": mode,
        "heads": heads,
        "cu_count": reproducer.cu_count,
        "plan_bytes": reproducer.bytes,
        "a": list(a),
        "b": list(b),
        "delayed": summary([reproducer.trial(mode, publisher, DELAY_MS) for _ in range(forced)]),
        "free": summary([reproducer.trial(mode, publisher, 0.0) for _ in range(unforced)]),
    }


def summary(trials: list[dict[str, Any]]) -> dict[str, Any]:
    """How often A and B matched, and the commonest way in which they did not."""
    wrong = [t for t in trials if not (t["a"] and t["b"])]
    low, high = wilson(len(wrong), len(trials))
    texts = Counter(t["a_text"] if not t["a"] else t["b_text"] for t in wrong)
    return {
        "runs": len(trials),
        "a_matches": sum(t["a"] for t in trials),
        "b_matches": sum(t["b"] for t in trials),
        "wrong": len(wrong),
        "wrong_low": low,
        "wrong_high": high,
        "examples": dict(texts.most_common(2)),
        "host_us": sorted(t["host_us"] for t in trials)[len(trials) // 2] if trials else None,
    }
