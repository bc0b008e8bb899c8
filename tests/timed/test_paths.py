"""Every timed run is a path of the machine, whatever it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from streamorder.model.catalogue import catalogue
from streamorder.sim.device import load_device
from streamorder.sim.simulate import Hung, simulate

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder.model.protocol import Protocol
    from streamorder.sim.device import Device
    from streamorder.sim.timeline import Timeline

DEVICES = ("mi355x-rocm10", "h200-cuda13")

HANG = {
    "corpus/C54-late-output/retry-for-ever": "the host waits for ever in free_blocks.get()",
    "corpus/C67-hardware-queues/shared": "queue0 waits for ever in wait_value",
    "corpus/C67-hardware-queues/more-streams-than-queues": "queue0 waits for ever in wait_value",
    "corpus/C71-full-launch-queue/shared": "the host waits for ever in proxy.join()",
    "corpus/C72-launch-blocking/on": "the host waits for ever in compute.synchronize()",
    "corpus/C72-launch-blocking/two-devices": "the host waits for ever in compute0.synchronize()",
}
"""Entries that hang with the costs of an MI355X, and where."""


@pytest.mark.parametrize("name", [name for name in catalogue() if name.startswith("fp8-prefill/")])
def test_every_fp8_prefill_goes_a_way_of_the_machine(
    name: str, device: Device, entry: Callable[[str], Protocol], on_a_path: Callable[..., Timeline]
) -> None:
    """On every device, finding the wrong versions that the machine finds on that way."""
    on_a_path(entry(name), device, 3)


@pytest.mark.parametrize("seed", range(3))
def test_every_entry_goes_a_way_of_the_machine(
    seed: int, entry: Callable[[str], Protocol], on_a_path: Callable[..., Timeline]
) -> None:
    """With several host threads, choices, cells, graphs and early launches too."""
    for name in catalogue():
        if name not in HANG:
            on_a_path(entry(name), load_device(DEVICES[seed % 2]), 2, seed=seed)


@pytest.mark.parametrize("name", HANG)
def test_a_run_that_hangs_says_so(name: str, entry: Callable[[str], Protocol]) -> None:
    """It is no result: the exit code is that of a refuted protocol, which the entry states."""
    with pytest.raises(Hung) as hung:
        simulate(entry(name), load_device("mi355x-rocm10"), steps=2)
    assert HANG[name] in str(hung.value)
    assert hung.value.exit_code == 1
    assert "REFUTED" in entry(name).expects.values()
