"""The smallest programs: their interleavings drawn by hand, then counted by everyone.

**One kernel and one store.** `L` launches kernel `a`, `W` is a store of the host. Five states:

    ──L──┬──a──┬── W ──┐          L a W
         │     │       ▼          L W a
         └──W──┴── a ──●          two interleavings; the host has one schedule: L W

Seen more closely, `a` starts (`<`) and finishes (`>`): L < > W, L < W >, L W < >, three.

**Two kernels and a wait.** `A` launches `a` on one stream, `B` launches `b` on another, `S` waits
for the first. `a` comes anywhere after `A`, `b` anywhere after `B`; the wait adds no step when it
returns, and nothing comes after it. Eight interleavings:

    a before B:         A a B b S     A a B S b
    a between B and S:  A B b a S     A B a b S     A B a S b
    a after S:          A B b S a     A B S b a     A B S a b

**Two host threads on one stream.** `T` starts the other thread; `A` launches `a`, the other's `B`
launches `b`, both on one stream, which runs them in the order of the launches. The host has two
schedules, T A B and T B A, and each has two interleavings:

    T A B:  T A a B b     T A B a b          T B A:  T B b A a     T B A b a
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest


class Drawn(NamedTuple):
    """What the drawing says: interleavings, with starts and finishes apart (None: not drawn),
    the machine's states, and schedules of the host.
    """

    threads: tuple[Any, ...]
    interleavings: int
    closely: int | None
    states: int
    schedules: int


LAUNCH = ("launch", 0, (), (("d0", 1),))
DRAWN = {
    # Before L; then a pending or done, times W carried out or not.
    "kernel and store": Drawn(((LAUNCH, ("write", "p0", 1)),), 2, 3, 1 + 2 * 2, 1),
    # Before A; a pending or done, before B; then before or after S, a and b pending or done.
    "two kernels and a wait": Drawn(
        ((LAUNCH, ("launch", 1, (), (("d1", 1),)), ("synchronize_stream", 0)),),
        8, None, 1 + 2 + 2 * 4, 1,
    ),
    # Before T, after T; for each launch that may be first: the first op pending or done, before
    # the second launch; and after it none, the first, or both done, which is one state with d0
    # holding 1 and another with 2.
    "two host threads": Drawn(
        ((("spawn", 1), LAUNCH), (("launch", 0, (), (("d0", 2),)),)), 4, None, 2 + 2 * (2 + 3), 2
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("number", [0, 1])
def test_drawings(kit: Any, oracle: Any, name: str, number: int) -> None:
    """Oracle, machine and order engine count what the drawing shows, under both contracts."""
    drawn, engines = DRAWN[name], kit.engines
    program = kit.programs.Program(
        streams=(("plain", 0), ("plain", 0)),
        buffers=(("d0", "device", ()), ("d1", "device", ()), ("p0", "pinned", ())),
        events=0, locks=0, queues=(), threads=drawn.threads,
    )  # fmt: skip
    contract = engines.CONTRACTS[number]
    found = engines.walk(kit.host(program, contract), contract)
    assert oracle.Interleaver(program, contract.name, split=False).paths == drawn.interleavings
    assert engines.paths(found) == drawn.interleavings
    assert found.states == drawn.states
    assert engines.order(kit.host(program, contract), contract).executions == drawn.schedules
    if drawn.closely is not None:
        assert oracle.Interleaver(program, contract.name).paths == drawn.closely


# Tiny programs with what is wrong with them: (regions with a race, wrong versions, deadlock).
OBJECTS: dict[str, Any] = {
    "streams": (("plain", 0), ("blocking", 0), ("null", 0)),
    "buffers": (("d0", "device", ()), ("p0", "pinned", ()), ("g0", "pageable", ())),
    "events": 1,
    "locks": 2,
    "queues": (1, None),
}
READS_D0 = ("launch", 0, (("d0", 1),), ())
KNOWN: dict[str, tuple[Any, Any, Any]] = {
    # R2.2: under CUDA a blocking upload may return before the device write; HIP waits for it.
    "blocking upload": (
        ((("write", "g0", 1), ("memcpy", "d0", "g0"), READS_D0),),
        ({"d0"}, {("d0", 1)}, False),
        (set(), set(), False),
    ),
    # The same from pinned memory is awaited by both.
    "blocking upload, pinned": (
        ((("write", "p0", 1), ("memcpy", "d0", "p0"), READS_D0),),
        (set(), set(), False),
        (set(), set(), False),
    ),
    # R2.5: a pinned source is read when the copy runs; R2.6: a pageable one at the call.
    "source reused, pinned": (
        ((("write", "p0", 1), ("memcpy_async", "d0", "p0", 0), ("write", "p0", 2)),),
        ({"p0"}, set(), False),
        ({"p0"}, set(), False),
    ),
    "source reused, pageable": (
        ((("write", "g0", 1), ("memcpy_async", "d0", "g0", 0), ("write", "g0", 2), READS_D0),),
        (set(), set(), False),
        (set(), set(), False),
    ),
    # R2.7: HIP's download to pageable memory is complete on return.
    "download to pageable": (
        (
            (
                ("launch", 0, (), (("d0", 1),)),
                ("memcpy_async", "g0", "d0", 0),
                ("read", "g0", 1),
            ),
        ),
        ({"g0"}, {("g0", 1)}, False),
        (set(), set(), False),
    ),
    # R1.3: the NULL stream waits for blocking streams, not for others.
    "null after blocking": (
        ((("launch", 1, (), (("d0", 1),)), ("launch", 2, (("d0", 1),), ())),),
        (set(), set(), False),
        (set(), set(), False),
    ),
    "null after plain": (
        ((("launch", 0, (), (("d0", 1),)), ("launch", 2, (("d0", 1),), ())),),
        ({"d0"}, {("d0", 1)}, False),
        ({"d0"}, {("d0", 1)}, False),
    ),
    # An order without the version that is expected.
    "ordered but wrong": (
        ((("launch", 0, (), (("d0", 2),)), READS_D0),),
        (set(), {("d0", 1)}, False),
        (set(), {("d0", 1)}, False),
    ),
    "nested locks": (
        (
            (("spawn", 1), ("lock", (0, 1), ())),
            (("lock", (1, 0), ()),),
        ),
        (set(), set(), True),
        (set(), set(), True),
    ),
    "full queue": (
        ((("put", 0, 1), ("put", 0, 1)),),
        (set(), set(), True),
        (set(), set(), True),
    ),
    "unbounded queue": (
        ((("put", 1, 1), ("put", 1, 1)),),
        (set(), set(), False),
        (set(), set(), False),
    ),
    # R3.4, R3.6: never recorded is complete; false leaves the work running.
    "query": (
        (
            (
                ("query_event", 0, (), (("write", "p0", 9),)),
                ("launch", 0, (), (("p0", 1),)),
                ("record", 0, 0),
                ("query_event", 0, (("read", "p0", 1),), (("read", "p0", None),)),
            ),
        ),
        ({"p0"}, set(), False),
        ({"p0"}, set(), False),
    ),
}


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("number", [0, 1])
def test_known(kit: Any, oracle: Any, name: str, number: int) -> None:
    """The oracle finds what is known, and the engines find what the oracle finds."""
    threads, *expected = KNOWN[name]
    program = kit.programs.Program(threads=threads, **OBJECTS)
    contract = kit.engines.CONTRACTS[number]
    found = oracle.Interleaver(program, contract.name)
    assert (found.races, found.wrongs, found.deadlock) == expected[number]
    machine, order, _walk = kit.compared(program, contract)
    assert (machine.races, machine.deadlock) == (found.races, found.deadlock)
    assert machine.wrongs == found.wrongs
    assert order.plain() == machine.plain()
