"""Calls that may wait and need not (R2.6, R2.7): a program must not hang where they do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder import Outcome, check

if TYPE_CHECKING:
    from streamorder import Gpu, Verdict

ENGINES = ["order", "machine", "sim"]


def held(gpu: Gpu, dst: str = "device", src: str = "device", late: bool = True) -> None:
    """A copy behind a stream that the host lets go after the copy's call, or before."""
    s, go = gpu.stream("s"), gpu.cell("go")
    ends = [getattr(gpu, kind)(name) for kind, name in ((dst, "dst"), (src, "src"))]
    if not late:
        go.set(1)
    gpu.wait_value(s, go, 1)
    gpu.memcpy_async(ends[0], ends[1], s)
    go.set(1)
    s.synchronize()


def said(verdict: Verdict) -> str:
    """Why the host waits."""
    return next(wait.why for edge in verdict.missing_edges for wait in edge.cycle)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("contract", ["cuda", "hip"])
@pytest.mark.parametrize(("dst", "src"), [("device", "pageable"), ("pageable", "device")])
def test_it_hangs_where_the_call_waits(dst: str, src: str, contract: str, engine: str) -> None:
    """No vendor promises that such a copy returns before its stream has got there."""
    verdict = check(held, contract, steps=1, engine=engine, dst=dst, src=src)
    assert verdict.outcome is Outcome.REFUTED
    (edge,) = verdict.missing_edges
    assert edge.kind == "deadlock"
    assert "memcpy_async(dst, src, s)" in edge.sentence


def test_why_the_host_waits() -> None:
    """CUDA may hold the host, and HIP does for a download."""
    cuda, hip = (check(held, c, steps=1, dst="pageable") for c in ("cuda", "hip"))
    assert said(cuda) == "the call may return only when it is done (R2.6, R2.7)"
    assert said(hip) == "the call returns when it is done"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("contract", ["cuda", "hip"])
@pytest.mark.parametrize(
    "way",
    [
        {"dst": "pinned"},
        {"src": "pinned"},
        {},
        {"dst": "pageable", "late": False},
        {"src": "pageable", "late": False},
    ],
    ids=["pinned download", "pinned upload", "on the device", "download", "upload"],
)
def test_it_holds(way: dict[str, Any], contract: str, engine: str) -> None:
    """Page-locked memory needs no wait, and a stream that nothing holds has none to make."""
    verdict = check(held, contract, steps=1, engine=engine, **way)
    assert verdict.outcome is Outcome.HOLDS


def test_a_hazard_that_the_wait_would_hide_is_found() -> None:
    """Nobody promises that the call waits, either."""

    def body(gpu: Gpu) -> None:
        s, go, out, d = gpu.stream("s"), gpu.cell("go"), gpu.pageable("out"), gpu.device("d")
        go.set(1)
        gpu.wait_value(s, go, 1)
        gpu.launch("make", s, writes={d: 1})
        gpu.memcpy_async(out, d, s)
        gpu.read(out, 1)

    assert check(body, "cuda", steps=1).outcome is Outcome.REFUTED
    assert check(body, "hip", steps=1).outcome is Outcome.HOLDS
