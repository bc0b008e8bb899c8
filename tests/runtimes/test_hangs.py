"""Programs that are safe by contract and hang on a runtime: on which maps, who waits for whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder import Protocol, check, protocol
from streamorder.model.catalogue import catalogue
from streamorder.model.check import Limits
from streamorder.model.decision import Decision
from streamorder.model.runtime import HANGS, MAY_HANG, NO_HANG, UNDECIDED, Hang, hangs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamorder import Gpu

SHARED = "corpus/C67-hardware-queues/unshared-first"
BLOCKING = "corpus/C72-launch-blocking/off"
PLACES = "a queue with 2 places has none left before it is done"


@protocol()
def released_by_host(gpu: Gpu) -> None:
    """A stream spins, three kernels stand behind it, then the host releases it (R4.5)."""
    stream, go = gpu.stream("spins"), gpu.cell("go")
    gpu.wait_value(stream, go, 1)
    for _ in range(3):
        gpu.launch("kernel", stream)
    go.set(1)
    stream.synchronize()


@protocol()
def released_after_copy(gpu: Gpu) -> None:
    """The host releases a spinning stream once a copy on another one is done."""
    spins, copies, go = gpu.stream("spins"), gpu.stream("copies"), gpu.cell("go")
    page, pinned = gpu.device("page"), gpu.pinned("pinned")
    gpu.wait_value(spins, go, 1)
    gpu.memcpy_async(page, pinned, copies)
    copies.synchronize()
    go.set(1)


@protocol()
def released_by_a_wait(gpu: Gpu) -> None:
    """A stream waits for another's event; a third one's write releases that (R4.3)."""
    first, second, third = (gpu.stream(name) for name in ("first", "second", "third"))
    go, done = gpu.cell("go"), gpu.event("done")
    gpu.wait_value(first, go, 1)
    done.record(first)
    second.wait(done)
    gpu.write_value(third, go, 1)


@protocol()
def reset(gpu: Gpu) -> None:
    """A word is set and reset while a stream waits for it: a hang that sharing can take away."""
    first, second, third = (gpu.stream(name) for name in ("waits", "sets", "resets"))
    word, seen = gpu.cell("word"), gpu.event("set")
    gpu.wait_value(first, word, 1)
    gpu.write_value(second, word, 1)
    seen.record(second)
    third.wait(seen)
    gpu.write_value(third, word, 0)


def hang(
    target: Protocol, runtime: str, env: Mapping[str, str] | None = None, engine: str = "order"
) -> Hang:
    """Whether it hangs there; it is safe by contract, or this is refused."""
    verdict = check(target, runtime=runtime, env=env, engine=engine)
    assert verdict.verdict == "HOLDS"
    assert verdict.runtime is not None
    found = verdict.runtime.found.hang
    assert found is not None
    assert verdict.runtime.found.hazard is None
    assert verdict.exit_code == (0 if found.outcome == NO_HANG else 1)
    return found


def cycle(found: Hang) -> list[tuple[str, str]]:
    """The cycle without source lines: who waits, and why."""
    return [(wait.who.partition(" (")[0], wait.why.partition(" (")[0]) for wait in found.cycle]


@pytest.mark.parametrize("engine", ["order", "machine", "sim"])
@pytest.mark.parametrize("runtime", ["rocm-7.2", "rocm-10"])
def test_a_shared_queue(runtime: str, engine: str) -> None:
    """The write stands behind the wait for it, where the two streams share a queue."""
    found = hang(catalogue()[SHARED], runtime, engine=engine)
    assert (found.outcome, found.shown, found.maps) == (MAY_HANG, 1, 2)
    assert found.where == "queue0 and queue1 share a queue"
    assert cycle(found) == [
        ("wait_value(queue0, ready, 1)", "it is to set cell 'ready' to 1"),
        (
            "write_value(queue1, ready, 1)",
            "it stands before it in the hardware queue that queue1 and queue0 share",
        ),
        ("launch(kernel, queue0)", "it stands before it in queue0"),
    ]
    assert [wait.whom for wait in found.cycle] == [
        wait.who for wait in (*found.cycle[1:], found.cycle[0])
    ]


def test_one_queue_for_all() -> None:
    """With one queue there is one map, and it hangs."""
    found = hang(catalogue()[SHARED], "rocm-10", {"GPU_MAX_HW_QUEUES": "1"})
    assert (found.outcome, found.shown, found.maps) == (HANGS, 1, 1)


def test_head_of_line_blocking() -> None:
    """A stream that waits for an event holds up a third one on its queue (R4.3): 3 of 5 maps."""
    found = hang(released_by_a_wait, "rocm-10")
    assert (found.outcome, found.shown, found.maps) == (MAY_HANG, 3, 5)
    assert found.where in {"first and third share a queue", "second and third share a queue"}
    assert "go" in found.cycle[0].why


@pytest.mark.parametrize("engine", ["order", "machine", "sim"])
def test_a_full_launch_queue(engine: str) -> None:
    """R4.5: with places for all four the host comes to release the stream, with fewer never."""
    verdict = check(released_by_host, runtime="rocm-10", sweep="ring=1..4", engine=engine)
    there = [found.found.hang for _value, found in verdict.sweep]
    assert [found and found.outcome for found in there] == [HANGS, HANGS, HANGS, NO_HANG]
    first = there[1]
    assert first is not None
    assert cycle(first) == [
        ("host thread host in launch(kernel, spins)", PLACES),
        ("wait_value(spins, go, 1)", "it is to call go.set(1)"),
    ]


def test_the_default_ring_is_large_enough() -> None:
    """16384 places are enough for four packets."""
    assert hang(released_by_host, "rocm-10").outcome == NO_HANG


@pytest.mark.parametrize(
    ("target", "runtime", "env"),
    [
        (released_after_copy, "rocm-10", {"AMD_SERIALIZE_COPY": "1"}),
        (released_by_host, "rocm-10", {"AMD_SERIALIZE_COPY": "2"}),
        (released_by_host, "rocm-10", {"AMD_SERIALIZE_KERNEL": "2"}),
        (released_by_host, "rocm-10", {"HIP_LAUNCH_BLOCKING": "1"}),
        (released_by_host, "cuda-13", {"CUDA_LAUNCH_BLOCKING": "1"}),
        (BLOCKING, "cuda-13", {"CUDA_LAUNCH_BLOCKING": "1", "CUDA_MODULE_LOADING": "EAGER"}),
        (BLOCKING, "rocm-10", {"AMD_OCL_WAIT_COMMAND": "1"}),
    ],
)
def test_a_blocking_switch(target: Protocol | str, runtime: str, env: dict[str, str]) -> None:
    """R4.6: a switch that is to help with debugging makes it hang on every map."""
    entry = catalogue()[target] if isinstance(target, str) else target
    found = hang(entry, runtime, env)
    assert found.outcome == HANGS
    assert found.cycle


@pytest.mark.parametrize(
    ("target", "runtime", "env"),
    [
        (released_by_host, "cuda-13", {"CUDA_MODULE_LOADING": "EAGER"}),
        (released_by_host, "rocm-10", {"AMD_SERIALIZE_KERNEL": "1"}),
        (BLOCKING, "cuda-13", {"CUDA_MODULE_LOADING": "EAGER"}),
        (BLOCKING, "rocm-10", {}),
    ],
)
def test_no_switch(target: Protocol | str, runtime: str, env: dict[str, str]) -> None:
    """The controls."""
    entry = catalogue()[target] if isinstance(target, str) else target
    assert hang(entry, runtime, env).outcome == NO_HANG


def test_first_use() -> None:
    """Lazy loading: the first launch of a kernel may wait for a stream that waits for the host."""
    found = hang(released_by_host, "cuda-13")
    assert found.outcome == MAY_HANG
    assert found.where is not None
    assert found.where.endswith("a kernel's first launch waits for the device")


def test_hangs_are_not_monotone() -> None:
    """A race for a word hangs on own queues, and not where sharing puts the reset behind."""
    verdict = check(reset, runtime="rocm-10")
    assert verdict.verdict == "REFUTED"
    assert verdict.runtime is not None
    found = verdict.runtime.found.hang
    assert found is not None
    assert (found.outcome, found.shown, found.maps) == (MAY_HANG, 4, 5)
    assert found.where == "every stream has a queue of its own"
    assert verdict.exit_code == 1


def test_one_stream_has_nothing_to_share() -> None:
    """Maps from single packets are not tried where no two streams could meet."""
    found = hang(catalogue()["corpus/C50-output-thread/event-per-step"], "rocm-10")
    assert (found.outcome, found.maps) == (NO_HANG, 1)


def test_what_waits_for_no_value_cannot_hang() -> None:
    """No map needs to be tried: every edge of a masking points backwards in issue order."""
    verdict = check(catalogue()["fp8-prefill/staged"], runtime="rocm-10", prove=True)
    assert verdict.runtime is not None
    assert verdict.runtime.found.hang is None
    assert verdict.exit_code == 0


@protocol()
def after_a_race(gpu: Gpu) -> None:
    """A race with the host, and then a wait for what another stream writes later."""
    raced = gpu.pinned("raced")
    first, second = gpu.stream("first"), gpu.stream("second")
    gpu.launch("kernel", second, reads=[raced])
    gpu.write(raced, 1)
    gpu.synchronize()
    word = gpu.cell("word")
    gpu.wait_value(first, word, 1)
    gpu.write_value(second, word, 1)


@protocol()
def after_a_race_and_a_choice(gpu: Gpu) -> None:
    """The same, on one path only, and not the first."""
    raced = gpu.pinned("raced")
    first, second = gpu.stream("first"), gpu.stream("second")
    gpu.launch("kernel", second, reads=[raced])
    gpu.write(raced, 1)
    gpu.synchronize()
    if gpu.choose(0, 1):
        word = gpu.cell("word")
        gpu.wait_value(first, word, 1)
        gpu.write_value(second, word, 1)


@protocol()
def a_race_and_a_choice(gpu: Gpu) -> None:
    """A race, and no wait for a value."""
    raced, stream = gpu.pinned("raced"), gpu.stream("stream")
    gpu.launch("kernel", stream, reads=[raced])
    gpu.write(raced, gpu.choose(0, 1))


def after(target: Protocol, engine: str, **about: Any) -> Hang | None:
    """Whether something that is refuted hangs on one queue."""
    env = {"GPU_MAX_HW_QUEUES": "1"}
    verdict = check(target, runtime="rocm-10", env=env, engine=engine, steps=1, **about)
    assert verdict.verdict == "REFUTED"
    assert verdict.runtime is not None
    return verdict.runtime.found.hang


@pytest.mark.parametrize("engine", ["order", "machine", "sim"])
def test_a_hang_behind_a_race(engine: str) -> None:
    """A search that stops at the race does not answer for what comes after it."""
    for target in (after_a_race, after_a_race_and_a_choice):
        found = after(target, engine)
        assert found is not None
        assert (found.outcome, found.shown, found.maps) == (HANGS, 1, 1)
        assert found.cycle or engine == "sim"
    assert after(a_race_and_a_choice, engine) is None


@pytest.mark.parametrize(
    ("engine", "limits"), [("machine", Limits(states=6)), ("order", Limits(executions=1))]
)
def test_a_hang_behind_a_race_that_was_not_looked_for(engine: str, limits: Limits) -> None:
    """Where the rest is more than may be spent: undetermined, and no pass."""
    target = after_a_race if engine == "machine" else after_a_race_and_a_choice
    expecting = Protocol(target.body, target.name, {}, {"hip": "REFUTED"})
    found = after(expecting, engine, limits=limits)
    assert found is not None
    assert found.outcome == UNDECIDED
    env = {"GPU_MAX_HW_QUEUES": "1"}
    verdict = check(expecting, runtime="rocm-10", env=env, engine=engine, limits=limits)
    assert (verdict.as_expected, verdict.exit_code) == (True, 3)


def test_a_decision_that_stopped_says_nothing_of_hangs() -> None:
    """Neither that there is one nor that there is none."""
    found = Decision()
    assert hangs([found]) is False
    found.stopped = True
    assert hangs([found]) is None
