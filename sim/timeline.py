"""What happened when: the spans of a timed run, and what they add up to.

A `Span` is a host call or an operation of a stream. From spans follow utilisation of each lane,
stalls of the host, idle time of the device and plan latency.
"""

from __future__ import annotations

from collections import defaultdict
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from ..model.trace import described
from .watching import Watching

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.memory import Region
    from .clock import Happening
    from .contents import Wrong
    from .cursors import Cursor
    from .ops import Op


class Span(NamedTuple):
    """A host call, or an operation on the device; times in seconds from the start of the run.

    - `lane` is the host thread or the stream, `kind` what it is: `call`, `wait`, or an operation's
      (`kernel`, `copy`, …); `label` says it in words, `step` is the protocol's step;
    - `issued` is when the host issued it, from `start` to `end` it was carried out.
    """

    lane: str
    kind: str
    label: str
    step: int | None
    issued: float
    start: float
    end: float


class Met(NamedTuple):
    """A hazard that a run met: while an operation accessed `region`, another access of it began,
    and one of them writes. Steps are those in which they were issued.
    """

    region: str
    running: str
    running_step: int | None
    other: str
    other_step: int | None
    seconds: float


class Totals(NamedTuple):
    """What a timed run adds up to; seconds, and shares of the whole run.

    - `seconds`: from the start to the end of the last operation or call;
    - `busy`: for each lane, the share of the run in which it was busy (the host: not waiting);
    - `host_stall`: seconds in which the host waited for the device;
    - `device_idle`: seconds between the first kernel's start and the last one's end in which no
      kernel ran;
    - `plan_latency`: for each step that launches, seconds from its begin to its first launch;
    - `wrong`: how many accesses found another version than they expect; `met`: hazards.
    """

    seconds: float
    busy: dict[str, float]
    host_stall: float
    device_idle: float
    plan_latency: list[float]
    wrong: int
    met: int


class Timeline(Watching):
    """Listens to a run and keeps its spans; of a long run those that `window` meets (seconds)."""

    def __init__(self, window: tuple[float, float] = (0.0, inf)) -> None:
        self.window = window
        self.spans: list[Span] = []
        self.mets: list[Met] = []
        self.wrongs = 0
        self.last: dict[int, float] = {}
        self.waiting: dict[int, float] = {}
        self.first_launch: dict[int, float] = {}
        self.begin: dict[int, float] = {}
        self.trace: list[Happening] | None = None

    def keep(self, span: Span) -> None:
        """Keep a span that the window meets."""
        if span.end >= self.window[0] and span.start <= self.window[1]:
            self.spans.append(span)

    # --- what it hears ---

    def called(self, cursor: Cursor) -> None:
        """The host was busy with a call until now."""
        call = cursor.call
        assert call is not None
        since, now = self.last.get(cursor.thread, 0.0), self.now
        if cursor.step is not None:
            self.begin.setdefault(cursor.step, since)
            if call[0] in {"launch", "graph_launch"}:
                self.first_launch.setdefault(cursor.step, now)
        label = described(call) if call[0] != "choose" else "choose"
        self.keep(Span(lane_of(cursor), "call", label, cursor.step, since, since, now))
        self.last[cursor.thread] = now

    def waits(self, cursor: Cursor) -> None:
        """A wait begins."""
        self.waiting[cursor.thread] = self.now

    def returns(self, cursor: Cursor) -> None:
        """A wait is over."""
        assert cursor.call is not None
        since, now = self.waiting.pop(cursor.thread), self.now
        label = described(cursor.call)
        self.keep(Span(lane_of(cursor), "wait", label, cursor.step, since, since, now))
        self.last[cursor.thread] = now

    def ran(self, op: Op) -> None:
        """An operation has ended."""
        self.keep(Span(op.stream.name, op.kind, op.label, op.step, op.issued, op.started, op.ended))

    def wrong(self, who: Cursor | Op, wrong: list[Wrong]) -> None:
        """Accesses found a wrong version."""
        del who
        self.wrongs += len(wrong)

    def overlap(self, running: Op, other: Op | Cursor, region: Region) -> None:
        """A hazard was met."""
        words = getattr(other, "label", None) or described(other.call)  # type: ignore[arg-type]
        self.mets.append(
            Met(repr(region), running.label, running.step, words, other.step, self.now)
        )

    # --- what it adds up to ---

    def totals(self) -> Totals:
        """Sums over the run."""
        seconds = max((span.end for span in self.spans), default=0.0)
        working: dict[str, float] = defaultdict(float)
        stall = 0.0
        for span in self.spans:
            if span.kind == "wait":
                stall += span.end - span.start
            else:
                working[span.lane] += span.end - span.start
        busy = {lane: time / seconds if seconds else 0.0 for lane, time in working.items()}
        return Totals(seconds, busy, stall, self.device_idle(), list(self.plan_latency().values()),
                      self.wrongs, len(self.mets))  # fmt: skip

    def kernels(self) -> Iterator[Span]:
        """The kernels, in the order in which they ended."""
        return (span for span in self.spans if span.kind == "kernel")

    def device_idle(self) -> float:
        """Seconds between the first kernel's start and the last one's end in which none ran."""
        idle, reached = 0.0, None
        for start, end in sorted((span.start, span.end) for span in self.kernels()):
            if reached is not None and start > reached:
                idle += start - reached
            reached = end if reached is None else max(reached, end)
        return idle

    def plan_latency(self) -> dict[int, float]:
        """For each step that launches: seconds from its begin to its first launch."""
        return {step: at - self.begin[step] for step, at in self.first_launch.items()}


def lane_of(cursor: Cursor) -> str:
    """The lane of a host thread."""
    return "host" if cursor.thread == 0 else f"host {cursor.thread}"
