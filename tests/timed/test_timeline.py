"""A small run, calculated by hand: spans, totals, hazards, and what is drawn of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from streamorder import Gpu, protocol
from streamorder.model.contract import CUDA
from streamorder.sim import timed
from streamorder.sim.chrome import chrome_trace
from streamorder.sim.timed import Costs, Timed
from streamorder.sim.timeline import Met, Span, Timeline, Totals

if TYPE_CHECKING:
    from pathlib import Path


class ByHand(Costs):
    """A call takes a second, waking one too; a copy runs for 2.5, a kernel for 10."""

    def call(self, cursor: Any) -> float:
        """A second."""
        del cursor
        return 1.0

    def returning(self, cursor: Any) -> float:
        """A second."""
        del cursor
        return 1.0

    def op(self, op: Any) -> float:
        """By the kind."""
        return {"copy": 2.5, "kernel": 10.0}[op.kind]


@protocol()
def overwritten(gpu: Gpu) -> None:
    """Two steps of an upload on one stream and a kernel on another that nothing orders."""
    copies, compute = gpu.stream("copies"), gpu.stream("compute")
    table, cpu = gpu.device("table"), gpu.pinned("cpu")
    for n in gpu.steps():
        gpu.write(cpu, n)
        gpu.memcpy_async(table, cpu, copies)
        gpu.launch("attention", compute, reads={table: n})
    compute.synchronize()


@pytest.fixture
def run() -> Timeline:
    """The timeline of two steps."""
    timeline = Timeline()
    clock = Timed(ByHand(), watch=timeline, hazards=True)
    timeline.env = clock.env
    timed.simulate(overwritten.bind({}), 2, CUDA, lambda: clock)
    return timeline


def test_spans(run: Timeline) -> None:
    """Calls end at 1, 2, … 7; copies run from their issue at 2 and 5, kernels from 3 and 13."""
    calls = [(s.label, s.start, s.end) for s in run.spans if s.kind == "call"]
    assert calls == [
        ("write(cpu, 0)", 0, 1),
        ("memcpy_async(table, cpu, copies)", 1, 2),
        ("launch(attention, compute)", 2, 3),
        ("write(cpu, 1)", 3, 4),
        ("memcpy_async(table, cpu, copies)", 4, 5),
        ("launch(attention, compute)", 5, 6),
        ("compute.synchronize()", 6, 7),
    ]
    ops = [(s.lane, s.step, s.issued, s.start, s.end) for s in run.spans if s.lane != "host"]
    assert sorted(ops) == [
        ("compute", 0, 3, 3, 13),
        ("compute", 1, 6, 13, 23),
        ("copies", 0, 2, 2, 4.5),
        ("copies", 1, 5, 5, 7.5),
    ]
    assert [s for s in run.spans if s.kind == "wait"] == [
        Span("host", "wait", "compute.synchronize()", None, 7, 7, 23)
    ]


def test_totals(run: Timeline) -> None:
    """The host is busy for 7 of 23 seconds and waits for 16; a kernel always runs from 3 on."""
    assert run.totals() == Totals(
        seconds=23,
        busy={"host": 7 / 23, "copies": 5 / 23, "compute": 20 / 23},
        host_stall=16,
        device_idle=0,
        plan_latency=[3, 3],
        wrong=1,
        met=3,
    )


def test_hazards_are_met_where_accesses_overlap(run: Timeline) -> None:
    """The kernel of step 0 starts while the copy runs; the host fills the slot while the copy
    reads it; and the next copy starts while the kernel runs.
    """
    attention, copy = "launch(attention, compute)", "memcpy_async(table, cpu, copies)"
    assert run.mets == [
        Met("table", copy, 0, attention, 0, 3),
        Met("cpu", copy, 0, "write(cpu, 1)", 1, 4),
        Met("table", attention, 0, copy, 1, 5),
    ]


def test_a_window_keeps_what_it_meets() -> None:
    """Spans that touch it, whole."""
    timeline = Timeline((5.5, 6.5))
    clock = Timed(ByHand(), watch=timeline)
    timeline.env = clock.env
    timed.simulate(overwritten.bind({}), 2, CUDA, lambda: clock)
    found = [(s.lane, s.start, s.end) for s in timeline.spans]
    assert sorted(found) == [("compute", 3, 13), ("copies", 5, 7.5), ("host", 5, 6), ("host", 6, 7)]


def test_chrome_trace(run: Timeline) -> None:
    """Every span is a complete event of its lane, in microseconds; hazards are instants."""
    events = json.loads(json.dumps(chrome_trace(run.spans, run.mets, "x")))["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M"}
    assert sorted(names.values()) == ["compute", "copies", "host", "x device", "x host"]
    complete = [e for e in events if e["ph"] == "X"]
    assert len(complete) == len(run.spans)
    kernel = next(e for e in complete if e["cat"] == "kernel" and e["args"]["step"] == 1)
    assert (kernel["ts"], kernel["dur"]) == (13e6, 10e6)
    assert names[kernel["pid"], kernel["tid"]] == "compute"
    assert len([e for e in events if e["ph"] == "i"]) == 3


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_gantt(run: Timeline, tmp_path: Path, ending: str) -> None:
    """A bar a span, a line a hazard, a lane a stream: read back from the SVG."""
    from streamorder.sim.gantt import gantt

    path = tmp_path / f"run.{ending}"
    gantt([("the run", run.spans, run.mets)], path, (0, 23))
    data = path.read_bytes()
    if ending == "png":
        assert data.startswith(b"\x89PNG")
        return
    text = data.decode()
    for lane in ("host", "copies", "compute", "the run"):
        assert f"<!-- {lane} -->" in text
