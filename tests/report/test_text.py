"""Words of the text reports that no snapshot shows."""

from __future__ import annotations

import pytest

from streamorder import Gpu, check, protocol
from streamorder.report.text import one, other_regions


@pytest.mark.parametrize(
    ("regions", "said"),
    [
        (("a",), []),
        (("a", "b", "c"), ["b", "c"]),
        (("ws", "ws"), ["1 more named ws"]),
        (("ws", "ws", "ws", "ws"), ["3 more named ws"]),
        (("a", "ws", "ws", "b"), ["2 named ws", "b"]),
    ],
)
def test_each_name_is_said_once(regions: tuple[str, ...], said: list[str]) -> None:
    """Those of one name are counted."""
    assert other_regions(regions) == said


@protocol()
def workspace(gpu: Gpu) -> None:
    """Each step allocates a workspace of the same name, and frees it too early."""
    compute, side = gpu.stream("compute"), gpu.stream("side")
    ready = gpu.event("ready")
    for n in gpu.steps():
        ws = gpu.malloc_async("ws", compute)
        gpu.launch("fill", compute, writes={ws: n})
        ready.record(compute)
        side.wait(ready)
        gpu.launch("use", side, reads={ws: n})
        gpu.free_async(ws, compute)


def test_what_is_allocated_in_a_loop_is_said_once() -> None:
    """Not once a step."""
    said = one(check(workspace, "cuda"))
    assert "the same for 3 more named ws\n" in said
    assert "ws, ws" not in said
