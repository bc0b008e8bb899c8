"""Devices for timed runs, and the paths that the machine must be able to go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder.model.catalogue import catalogue
from streamorder.sim.conform import accepted
from streamorder.sim.device import device_names, load_device
from streamorder.sim.simulate import simulate

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder.model.protocol import Protocol
    from streamorder.sim.device import Device
    from streamorder.sim.timeline import Timeline


@pytest.fixture(params=device_names())
def device(request: pytest.FixtureRequest) -> Device:
    """Each device that comes with the package."""
    return load_device(request.param)


@pytest.fixture
def entry() -> Callable[[str], Protocol]:
    """A catalogue entry by name."""
    return lambda name: catalogue()[name]


@pytest.fixture
def on_a_path() -> Callable[..., Timeline]:
    """Simulate a protocol, and require that the machine accepts its trace to the end."""

    def run(protocol: Protocol, device: Device, steps: int, **settings: Any) -> Timeline:
        timeline = simulate(protocol, device, steps=steps, trace=True, **settings)
        contract = device.contract.readings()[0]
        assert timeline.trace
        walk = accepted(protocol.bind({}), steps, contract, timeline.trace)
        assert walk.machine.finished(walk.state)
        assert len(walk.wrongs) == timeline.wrongs
        return timeline

    return run
