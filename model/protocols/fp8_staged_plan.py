"""The plan of the FP8 prefill behind staged slots, for protocols that are about something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .fp8_plan import PARTS, upload
from .staged_slots import StagedSlots

if TYPE_CHECKING:
    from ..gpu import Gpu
    from ..memory import Buffer
    from ..objects import Stream


class StagedPlan:
    """The plan on the device, the slots that it is planned into, and how a step publishes it."""

    def __init__(self, gpu: Gpu, stream: Stream, slots: int) -> None:
        self.gpu = gpu
        self.stream = stream
        self.device = gpu.device("plan", parts=PARTS)
        self.pinned = [gpu.pinned(f"slot{i}", parts=PARTS) for i in range(slots)]
        copied = [gpu.event(f"copied{i}") for i in range(slots)]
        self.staging = StagedSlots(self.pinned, copied, stream, gpu.sync_allowed)

    def publish(self, step: int) -> None:
        """Plan into the step's slot and copy it on the stream."""
        self.staging.stage(step, self.fill, self.copy)

    def fill(self, slot: Buffer, step: int) -> None:
        """The host planner."""
        self.gpu.write(slot, step)

    def copy(self, slot: Buffer) -> None:
        """Five copies on the stream of the readers."""
        upload(self.gpu, self.device, slot, self.stream)
