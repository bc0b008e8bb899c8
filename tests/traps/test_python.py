"""Python that could hide a protocol's mistake from whoever traces it."""

from __future__ import annotations

import contextlib
import sys
from array import array
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from streamorder import BadInput, Gpu, Outcome, check

if TYPE_CHECKING:
    from collections.abc import Callable

NOTES: list[int] = []


def race(gpu: Gpu) -> None:
    """Two writes that nothing orders."""
    d = gpu.device("d")
    gpu.launch("one", gpu.stream("s"), writes={d: 1})
    gpu.launch("two", gpu.stream("t"), writes={d: 2})


# --- exceptions -----------------------------------------------------------------------------------


def swallows_everything(gpu: Gpu) -> None:
    """Swallow everything that the second launch raises."""
    with contextlib.suppress(BaseException):
        race(gpu)


def swallows_each_step(gpu: Gpu) -> None:
    """Swallow it in every step, and go on with the next."""
    for _ in gpu.steps():
        with contextlib.suppress(BaseException):
            race(gpu)


def gives_up_on_choices(gpu: Gpu) -> None:
    """Swallow what a first choice raises, and leave before the mistake."""
    try:
        gpu.choose(1, 2)
    except BaseException:  # noqa: BLE001 - what is tested
        return
    race(gpu)


@pytest.mark.parametrize("engine", ["order", "machine"])
@pytest.mark.parametrize("body", [swallows_everything, swallows_each_step, gives_up_on_choices])
def test_no_handler_hides_a_race(body: Callable[[Gpu], None], engine: str) -> None:
    """A protocol that catches everything is decided like any other."""
    assert check(body, engine=engine).outcome is Outcome.REFUTED


def test_no_handler_hides_a_refusal() -> None:
    """A call that is refused stays refused, even where the protocol swallows the error."""

    def body(gpu: Gpu) -> None:
        with contextlib.suppress(Exception):
            gpu.write(gpu.device("d"), 1)

    with pytest.raises(BadInput, match="the host cannot write device buffer 'd'"):
        check(body)


@pytest.mark.parametrize("branching", [False, True])
def test_leaving_by_exit_is_no_pass(branching: bool) -> None:
    """`sys.exit()` within a protocol is an error of the protocol, not the end of the check."""

    def body(gpu: Gpu) -> None:
        if branching:
            gpu.choose(1, 2)
        sys.exit(0)

    with pytest.raises(BadInput, match="SystemExit"):
        check(body)


# --- what differs from trace to trace -------------------------------------------------------------


@pytest.mark.parametrize(("first", "second"), [(1, 2), ("a", "b"), (-1, -2)], ids=repr)
def test_every_version_counts(first: object, second: object) -> None:
    """A second trace with another version is another protocol, though they may hash alike."""
    versions = iter([first, second, first, second])

    def body(gpu: Gpu) -> None:
        gpu.write(gpu.pinned("p"), next(versions))

    with pytest.raises(BadInput, match="not deterministic"):
        check(body)


# --- Python state that host threads share ---------------------------------------------------------


class Box:
    """A place to put a number, in the class or in an instance."""

    n = 0


class Notes:
    """A worker whose method writes a global."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu

    def run(self) -> None:
        """Append to a global list, between two calls."""
        self.gpu.null_stream.synchronize()
        NOTES.append(1)
        self.gpu.null_stream.synchronize()

    __call__ = run


def in_list(gpu: Gpu) -> tuple[Callable[..., None], Callable[[], object]]:
    """A list of the enclosing function, through `functools.partial`."""
    kept: list[int] = []

    def worker(into: list[int]) -> None:
        gpu.null_stream.synchronize()
        into.append(1)
        gpu.null_stream.synchronize()

    return partial(worker, kept), lambda: kept


def in_array(gpu: Gpu) -> tuple[Callable[..., None], Callable[[], object]]:
    """An array of numbers."""
    kept = array("i", [0])

    def worker() -> None:
        gpu.null_stream.synchronize()
        kept[0] = 1
        gpu.null_stream.synchronize()

    return worker, lambda: kept[0]


def in_bytes(gpu: Gpu) -> tuple[Callable[..., None], Callable[[], object]]:
    """A mutable string of bytes."""
    kept = bytearray(1)

    def worker() -> None:
        gpu.null_stream.synchronize()
        kept[0] = 1
        gpu.null_stream.synchronize()

    return worker, lambda: kept[0]


def in_class(gpu: Gpu) -> tuple[Callable[..., None], Callable[[], object]]:
    """An attribute of a class."""
    Box.n = 0

    def worker() -> None:
        gpu.null_stream.synchronize()
        Box.n = 1
        gpu.null_stream.synchronize()

    return worker, lambda: Box.n


def in_module(gpu: Gpu) -> tuple[Callable[..., None], Callable[[], object]]:
    """An attribute of a module."""
    module: Any = contextlib
    module.noted = 0

    def worker() -> None:
        gpu.null_stream.synchronize()
        module.noted = 1
        gpu.null_stream.synchronize()

    return worker, lambda: module.noted


def in_globals(gpu: Gpu) -> tuple[Callable[..., None], Callable[[], object]]:
    """A global variable that no code names."""
    globals()["noted"] = 0

    def worker() -> None:
        gpu.null_stream.synchronize()
        globals()["noted"] = 1
        gpu.null_stream.synchronize()

    return worker, lambda: globals()["noted"]


def by_method(gpu: Gpu) -> tuple[Callable[..., None], Callable[[], object]]:
    """A global that only a method of a captured object names."""
    NOTES.clear()
    notes = Notes(gpu)
    return lambda: notes.run(), lambda: list(NOTES)  # noqa: PLW0108 - what is tested


def by_callable(gpu: Gpu) -> tuple[Callable[..., None], Callable[[], object]]:
    """A global that only the `__call__` of the thread's own object names."""
    NOTES.clear()
    return Notes(gpu), lambda: list(NOTES)


WAYS = [in_list, in_array, in_bytes, in_class, in_module, in_globals, by_method, by_callable]


@pytest.mark.parametrize("way", WAYS)
def test_shared_state_is_refused(way: Callable[[Gpu], Any]) -> None:
    """The main thread's calls depend on what a worker wrote: never HOLDS."""

    def body(gpu: Gpu) -> None:
        worker, seen = way(gpu)
        thread = gpu.thread(worker)
        gpu.null_stream.synchronize()
        if seen():
            race(gpu)
        thread.join()

    with pytest.raises(BadInput):
        check(body)


def test_an_item_of_a_queue_is_not_shared_state() -> None:
    """An object that one thread puts and another changes is refused."""

    def body(gpu: Gpu) -> None:
        queue = gpu.queue()

        def worker(box: Box) -> None:
            gpu.null_stream.synchronize()
            box.n = 1
            gpu.null_stream.synchronize()

        thread = gpu.thread(lambda: worker(queue.get()))
        box = Box()
        queue.put(box)
        gpu.null_stream.synchronize()
        if box.n:
            race(gpu)
        thread.join()

    with pytest.raises(BadInput, match=r"queue|share"):
        check(body)
