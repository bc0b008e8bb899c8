"""Calls with other objects in them: the same verb on other memory, streams, events, queues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..memory import PAGEABLE, Buffer, Pairs, Region
from ..objects import Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..calls import Call, Reads

STREAM_AT = {
    "launch": 1, "host_func": 1, "memcpy": 2, "memcpy_async": 2, "memset": 3, "memset_async": 3,
    "graph_launch": 2, "write_value": 1, "wait_value": 1, "record": 2, "wait": 1,
    "malloc_async": 3, "free_async": 2, "synchronize_stream": 1,
}  # fmt: skip
"""Where a call's stream stands in it."""

KERNELS = frozenset({"launch", "graph_launch"})

Exchange = "Callable[[Region], Region]"


class Unfit(Exception):
    """An edit that cannot be made in this program."""


def stream_of(call: Call) -> Stream | None:
    """The stream that a call issues to; None for one that issues to none."""
    at = STREAM_AT.get(call[0])
    stream = call[at] if at is not None else None
    return stream if isinstance(stream, Stream) else None


def on_stream(call: Call, stream: Stream) -> Call:
    """The call issued to another stream; a blocking copy or fill becomes an asynchronous one."""
    if call[0] == "memcpy":
        return ("memcpy_async", call[1], stream, None)
    if call[0] == "memset":
        return ("memset_async", call[1], call[2], stream)
    at = STREAM_AT[call[0]]
    return (*call[:at], stream, *call[at + 1 :])


def regions_in(call: Call) -> Iterator[Region]:
    """Every region that a call names."""
    for part in call[1:]:
        if isinstance(part, Buffer):
            yield from part.regions
        elif isinstance(part, tuple):
            for item in part:
                if isinstance(item, Region):
                    yield item
                elif isinstance(item, tuple):
                    yield from (thing for thing in item if isinstance(thing, Region))


def with_regions(call: Call, exchange: Callable[[Region], Region]) -> Call:
    """The call with other regions in the place of its own."""
    changed = tuple(part_with(part, exchange) for part in call[1:])
    return (call[0], *changed)


def part_with(part: Any, exchange: Callable[[Region], Region]) -> Any:
    """A part of a call with other regions: a buffer, copies' pairs, reads, writes, regions."""
    if isinstance(part, Buffer):
        return exchange(part.regions[0]).buffer
    if isinstance(part, Pairs):
        return Pairs((exchange(dst), exchange(src)) for dst, src in part)
    if isinstance(part, tuple):
        return tuple(item_with(item, exchange) for item in part)
    return part


def item_with(item: Any, exchange: Callable[[Region], Region]) -> Any:
    """A region, or a pair of a region and a version, which may be a region itself."""
    if isinstance(item, Region):
        return exchange(item)
    if isinstance(item, tuple):
        return tuple(exchange(thing) if isinstance(thing, Region) else thing for thing in item)
    return item


def with_object(call: Call, old: object, new: object) -> Call:
    """The call with one object in the place of another."""
    return tuple(new if part is old else part for part in call)


def refuse_pageable(call: Call) -> None:
    """A kernel cannot touch pageable memory: an edit that makes it do so does not fit."""
    if call[0] in KERNELS and any(region.kind == PAGEABLE for region in regions_in(call)):
        raise Unfit(call)


def reads_of(call: Call) -> Reads:
    """What a call reads with expectations."""
    at = {"launch": 3, "host_func": 3, "read": 1, "graph_launch": 3, "post": 3}.get(call[0])
    return call[at] if at is not None else ()
