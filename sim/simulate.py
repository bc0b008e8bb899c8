"""A timed run of any protocol on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model.errors import StreamorderError
from ..model.trace import described
from . import timed
from .costs import DeviceClock, DeviceCosts
from .draws import Draws
from .timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..model.protocol import Protocol
    from .device import Device
    from .gpu import SimGpu


class Hung(StreamorderError):
    """A run in which something waits for ever: what, and where. It happened, so it is no pass."""

    exit_code = 1


def simulate(
    protocol: Protocol,
    device: Device,
    *,
    steps: int = 32,
    seed: int = 1,
    sizes: Mapping[str, int] | None = None,
    trace: bool = False,
    **parameters: Any,
) -> Timeline:
    """Run a protocol once with the costs of a device; what happened when.

    Args:
        protocol: the protocol.
        device: a device file (`device.load_device`).
        steps: how often its step loop runs.
        seed: of everything that is drawn: durations, choices, shared queues.
        sizes: bytes of regions by name; others have what the protocol says.
        trace: keep every happening in `Timeline.trace`, for the machine to follow.
        parameters: the protocol's own.

    Raises:
        BadInput: the protocol or an argument is wrong.
        NotModelled: a call that the device's contract does not model.
        Hung: the protocol waits for ever.
    """
    timeline = Timeline()

    def clock() -> DeviceClock:
        nonlocal timeline
        timeline, costs = Timeline(), DeviceCosts(device, Draws(seed), sizes)
        made = DeviceClock(costs, timeline, trace=trace, hazards=True)
        timeline.env = made.env
        return made

    body = protocol.bind(parameters)
    sim = timed.simulate(body, steps, device.contract, clock)
    if isinstance(sim.clock, timed.Timed):
        timeline.trace = sim.clock.trace
    refuse_hang(sim, protocol.name)
    return timeline


def refuse_hang(sim: SimGpu, name: str) -> None:
    """Raise `Hung` where a run ended though a thread or an operation still waits."""
    for cursor in sim.blocked:
        words = described(cursor.call) if cursor.call else "nothing"
        raise Hung(f"{name} hangs: the host waits for ever in {words} ({cursor.where})")
    for op in sim.pending:
        raise Hung(f"{name} hangs: {op.stream} waits for ever in {op.label} ({op.where})")
