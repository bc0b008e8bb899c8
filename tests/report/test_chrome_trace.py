"""Chrome's Trace Event Format: a checker of the format's own rules, and what the trace must say.

Perfetto's trace processor is a binary that PyPI's `perfetto` downloads when it runs; the tests need
no network, so a checker of the published format stands in for it.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from streamorder.report.chrome_trace import chrome_trace
from streamorder.report.scene import NOTHING, scenes

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Verdict

NEEDS = {
    "X": {"name", "cat", "ts", "dur", "pid", "tid"},
    "M": {"name", "pid", "args"},
    "s": {"name", "cat", "id", "ts", "pid", "tid"},
    "f": {"name", "cat", "id", "ts", "pid", "tid"},
}
"""The phases that are used, and what the format asks of each."""

Slice = dict[str, Any]


def well_formed(trace: Slice) -> None:
    """Fail unless the trace keeps to the format: phases, fields, nesting, bound flows."""
    assert isinstance(trace["traceEvents"], list)
    assert trace["displayTimeUnit"] in {"ms", "ns"}
    assert json.loads(json.dumps(trace)) == trace
    for event in trace["traceEvents"]:
        assert event["ph"] in NEEDS, event
        assert NEEDS[event["ph"]] <= event.keys(), event
        assert all(type(event[key]) is int for key in ("pid", "tid", "ts", "dur") if key in event)
        assert event.get("ts", 0) >= 0
        assert event.get("dur", 1) > 0
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    nested(slices)
    bound(trace["traceEvents"], slices)


def nested(slices: list[Slice]) -> None:
    """Slices of one thread follow one another: none overlaps the next by a part."""
    for thread in {(one["pid"], one["tid"]) for one in slices}:
        mine = sorted(
            (s["ts"], s["ts"] + s["dur"]) for s in slices if (s["pid"], s["tid"]) == thread
        )
        assert all(end <= start for (_, end), (start, _) in pairwise(mine))


def bound(events: list[Slice], slices: list[Slice]) -> None:
    """Every flow starts once and ends once, later, each inside a slice of its thread."""
    flows = [event for event in events if event["ph"] in "sf"]
    assert set(Counter((f["id"], f["ph"]) for f in flows).values()) <= {1}
    ends = {f["id"]: f for f in flows if f["ph"] == "f"}
    starts = {f["id"]: f for f in flows if f["ph"] == "s"}
    assert ends.keys() == starts.keys()
    for name, start in starts.items():
        assert start["ts"] < ends[name]["ts"]
        assert ends[name]["bp"] == "e"
    for flow in flows:
        place = flow["pid"], flow["tid"]
        assert any(
            (s["pid"], s["tid"]) == place and s["ts"] <= flow["ts"] <= s["ts"] + s["dur"]
            for s in slices
        )


def test_every_kind_keeps_to_the_format(kind: str, verdict: Callable[..., Verdict]) -> None:
    """One process a missing edge; its lanes are threads with a slice an event."""
    found = verdict(kind)
    trace = chrome_trace([found])
    well_formed(trace)
    events = trace["traceEvents"]
    for number, scene in enumerate(scenes(found), 1):
        mine = [event for event in events if event["pid"] == number]
        names = {e["tid"]: e["args"]["name"] for e in mine if e["name"] == "thread_name"}
        ran = [e for e in mine if e["ph"] == "X" and e["cat"] != "memory"]
        assert [(e["name"], names[e["tid"]]) for e in ran] == [
            (event.label, event.lane) for event in scene.events
        ]
        arrows = [e for e in mine if e["ph"] == "s" and e["name"] == "before"]
        assert len(arrows) == len(scene.edges)
        missing = [e for e in mine if e["ph"] == "s" and e["name"] == "missing"]
        assert len(missing) == (scene.missing is not None)
        for memory in scene.memory:
            (thread,) = (t for t, name in names.items() if name == f"memory: {memory.name}")
            held = [e["name"] for e in mine if e["ph"] == "X" and e["tid"] == thread]
            changed = [b for a, b in pairwise(memory.versions) if a != b]
            assert held == [version for version in changed if version != NOTHING]


def test_several_verdicts_in_one_trace(verdict: Callable[..., Verdict]) -> None:
    """Each missing edge has a process of its own, and flows do not meet."""
    trace = chrome_trace([verdict("slot-reuse"), verdict("torn-copy"), verdict("deadlock")])
    well_formed(trace)
    names = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"]
    assert len(names) == len(set(names)) == 3
