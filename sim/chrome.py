"""A timed run as a Chrome trace: for chrome://tracing and ui.perfetto.dev."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .timeline import Met, Span

HOST, DEVICE = 1, 2
"""The two processes of the trace."""


def chrome_trace(
    spans: Iterable[Span], mets: Iterable[Met] = (), title: str = ""
) -> dict[str, Any]:
    """The JSON object of a Chrome trace: a lane a host thread and a stream, times in microseconds,
    and an instant for each hazard that was met. `title` tells runs in one trace apart.
    """
    spans = list(spans)
    lanes = {lane: at for at, lane in enumerate(dict.fromkeys(span.lane for span in spans), 1)}
    events = [
        named("process_name", pid, 0, f"{title} {what}".strip())
        for pid, what in ((HOST, "host"), (DEVICE, "device"))
    ]
    events += [named("thread_name", process(lane), at, lane) for lane, at in lanes.items()]
    events += [complete(span, lanes[span.lane]) for span in spans]
    events += [instant(met) for met in mets]
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def process(lane: str) -> int:
    """Whether a lane is a host thread or a stream."""
    return HOST if lane.startswith("host") else DEVICE


def named(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    """A metadata event that names a process or a lane."""
    return {"name": what, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}


def complete(span: Span, tid: int) -> dict[str, Any]:
    """A span as a complete event."""
    return {
        "name": span.label,
        "cat": span.kind,
        "ph": "X",
        "ts": span.start * 1e6,
        "dur": (span.end - span.start) * 1e6,
        "pid": process(span.lane),
        "tid": tid,
        "args": {"step": span.step, "issued_us": span.issued * 1e6},
    }


def instant(met: Met) -> dict[str, Any]:
    """A hazard as an instant of the device."""
    return {
        "name": f"hazard on {met.region}",
        "cat": "hazard",
        "ph": "i",
        "s": "p",
        "ts": met.seconds * 1e6,
        "pid": DEVICE,
        "tid": 0,
        "args": {
            "running": f"{met.running}, step {met.running_step}",
            "meets": f"{met.other}, step {met.other_step}",
        },
    }
