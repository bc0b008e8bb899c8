"""What an experiment needs of a device: the calls of a runtime, by CUDA's names.

`TorchRuntime` implements it on CUDA and ROCm. Streams, events and graphs are handles of the
implementation's own; memory is addresses.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class Unsupported(Exception):
    """An experiment that this device or runtime cannot carry out: why."""


class Skipped(Unsupported):
    """A run that came to nothing, by no fault of the device: another one may not."""


class DeviceInfo(NamedTuple):
    """What results are stamped with."""

    backend: str
    """`cuda` or `hip`."""
    device: str
    driver: str
    runtime: str
    torch: str
    triton: str
    attributes: dict[str, int]
    """Facts of the device that rules depend on, such as `pageable_memory_access`."""

    def __str__(self) -> str:
        return (
            f"{self.backend}, {self.device}, driver {self.driver}, runtime {self.runtime}, "
            f"torch {self.torch}"
        )


class Runtime(Protocol):
    """A device and its runtime."""

    info: DeviceInfo
    null: Any
    per_thread: Any

    def null_of(self, device: int) -> Any:
        """The NULL stream of a device; raises `Unsupported` where there is no such device."""

    def stream(self, blocking: bool, own: bool = False, device: int = 0) -> Any:
        """A stream of a device; `own`: one that can be destroyed."""

    def destroy_stream(self, stream: Any) -> None:
        """Destroy a stream made with `own`."""

    def stream_synchronize(self, stream: Any) -> None:
        """Block until a stream is idle."""

    def stream_query(self, stream: Any) -> bool:
        """Whether a stream is idle."""
        ...

    def synchronize(self, device: int = 0) -> None:
        """Block until a device is idle."""

    def event(self, external: bool = False) -> Any:
        """An event that was never recorded; `external`: one that a graph's nodes may use."""

    def record(self, event: Any, stream: Any, external: bool = False) -> None:
        """Record an event; `external`: by a node of the graph that is captured."""

    def wait(self, stream: Any, event: Any, external: bool = False) -> None:
        """Let a stream wait for an event, or `external` a node."""

    def event_synchronize(self, event: Any) -> None:
        """Block until an event is complete."""

    def event_query(self, event: Any) -> bool:
        """Whether an event is complete."""
        ...

    def allocate(self, kind: str, nbytes: int, device: int = 0) -> int:
        """Memory of a kind of `model.memory`, for the whole process; a device's own memory is
        within reach of the others.
        """
        ...

    def free(self, address: int) -> None:
        """Free plain device memory."""

    def malloc_async(self, nbytes: int, stream: Any) -> int:
        """Device memory in stream order."""
        ...

    def free_async(self, address: int, stream: Any) -> None:
        """Free device memory in stream order."""

    def memcpy(self, dst: int, src: int, nbytes: int, kind: int) -> None:
        """The blocking copy without a stream."""

    def memcpy_async(self, dst: int, src: int, nbytes: int, kind: int, stream: Any) -> None:
        """A copy on a stream."""

    def memset(self, address: int, byte: int, nbytes: int) -> None:
        """The fill without a stream."""

    def memset_async(self, address: int, byte: int, nbytes: int, stream: Any) -> None:
        """A fill on a stream."""

    def launch(self, kernel: str, row: int, stream: Any, early: bool = False) -> None:
        """Launch a kernel of `touch` with the row at an address."""

    def host_func(self, stream: Any, function: Callable[[], None]) -> None:
        """Run a host function in stream order."""

    def begin_capture(self, stream: Any) -> None:
        """Capture a stream."""

    def end_capture(self, stream: Any) -> Any:
        """An executable graph."""

    def graph_launch(self, graph: Any, stream: Any) -> None:
        """Replay a graph."""

    def write_value(self, stream: Any, address: int, value: int) -> None:
        """Store a word in stream order."""

    def wait_value(self, stream: Any, address: int, value: int) -> None:
        """Hold a stream until a word is at least this."""


def int32_at(address: int) -> ctypes.c_int32:
    """A word of host memory."""
    return ctypes.c_int32.from_address(address)


def fill(address: int, byte: int, nbytes: int) -> None:
    """Fill host memory."""
    ctypes.memset(address, byte, nbytes)


def content(address: int, nbytes: int) -> bytes:
    """A copy of host memory."""
    return ctypes.string_at(address, nbytes)
