"""Costs of a serving run: the device's, the engine's own, and the forward passes'."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .costs import DeviceCosts
from .serving_engine import DECODE, SAMPLE
from .serving_model import features

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .cursors import Cursor
    from .device import Device
    from .draws import Draws
    from .durations import Duration
    from .ops import Op
    from .serving_model import StepModel
    from .serving_scheduler import Batch

FORWARD = frozenset({"prefill", "bf16_prefill"})
"""Kernels of the protocols that stand for a layer of the forward pass."""


class EngineCosts(NamedTuple):
    """What the engine's own work takes of the host, in seconds. Assumed, and fitted to nothing.

    `schedule` a step and prepare its inputs; `process` its output; `turnaround` of a client from
    the last token of an answer to its next prompt at the tokeniser; `tokenise` a token of that;
    `deliver` a token from the engine to its client.
    """

    schedule: float = 2e-3
    process: float = 1e-3
    turnaround: float = 3e-3
    tokenise: float = 1e-6
    deliver: float = 1e-3


class ServingCosts(DeviceCosts):
    """A device's costs; a forward pass takes what the cost model says of its batch.

    Args:
        layers: launches of the protocol's forward kernel that make up one forward pass.
        jitter: multiplies each forward pass: a `Duration` around 1.
    """

    def __init__(
        self,
        device: Device,
        draws: Draws,
        sizes: Mapping[str, int],
        model: StepModel,
        engine: EngineCosts,
        layers: int,
        jitter: Duration | None = None,
    ) -> None:
        few = {"sampled": 4096, "tokens0": 4096, "tokens1": 4096}
        super().__init__(device, draws, {**few, **sizes})
        self.model = model
        self.engine = engine
        self.layers = layers
        self.jitter = jitter
        self.preparing = 0.0
        self.decode_seconds: dict[int, float] = {}
        self.prefill_seconds: dict[int, float] = {}

    def begin(self, batch: Batch, idle: float) -> None:
        """A batch is scheduled; the host was idle for so many seconds before."""
        self.preparing = idle + self.engine.schedule
        seconds = self.model.seconds(features(batch))
        if self.jitter is not None:
            seconds *= self.jitter.at(self.draws.chance("step", batch.number), batch.number)
        if batch.prefill is None:
            self.decode_seconds[batch.number] = seconds
        else:
            self.prefill_seconds[batch.prefill] = seconds

    def end(self, batch: Batch) -> None:
        """A batch is done: forget what it takes."""
        self.decode_seconds.pop(batch.number, None)
        if batch.prefill is not None:
            self.prefill_seconds.pop(batch.prefill, None)

    def call(self, cursor: Cursor) -> float:
        """The engine prepares inputs and processes tokens; the rest is the device file's."""
        call = cursor.call
        assert call is not None
        if call[0] == "write" and call[1][0].buffer.name == "inputs":
            return self.preparing
        if call[0] == "read" and call[1][0][0].buffer.name.startswith("tokens"):
            return self.engine.process
        return super().call(cursor)

    def op(self, op: Op) -> float:
        """A decode step is one kernel, a step that prefills one a layer; the kernels that only
        finish them take no time of their own.
        """
        if op.kernel == DECODE:
            return self.decode_seconds[op.writes[0][1]]
        if op.kernel in FORWARD:
            assert op.step is not None
            return self.prefill_seconds[op.step] / self.layers
        if op.kernel in {"reduce", SAMPLE}:
            return 0.0
        return super().op(op)
