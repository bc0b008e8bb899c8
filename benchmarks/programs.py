# ruff: noqa: INP001 - scripts, run from a checkout and never installed
"""Programs with several host threads, sized for the benchmarks; every one of them holds.

Those for the search of host schedules access nothing: all the work is in the order of the calls.
`staged-threads` is the staged slots once for each host thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamorder import catalogue, protocol
from streamorder.model.protocols.fp8_plan import run_layers
from streamorder.model.protocols.fp8_staged_plan import StagedPlan

if TYPE_CHECKING:
    from streamorder import Gpu, Protocol
    from streamorder.model.objects import Lock, Stream


def launches(gpu: Gpu, stream: Stream, calls: int) -> None:
    """A host thread that launches kernels on a stream."""
    for _ in range(calls):
        gpu.launch("kernel", stream)


def locked_launches(gpu: Gpu, stream: Stream, lock: Lock, calls: int) -> None:
    """A host thread that takes a lock around each launch."""
    for _ in range(calls):
        with lock:
            gpu.launch("kernel", stream)


@protocol("own-streams", threads=2, calls=3)
def own_streams(gpu: Gpu, threads: int, calls: int) -> None:
    """Each host thread launches on a stream of its own: no two calls depend on each other."""
    streams = [gpu.stream(f"stream{i}") for i in range(threads)]
    started = [gpu.thread(launches, gpu, stream, calls) for stream in streams]
    for thread in started:
        thread.join()


@protocol("one-stream", threads=2, calls=3)
def one_stream(gpu: Gpu, threads: int, calls: int) -> None:
    """All host threads launch on one stream: every order of their calls is another schedule."""
    stream = gpu.stream("shared")
    started = [gpu.thread(launches, gpu, stream, calls) for _ in range(threads)]
    for thread in started:
        thread.join()


@protocol("one-lock", threads=2, calls=3)
def one_lock(gpu: Gpu, threads: int, calls: int) -> None:
    """The same with a lock around each launch: what depends on the order is who takes the lock."""
    stream, lock = gpu.stream("shared"), gpu.lock()
    started = [gpu.thread(locked_launches, gpu, stream, lock, calls) for _ in range(threads)]
    for thread in started:
        thread.join()


def planner(gpu: Gpu, stream: Stream, slots: int, layers: int) -> None:
    """A host thread that plans into slots of its own and launches on a stream of its own."""
    plan = StagedPlan(gpu, stream, slots)
    for n in gpu.steps():
        plan.publish(n)
        run_layers(gpu, stream, plan.device, n, layers)


@protocol("staged-threads", threads=2, slots=2, layers=1)
def staged_threads(gpu: Gpu, threads: int, slots: int, layers: int) -> None:
    """The staged slots in each of several host threads, each with its own plan and stream."""
    streams = [gpu.stream(f"compute{i}") for i in range(threads)]
    if threads == 1:
        planner(gpu, streams[0], slots, layers)
        return
    started = [gpu.thread(planner, gpu, stream, slots, layers) for stream in streams]
    for thread in started:
        thread.join()


def idle(gpu: Gpu) -> None:
    """A host thread with a loop of nothing."""
    for _n in gpu.steps():
        pass


@protocol("idle-threads", threads=2)
def idle_threads(gpu: Gpu, threads: int) -> None:
    """Several host threads that make no call."""
    for started in [gpu.thread(idle, gpu) for _ in range(threads)]:
        started.join()


def program(name: str) -> Protocol:
    """A program of this file or of the catalogue."""
    own = {one.name: one for one in (own_streams, one_stream, one_lock, staged_threads)}
    return own.get(name) or catalogue()[name]
