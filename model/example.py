"""One run of a protocol, whether it is right or wrong: what a design page draws and lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .again import from_the_start
from .host import Host
from .objects import Handle
from .tree import first_schedule, record, schedule_of
from .witness import events

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .contract import Contract
    from .protocol import Protocol
    from .recorder import Moment, Recording
    from .trace import Event
    from .where import Where


class Expectation(NamedTuple):
    """What a call must find: which regions, and the version of how many steps before its own.

    `lag` is 0 for its own step; None where the version is no step number, which `version` then is.
    """

    call: str
    where: Where | None
    regions: tuple[str, ...]
    lag: int | None
    version: str | None


class Example(NamedTuple):
    """One run: everything in the order in which the host issues it, and what it is made of."""

    events: tuple[Event, ...]
    threads: tuple[str, ...]
    things: tuple[Handle, ...]
    expectations: tuple[Expectation, ...]


def example(target: Protocol, contract: Contract, steps: int, **parameters: Any) -> Example:
    """The run in which every operation is carried out at once and every choice is the first.

    Raises `BadInput` where the protocol or a parameter is wrong.
    """
    host = Host(target.bind(parameters), steps)
    taken = from_the_start(lambda: first_schedule(schedule_of(host, contract, ())).steps)
    recording = record(host, contract, taken)
    happened = tuple(events(recording, recording.moments, {}))
    made = sorted((one for one in host.born if isinstance(one, Handle)), key=lambda one: one.serial)
    threads = tuple(thread.name for thread in host.gpu.threads)
    return Example(happened, threads, tuple(made), tuple(expectations(recording)))


def expectations(recording: Recording) -> Iterator[Expectation]:
    """What each source line must find, in the order of the first time it is reached."""
    found: dict[tuple[Any, ...], dict[str, None]] = {}
    for moment in recording.moments:
        for region, expected in moment.reads:
            if expected is not None:
                key = (words(moment), moment.node.where, *awaited(moment.node.step, expected))
                found.setdefault(key, {})[repr(region)] = None
    for (call, where, lag, version), regions in found.items():
        yield Expectation(call, where, tuple(regions), lag, version)


def words(moment: Moment) -> str:
    """A call by its verb and, for a kernel, its name."""
    call = moment.node.call
    assert call is not None
    if moment.label:
        return moment.label
    return f"kernel {call[2]}" if call[0] == "launch" else call[0]


def awaited(step: int | None, expected: object) -> tuple[int | None, str | None]:
    """An expected version relative to the step, or as it is."""
    if type(expected) is int and step is not None:
        return step - expected, None
    return None, repr(expected)
