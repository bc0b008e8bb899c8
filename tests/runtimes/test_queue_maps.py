"""Maps of streams to hardware queues: every one, each once, the finest first."""

from __future__ import annotations

from math import comb

import pytest

from streamorder.model import queue_maps
from streamorder.model.queue_maps import legal, maximal, of_packets, partitions


def stirling(things: int, blocks: int) -> int:
    """Stirling numbers of the second kind, by their recurrence."""
    if things == 0 or blocks == 0:
        return int(things == blocks)
    return blocks * stirling(things - 1, blocks) + stirling(things - 1, blocks - 1)


def bell(things: int) -> int:
    """How many partitions there are, by their own recurrence."""
    return 1 if not things else sum(comb(things - 1, k) * bell(k) for k in range(things))


def lanes(count: int, device: int = 0) -> dict[str, int]:
    """So many streams of a device."""
    return {f"s{i}d{device}": device for i in range(count)}


@pytest.mark.parametrize("things", range(7))
def test_partitions(things: int) -> None:
    """As many as Bell says, by number of blocks as Stirling says; each once, finest first."""
    names = [f"s{i}" for i in range(things)]
    found = list(partitions(names, 0, things))
    assert len(found) == bell(things)
    assert len({frozenset(map(frozenset, blocks)) for blocks in found}) == len(found)
    sizes = [len(blocks) for blocks in found]
    assert sizes == sorted(sizes, reverse=True)
    assert [sizes.count(k) for k in range(things + 1)] == [
        stirling(things, k) for k in range(things + 1)
    ]
    assert all(sorted(name for block in one for name in block) == names for one in found)


@pytest.mark.parametrize(
    ("streams", "queues", "finest", "all_of_them"),
    [(2, 4, 1, 2), (4, 4, 1, 15), (5, 4, 10, 51), (6, 4, 65, 187), (3, 1, 1, 1), (3, 2, 3, 4)],
)
def test_maximal_and_legal(streams: int, queues: int, finest: int, all_of_them: int) -> None:
    """One maximal map while there are queues enough; the legal ones have at most as many blocks."""
    assert len(list(maximal(lanes(streams), queues))) == finest
    assert len(list(legal(lanes(streams), queues))) == all_of_them
    assert next(legal(lanes(streams), max(streams, queues))) == ()


def test_devices_do_not_share() -> None:
    """Each device has its own queues: maps multiply."""
    both = {**lanes(3), **lanes(2, device=1)}
    assert len(list(legal(both, 4))) == bell(3) * bell(2)
    assert all(
        len({both[lane] for lane, _number in block}) == 1
        for blocks in legal(both, 4)
        for block in blocks
    )
    assert len(queue_maps.one_each(both)) == 2


def test_any_number_of_queues() -> None:
    """Without a limit there is one map, in which nothing is shared."""
    assert list(legal(lanes(4), None)) == list(maximal(lanes(4), None)) == [()]


def test_single_packets() -> None:
    """Every way to give each packet a queue."""
    found = list(of_packets({"a": [0, 2], "b": [0, 1]}, 2))
    assert len(found) == stirling(3, 1) + stirling(3, 2)
    assert (((("a", 0), ("a", 1), ("b", 0)),)) in found
    two = list(of_packets({"a": [0, 2], "b": [1, 3]}, 8))
    assert len(two) == bell(2) * bell(3)


def test_pairs_and_words() -> None:
    """Pairs are of one device; maps in words."""
    both = {**lanes(2), **lanes(1, device=1)}
    assert list(queue_maps.pairs(both)) == [("s0d0", "s1d0")]
    together = queue_maps.together("a", "b")
    assert queue_maps.numbered(together) == ((("a", None), 0), (("b", None), 0))
    assert queue_maps.described(together) == "a and b share a queue"
    assert queue_maps.described(()) == "every stream has a queue of its own"
    packets = ((("a", 0), ("b", 2), ("c", None)),)
    assert queue_maps.described(packets) == "a[0], b[2] and c share a queue"
