"""What the host knows does not change when an operation that waited for a cell goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from streamorder import Outcome, check

if TYPE_CHECKING:
    from streamorder import Gpu


def waited_in_between(gpu: Gpu, threads: bool = False, forgets: bool = False) -> None:
    """A wait is issued, the host learns that a kernel is done, lets the wait go on, and writes
    what the kernel has read; unless it `forgets` to ask for the kernel.
    """
    first, second = gpu.stream("first"), gpu.stream("second")
    cell, table = gpu.cell("cell"), gpu.pinned("table")

    def work() -> None:
        gpu.write(table, 1)
        gpu.wait_value(second, cell, 1)
        gpu.launch("kernel", first, reads={table: 1})
        if not forgets:
            first.synchronize()
        cell.set(1)
        gpu.write(table, 2)

    if threads:
        gpu.thread(work).join()
    else:
        work()


@pytest.mark.parametrize("engine", ["order", "machine"])
@pytest.mark.parametrize("contract", ["cuda", "hip"])
@pytest.mark.parametrize("forgets", [False, True])
@pytest.mark.parametrize("threads", [False, True])
def test_the_host_still_knows(threads: bool, forgets: bool, contract: str, engine: str) -> None:
    """The wait was issued before the host knew; that it goes on later takes nothing away."""
    verdict = check(waited_in_between, contract, engine=engine, threads=threads, forgets=forgets)
    assert verdict.outcome is (Outcome.REFUTED if forgets else Outcome.HOLDS)
