"""How often the host waits: the verdict's count, for protocols with and without a step loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from streamorder import Outcome, check

if TYPE_CHECKING:
    from streamorder import Gpu


def no_loop(gpu: Gpu, wait: bool = False, branch: bool = False) -> None:
    """A kernel, and perhaps a wait for it; perhaps after a choice."""
    stream = gpu.stream("s")
    if branch:
        gpu.choose(1, 2)
    gpu.launch("k", stream)
    if wait:
        stream.synchronize()


def idle_wait(gpu: Gpu) -> None:
    """A wait for nothing is none."""
    gpu.stream("s").synchronize()
    gpu.event("never").synchronize()


def loop(gpu: Gpu, before: int = 0, within: int = 0, after: int = 0) -> None:
    """So many waits before, within and after the step loop."""
    stream = gpu.stream("s")

    def waits(count: int) -> None:
        for _ in range(count):
            gpu.launch("k", stream)
            stream.synchronize()

    waits(before)
    for _ in gpu.steps():
        waits(within)
    waits(after)


@pytest.mark.parametrize("contract", ["cuda", "hip"])
@pytest.mark.parametrize("branch", [False, True])
@pytest.mark.parametrize("wait", [False, True])
def test_without_a_step_loop(wait: bool, branch: bool, contract: str) -> None:
    """Exactly the waits there are: 0 or 1, with one host schedule or several."""
    verdict = check(no_loop, contract, wait=wait, branch=branch)
    assert verdict.outcome is Outcome.HOLDS
    assert verdict.waits == int(wait)
    assert verdict.as_data()["host_waits_per_step"] == int(wait)


def test_a_wait_for_nothing_is_not_counted() -> None:
    """Nothing is pending, so the host goes on."""
    assert check(idle_wait).waits == 0


@pytest.mark.parametrize("within", [0, 1, 3])
def test_the_last_step_counts(within: int) -> None:
    """What is waited for before the loop or in an earlier step is not of the last one."""
    assert check(loop, within=within).waits == within
    assert check(loop, before=2, within=within).waits == within


def test_a_refuted_protocol_has_no_count() -> None:
    """What ended early did not come to its last step."""

    def racy(gpu: Gpu) -> None:
        s, t, d = gpu.stream("s"), gpu.stream("t"), gpu.device("d")
        for _ in gpu.steps():
            gpu.launch("k", s, writes={d: 1})
            gpu.launch("l", t, writes={d: 2})
            s.synchronize()

    verdict = check(racy)
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.waits is None
