"""What a serving run is judged by: throughput, latencies, and what its plans met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

UNKNOWN = "not classified"
"""What is said of a hazard when nobody can say what it does: that takes the planner."""


class Plan(NamedTuple):
    """One plan update: a step that prefills.

    - `began` and `returned`: when the protocol began to plan, and when it launched the first
      kernel (seconds); `late`: it returned only after the prefill that was pending;
    - `pending`: a prefill of an earlier step was not done when the planning began;
    - `met`: the earlier steps whose kernels this update met without order.
    """

    step: int
    began: float
    returned: float
    pending: bool
    late: bool
    met: tuple[int, ...]


class Metrics(NamedTuple):
    """A serving run in figures. Times in milliseconds where the name says so, else in seconds.

    - `output_tok_per_s`: output tokens of all requests by the time from the first request to the
      last token; `median_itl_ms` over all gaps between tokens of a request; `mean_ttft_ms` from a
      client's request to its first token;
    - `overlap_share`: of the steps that prefill, those whose planning began while an earlier
      prefill was pending; `late_share`: of these, those whose plan update returned only after it;
    - `plan_latency_ms`: median from the start of planning to the first kernel launch;
    - `hazards`: plan updates that met kernels of an earlier step, by class;
    - `wrong_reads`: accesses that found another version than they expect.
    """

    output_tok_per_s: float
    median_itl_ms: float
    mean_ttft_ms: float
    seconds: float
    requests: int
    steps: int
    prefill_steps: int
    overlap_share: float
    late: int
    overlapped: int
    plan_latency_ms: float
    plan_latency_pending_ms: float
    host_stall_share: float
    device_idle_share: float
    hazards: dict[str, int]
    wrong_reads: int

    @property
    def late_share(self) -> float:
        """Of the plan updates beside a pending prefill, those that returned only after it."""
        return self.late / self.overlapped if self.overlapped else 0.0

    def as_data(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return {**self._asdict(), "late_share": self.late_share}


HEADLINE = ("output_tok_per_s", "median_itl_ms", "mean_ttft_ms")
"""The figures that serving benchmarks publish."""


def median(values: Iterable[float]) -> float:
    """The middle value, 0 of none."""
    return weighted_median([(value, 1) for value in values])


def weighted_median(samples: Sequence[tuple[float, int]]) -> float:
    """The value in the middle of (value, how often) pairs, 0 of none."""
    half = sum(count for _value, count in samples) / 2
    for value, count in sorted(samples):
        half -= count
        if half <= 0:
            return value
    return 0.0
