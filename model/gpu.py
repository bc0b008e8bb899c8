"""The stream API: what a protocol is written against.

Names are the CUDA runtime's. Every method checks its arguments, turns itself into a *call* (see
`calls`), and hands it to the *reading* in charge: the order engine, the explicit-state machine, a
simulation or a real GPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .host_calls import HostCalls
from .memory_calls import MemoryCalls
from .objects import unknown_call
from .stream_calls import StreamCalls


class Gpu(HostCalls, MemoryCalls, StreamCalls):
    """The device and its runtime as a protocol sees them. The checker makes it, never the user.

    - `host_calls`: `steps`, `choose`, `read`, `write`, threads, locks, queues, `sync_allowed`;
    - `memory_calls`: buffers, copies, fills, allocation;
    - `stream_calls`: streams, events, kernels, graphs, cells, agents, `synchronize`, `concurrent`.
    """

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise unknown_call(type(self), "gpu", name)
