"""Experiments: each in a process of its own, with a time limit; a fault is a result.

Processes are started ahead, so that one initialises the device while another measures; only one
measures at a time. A process that ends otherwise than by returning (a signal, a GPU fault, the time
limit) is reported with its signature, and the next experiment has a fresh process.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection

TORCH = "streamorder.validation.torch_runtime:TorchRuntime"
PREPARE = 120.0
"""Seconds that a process may take to initialise its device."""

PRELOADED = ("torch", "triton", "streamorder.validation.torch_runtime", "streamorder.model.check")


class Experiment(NamedTuple):
    """What to run: `target` is `module:function`, called as `function(runtime, **arguments)`.

    It returns plain data. `limit` is how long it may take, in seconds.
    """

    name: str
    target: str
    arguments: dict[str, Any]
    limit: float = 60.0


class Finished(NamedTuple):
    """What came of an experiment: data, or the signature of a fault."""

    name: str
    data: Any
    fault: str | None
    seconds: float
    info: Any = None

    @property
    def ok(self) -> bool:
        """Whether it returned."""
        return self.fault is None


def resolved(target: str) -> Any:
    """The thing that `module:name` names."""
    module, _colon, name = target.partition(":")
    return getattr(import_module(module), name)


def child(pipe: Connection, runtime: str, target: str, arguments: dict[str, Any]) -> None:
    """The process of one experiment."""
    try:
        device = resolved(runtime)()
        pipe.send(("ready", device.info))
        if pipe.recv() != "go":
            return
        pipe.send(("data", resolved(target)(device, **arguments)))
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is the result
        pipe.send(("fault", signature(error)))


def signature(error: BaseException) -> str:
    """An error in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}"


class Worker:
    """A process and the pipe to it."""

    def __init__(self, context: Any, runtime: str, experiment: Experiment) -> None:
        self.experiment = experiment
        self.pipe, theirs = context.Pipe()
        self.info: Any = None
        arguments = (theirs, runtime, experiment.target, experiment.arguments)
        self.process = context.Process(target=child, args=arguments, daemon=True)
        self.process.start()
        theirs.close()

    def answer(self, limit: float) -> tuple[str, Any]:
        """What the process says next; a fault where it ends or takes too long."""
        if not self.pipe.poll(limit):
            return "fault", f"time limit: {limit:g} s are over"
        try:
            return self.pipe.recv()
        except EOFError:
            self.process.join(5)
            return "fault", ended(self.process.exitcode)

    def run(self) -> Finished:
        """Let it measure, and wait for the result."""
        kind, value = self.answer(PREPARE)
        started = time.perf_counter()
        if kind == "ready":
            self.info = value
            self.pipe.send("go")
            kind, value = self.answer(self.experiment.limit)
        seconds = time.perf_counter() - started
        if kind == "fault":
            self.stop()
        if kind == "data":
            return Finished(self.experiment.name, value, None, seconds, self.info)
        return Finished(self.experiment.name, None, value, seconds, self.info)

    def stop(self) -> None:
        """End the process; one that has returned may be gone already."""
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.pipe.close()


def ended(code: int | None) -> str:
    """How a process ended, in words."""
    if code is not None and code < 0:
        return f"ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


def run_all(
    experiments: Sequence[Experiment],
    runtime: str = TORCH,
    ahead: int = 8,
    told: Callable[[Finished], None] = lambda _finished: None,
    deadline: float | None = None,
) -> Iterator[Finished]:
    """Run experiments one by one, starting up to `ahead` processes in advance.

    `told` hears of each as it ends; after the `deadline` (on `time.monotonic`) the others are given
    up with a fault that says so.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED) if runtime == TORCH else [])
    workers: list[Worker] = []
    gone: list[Worker] = []
    waiting = list(experiments)
    try:
        while waiting or workers:
            over = deadline is not None and time.monotonic() > deadline
            if over:
                for experiment in [*(w.experiment for w in workers), *waiting]:
                    yield Finished(experiment.name, None, "not run: no time was left", 0.0)
                return
            while waiting and len(workers) <= ahead:
                workers.append(Worker(context, runtime, waiting.pop(0)))
            gone.append(workers.pop(0))
            finished = gone[-1].run()
            told(finished)
            yield finished
    finally:
        for worker in [*gone, *workers]:
            if worker.pipe.closed:
                continue
            worker.stop()
