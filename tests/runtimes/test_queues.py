"""Which queue a packet goes to, and what waits for it there: small programs on few queues."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from streamorder import check

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Gpu, OnRuntime

ONE_QUEUE = {"GPU_MAX_HW_QUEUES": "1"}
ONE_PLACE = {"ROC_AQL_QUEUE_SIZE": "1"}
ONE_CONNECTION = {"CUDA_DEVICE_MAX_CONNECTIONS": "1", "CUDA_MODULE_LOADING": "EAGER"}


def on(runtime: str, body: Callable[[Gpu], None], env: dict[str, str]) -> OnRuntime:
    """What a runtime makes of a program."""
    found = check(body, runtime=runtime, env=env, steps=1).runtime
    assert found is not None
    return found


def graph_elsewhere(gpu: Gpu) -> None:
    """A graph of the second device, and a kernel of the first."""
    t, s, d = gpu.stream("t"), gpu.stream("s", device=1), gpu.device("d")
    with gpu.capture(s) as graph:
        gpu.launch("k", s, writes={d: 1})
    graph.launch(s)
    gpu.launch("m", t, writes={d: 2})


@pytest.mark.parametrize(
    ("runtime", "env"),
    [("rocm-7.2", ONE_QUEUE), ("cuda-13", ONE_CONNECTION)],
    ids=["rocm-7.2", "cuda-13"],
)
def test_a_graph_runs_on_its_own_device(runtime: str, env: dict[str, str]) -> None:
    """The one queue of each device hides nothing between the two."""
    found = on(runtime, graph_elsewhere, env).found
    assert found.lanes == {"s": 1, "t": 0}
    assert found.hazard == "exposed"


def race_and_hang(gpu: Gpu) -> None:
    """A race that one queue hides, and a hang that it makes."""
    s, t, go, x = gpu.stream("s"), gpu.stream("t"), gpu.cell("go"), gpu.device("x")
    gpu.launch("a", s, writes={x: 1})
    gpu.launch("b", t, writes={x: 2})
    gpu.wait_value(t, go, 1)
    gpu.write_value(s, go, 1)
    gpu.synchronize()


def test_a_hang_is_no_hazard() -> None:
    """Exposed is what shows a hazard; that the program hangs there is said apart."""
    found = on("rocm-7.2", race_and_hang, ONE_QUEUE).found
    assert found.hazard == "hidden"
    assert found.hang is not None
    assert found.hang.outcome == "hangs"


def early_beside_a_race(gpu: Gpu) -> None:
    """A race, and a kernel that may start early on a queue that streams share."""
    s, t, x = gpu.stream("s"), gpu.stream("t"), gpu.device("x")
    gpu.launch("k", s, writes={x: 1})
    gpu.launch("k2", s, early="waits")
    gpu.launch("m", t, writes={x: 2})


def test_early_launches_on_a_shared_queue_are_undetermined() -> None:
    """They are not modelled there, so nothing is said to be exposed or hidden."""
    found = on("cuda-13", early_beside_a_race, ONE_CONNECTION).found
    assert found.lanes == {"s": 0, "t": 0}
    assert found.hazard == "undetermined"


@pytest.mark.parametrize("marker", ["record", "wait"])
def test_a_stream_is_idle_when_its_markers_are_done(marker: str) -> None:
    """R4.3: they stand in the queue behind what is there, here another stream's wait."""

    def body(gpu: Gpu) -> None:
        s, t, go, e = gpu.stream("s"), gpu.stream("t"), gpu.cell("go"), gpu.event("e")
        gpu.wait_value(t, go, 1)
        if marker == "record":
            e.record(s)
        else:
            s.wait(e)
        s.synchronize()
        go.set(1)
        gpu.synchronize()

    found = on("rocm-7.2", body, ONE_QUEUE).found.hang
    assert found is not None
    assert found.outcome == "hangs"
    assert found.cycle


def peer_copies(gpu: Gpu) -> None:
    """Two copies of another device's memory, whose NULL stream waits."""
    b, go, s = gpu.stream("b", blocking=True, device=1), gpu.cell("go"), gpu.stream("s")
    x, y = gpu.device("x"), gpu.device("y", device=1)
    gpu.wait_value(b, go, 1)
    for _ in range(2):
        gpu.memcpy_async(y, x, s)
    go.set(1)


def test_a_peer_copy_needs_a_place_where_it_runs() -> None:
    """R2.9, R4.5: HIP moves it to the other device's NULL stream."""
    found = on("rocm-7.2", peer_copies, ONE_PLACE).found.hang
    assert found is not None
    assert found.outcome == "hangs"


def copied_by_the_cpu(gpu: Gpu) -> None:
    """The only queue has no place left, and what follows needs none."""
    s, t, go = gpu.stream("s"), gpu.stream("t"), gpu.cell("go")
    p, q = gpu.pinned("p"), gpu.pinned("q")
    gpu.launch("w", t)
    t.synchronize()
    gpu.wait_value(s, go, 1)
    gpu.memcpy_async(p, q, t)
    gpu.memset_async(p, 0, t)
    go.set(1)


def test_what_the_cpu_does_needs_no_place() -> None:
    """R2.8, R2.10, R4.5."""
    found = on("rocm-7.2", copied_by_the_cpu, {**ONE_QUEUE, **ONE_PLACE}).found.hang
    assert found is not None
    assert found.outcome == "does not hang"
