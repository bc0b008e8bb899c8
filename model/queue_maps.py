"""Which lanes can share a hardware queue: maps as partitions of the lanes of each device.

A map is *legal* when no device has more blocks than queues. Merging blocks only adds order, so of
hazards the *maximal* maps, those with as many blocks as there can be, decide; there is one where a
device has no more lanes than queues. Hangs are not monotone, and need every legal map.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .masking import Item, Lane

Thing = TypeVar("Thing")
Block = tuple["Item", ...]
Map = tuple[Block, ...]
"""The blocks that share a queue; a lane in no block, or alone in one, has a queue of its own."""


def partitions(things: Sequence[Thing], least: int, most: int) -> Iterator[list[list[Thing]]]:
    """Every partition into at least `least` and at most `most` blocks, finest first.

    As restricted growth strings (Knuth, TAOCP 4A, 7.2.1.5): a thing joins a block that is there
    or begins the next one.
    """
    for blocks in range(min(most, len(things)), least - 1, -1):
        yield from of_size(things, blocks)


def of_size(things: Sequence[Thing], blocks: int) -> Iterator[list[list[Thing]]]:
    """Every partition into exactly so many blocks."""
    if not things:
        if not blocks:
            yield []
        return
    *rest, last = things
    if blocks and len(rest) >= blocks - 1:
        for smaller in of_size(rest, blocks - 1):
            yield [*smaller, [last]]
    if len(rest) >= blocks:
        for same in of_size(rest, blocks):
            for at in range(blocks):
                yield [[*block, last] if i == at else block for i, block in enumerate(same)]


def maximal(lanes: dict[Lane, int], queues: int | None) -> Iterator[Map]:
    """The maximal legal maps: lanes by device, so many queues a device (None: any number)."""
    yield from over_devices(lanes, queues, maximal_only=True)


def legal(lanes: dict[Lane, int], queues: int | None) -> Iterator[Map]:
    """Every legal map, those with the fewest shared queues first on each device."""
    yield from over_devices(lanes, queues, maximal_only=False)


def over_devices(
    lanes: dict[Lane, int], queues: int | None, *, maximal_only: bool
) -> Iterator[Map]:
    """Maps of all devices together."""
    if queues is None:
        yield ()
        return
    choices = []
    for device in sorted(set(lanes.values())):
        items: list[Item] = [(lane, None) for lane, at in lanes.items() if at == device]
        finest = min(len(items), queues)
        choices.append(list(partitions(items, finest if maximal_only else 1, queues)))
    for chosen in product(*choices):
        yield tuple(tuple(block) for blocks in chosen for block in blocks if len(block) > 1)


def of_packets(lanes: dict[Lane, list[int]], queues: int) -> Iterator[Map]:
    """Every map that gives each packet a queue by itself: lanes with their device and their number
    of packets. Far too many but for tiny programs.
    """
    choices = []
    for device in sorted({at for at, _count in lanes.values()}):
        items: list[Item] = [
            (lane, number)
            for lane, (at, count) in lanes.items()
            if at == device
            for number in range(count)
        ]
        choices.append(partitions(items, 1, queues))
    if len(choices) == 1:
        for blocks in choices[0]:
            yield tuple(tuple(block) for block in blocks)
        return
    for chosen in product(*choices):
        yield tuple(tuple(block) for blocks in chosen for block in blocks)


def pairs(lanes: dict[Lane, int]) -> Iterator[tuple[Lane, Lane]]:
    """Every two lanes that could share a queue: of one device."""
    for first, second in combinations(lanes, 2):
        if lanes[first] == lanes[second]:
            yield first, second


def together(*lanes: Lane) -> Map:
    """The map in which only these lanes share a queue."""
    return (tuple((lane, None) for lane in lanes),)


def one_each(lanes: dict[Lane, int]) -> Map:
    """The coarsest map: one queue a device."""
    devices = sorted(set(lanes.values()))
    blocks = (tuple((lane, None) for lane, at in lanes.items() if at == d) for d in devices)
    return tuple(block for block in blocks if len(block) > 1)


def numbered(blocks: Map) -> tuple[tuple[Item, int], ...]:
    """A map as a masking has it."""
    return tuple((item, number) for number, block in enumerate(blocks) for item in block)


def described(blocks: Map) -> str:
    """A map in words."""
    if not blocks:
        return "every stream has a queue of its own"
    return "; ".join(f"{listed(block)} share a queue" for block in blocks if len(block) > 1)


def listed(block: Block) -> str:
    """The lanes or packets of a block."""
    names = [lane if number is None else f"{lane}[{number}]" for lane, number in block]
    return ", ".join(names[:-1]) + f" and {names[-1]}"
