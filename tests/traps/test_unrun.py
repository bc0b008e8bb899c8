"""Functions whose body does not run when they are called: nothing of them was checked."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from streamorder import BadInput, Gpu, check, exhaustive, protocol
from streamorder.model.contract import CUDA
from streamorder.sim.timed import Costs, Timed, simulate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    Body = Callable[..., Any]


def race(gpu: Gpu) -> None:
    """Two writes that nothing orders."""
    d = gpu.device("d")
    gpu.launch("one", gpu.stream("s"), writes={d: 1})
    gpu.launch("two", gpu.stream("t"), writes={d: 2})


def generator(gpu: Gpu) -> Iterator[int]:
    """A stray yield."""
    race(gpu)
    yield 1


async def coroutine(gpu: Gpu) -> None:
    """A stray async."""
    race(gpu)


async def asynchronous(gpu: Gpu) -> AsyncIterator[int]:
    """Both."""
    race(gpu)
    yield 1


def mapped(gpu: Gpu) -> object:
    """A map that nobody goes through."""
    return map(race, [gpu])


class Worker:
    """A generator as a method, and as the object itself."""

    def run(self, gpu: Gpu) -> Iterator[int]:
        """A stray yield."""
        race(gpu)
        yield 1

    __call__ = run


class Later:
    """Something to await."""

    def __await__(self) -> Iterator[int]:
        yield 1


def awaited(_gpu: Gpu) -> Awaitable[None]:
    """An awaitable of its own making."""
    return Later()  # type: ignore[return-value]


UNRUN: list[Body] = [
    *(generator, coroutine, asynchronous, mapped, awaited, Worker().run, Worker()),
    *(partial(generator), lambda gpu: generator(gpu)),  # noqa: PLW0108 - what is tested
]


@pytest.mark.parametrize("engine", ["order", "machine", "sim"])
@pytest.mark.parametrize("body", UNRUN, ids=range(len(UNRUN)))
def test_a_protocol_is_refused(body: Body, engine: str) -> None:
    """Its calls are not made, so no verdict may stand on them."""
    with pytest.raises(BadInput, match="has not run"):
        check(lambda gpu: body(gpu), engine=engine, prove=True)  # noqa: PLW0108 - any callable


@pytest.mark.parametrize("engine", ["order", "machine", "sim"])
@pytest.mark.parametrize("body", UNRUN, ids=range(len(UNRUN)))
def test_a_host_thread_is_refused(body: Body, engine: str) -> None:
    """The same for what a host thread runs."""
    with pytest.raises(BadInput, match=r"host thread .* has not run"):
        check(lambda gpu: gpu.thread(body, gpu).join(), engine=engine)


@pytest.mark.parametrize("body", [generator, lambda gpu: gpu.thread(generator, gpu).join()])
def test_the_timed_simulator_refuses_them(body: Body) -> None:
    """It takes functions as they are, and starts threads on its own."""
    with pytest.raises(BadInput, match="has not run"):
        simulate(body, 1, CUDA, lambda: Timed(Costs()))


def test_a_protocol_within_another_is_refused() -> None:
    """A protocol that another one calls must run there and then."""
    body: Any = generator
    inner = protocol()(body)
    with pytest.raises(BadInput, match=r"test_unrun.py:\d+: protocol 'generator' returns"):
        check(lambda gpu: (gpu.stream("s"), inner(gpu))[0])


def test_a_test_is_refused() -> None:
    """A test with a stray yield does not pass."""
    swept = exhaustive()(generator)
    with pytest.raises(BadInput, match="has not run"):
        check(swept)


def test_an_operation_may_be_returned() -> None:
    """What else a protocol returns is its own business."""
    check(lambda gpu: gpu.launch("k", gpu.null_stream))


MANY: list[Any] = [["a", "b"], ("a", "b"), {"a", "b"}, {"a": 1}, range(2), iter("ab"), frozenset()]


@pytest.mark.parametrize("options", MANY, ids=lambda options: type(options).__name__)
def test_a_list_is_no_option(options: Any) -> None:
    """Options in a list would be one option, and only one way would be checked."""
    with pytest.raises(BadInput, match=r"choose\(\*options\) takes the options one by one"):
        check(lambda gpu: gpu.choose(options))


@pytest.mark.parametrize("option", ["dummy", b"dummy", 0, None, race])
def test_one_option_is_an_option(option: Any) -> None:
    """A choice may have a single option."""
    check(lambda gpu: gpu.choose(option))


def test_an_api_object_can_be_asked() -> None:
    """What an object lacks is named, and `hasattr` still answers."""

    def body(gpu: Gpu) -> None:
        assert not hasattr(gpu, "absent")
        assert not hasattr(gpu.stream("s"), "absent")

    check(body)


def test_a_protocol_needs_its_gpu() -> None:
    """A function without parameters is no protocol, and the message says why."""
    with pytest.raises(BadInput, match="its first parameter must be gpu"):
        protocol()(lambda: None)
