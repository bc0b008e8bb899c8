"""The runtime of an experiment on a real device: torch's streams and events, CUDA or ROCm.

What torch has no call for (the blocking copy, blocking streams, captures of single calls) is the
runtime's own, through `runtime_library`.
"""

from __future__ import annotations

import ctypes
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ..model.errors import CannotRunHere
from ..model.memory import DEVICE, MANAGED, PINNED
from .runtime import DeviceInfo, Unsupported
from .runtime_library import HOST_FUNCTION, OwnEvent, RuntimeLibrary, StreamWords

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

ATTRIBUTES = {
    "pageable_memory_access": 88,
    "concurrent_managed_access": 89,
    "pageable_memory_access_uses_host_page_tables": 100,
    "async_engine_count": 40,
}
"""`cudaDeviceAttr` numbers of the facts that results are stamped with."""


def require_gpu() -> Any:
    """The torch module; raises `CannotRunHere` with what is missing."""
    try:
        import torch
    except ImportError:
        raise CannotRunHere("torch is not installed: pip install 'streamorder[gpu]'") from None
    if not torch.cuda.is_available():
        backend = "ROCm" if torch.version.hip else "CUDA"
        if not (torch.version.hip or torch.version.cuda):
            raise CannotRunHere("no GPU: this torch is a build for the CPU alone")
        raise CannotRunHere(f"no GPU: torch finds no {backend} device here")
    try:
        import triton  # noqa: F401
    except ImportError:
        raise CannotRunHere("triton is not installed: pip install 'streamorder[gpu]'") from None
    return torch


class TorchRuntime:
    """The first device that torch sees; others once they are asked for."""

    def __init__(self) -> None:
        self.torch = torch = require_gpu()
        self.hip = bool(torch.version.hip)
        torch.cuda.init()
        torch.cuda.current_stream()
        self.library = RuntimeLibrary(self.hip)
        self.words = StreamWords(self.library)
        self.null = torch.cuda.default_stream(0)
        self.per_thread = torch.cuda.ExternalStream(2)
        self.kept: list[Any] = []
        self.kernels: dict[tuple[str, bool, int], Any] = {}
        self.info = self._info()
        self.devices: set[int] = set()
        self.use(0)

    def _info(self) -> DeviceInfo:
        import triton

        torch = self.torch
        attributes = {}
        for name, number in ATTRIBUTES.items():
            if not self.hip:
                found = ctypes.c_int()
                if not self.library.status("DeviceGetAttribute", ctypes.byref(found), number, 0):
                    attributes[name] = found.value
        version = torch.version.hip or torch.version.cuda
        return DeviceInfo(
            backend="hip" if self.hip else "cuda",
            device=torch.cuda.get_device_name(0),
            driver=driver_version() or str(self.library.version("Driver")),
            runtime=f"{version} ({self.library.version('Runtime')})",
            torch=torch.__version__,
            triton=triton.__version__,
            attributes=attributes,
        )

    def use(self, device: int) -> None:
        """Make a device ready: its memory within reach of the others, every kernel loaded. Raises
        `Unsupported` where there is none.
        """
        if device in self.devices:
            return
        cuda = self.torch.cuda
        if device >= cuda.device_count():
            raise Unsupported("a second device")
        for other in self.devices:
            if not (cuda.can_device_access_peer(device, other)
                    and cuda.can_device_access_peer(other, device)):  # fmt: skip
                raise Unsupported("two devices within reach of one another's memory")
            for one, reached in ((device, other), (other, device)):
                with cuda.device(one):
                    self.library.enable_peer_access(reached)
        with cuda.device(device):
            self._compile(device)
        self.devices.add(device)

    def on(self, stream: Any) -> AbstractContextManager[Any]:
        """A context in which a stream's device is the current one, as launches require."""
        number = stream.device_index
        return self.torch.cuda.device(number) if number else nullcontext()

    def _compile(self, device: int) -> None:
        """Compile and load every kernel before anything waits at a gate."""
        from . import touch
        from .rows import ROW_WORDS, encoded

        torch = self.torch
        row = torch.zeros(ROW_WORDS, dtype=torch.int64).pin_memory()
        words = torch.zeros(4096, dtype=torch.int32, device="cuda")
        gate = torch.ones(16, dtype=torch.int32).fill_(1 << 30).pin_memory()
        fields = {
            "open": gate.data_ptr(), "gates": words.data_ptr(), "count": words.data_ptr() + 16,
            "limit": 10**6, "delay": 0, "done": words.data_ptr() + 32,
            "late": words.data_ptr() + 48, "report": words.data_ptr() + 256,
            "words": 16, "stride": 4,
        }  # fmt: skip
        data = encoded(fields, [words.data_ptr() + 8192], [(words.data_ptr() + 12288, 1, 0)])
        ctypes.memmove(row.data_ptr(), data, len(data))
        variants = [("touch", False), ("gate", False)]
        if not self.hip and torch.cuda.get_device_capability(0)[0] >= 9:
            variants += [("early_touch", False), ("early_touch", True), ("waiting_touch", True)]
        for name, early in variants:
            settings = {"launch_pdl": True} if early else {}
            made = getattr(touch, name)[(1,)](row, num_warps=8, **settings)
            self.kernels[name, early, device] = made[(1, 1, 1)]
        torch.cuda.synchronize()
        for name, early in variants:
            self.launch(name, row.data_ptr(), torch.cuda.default_stream(device), early)
        torch.cuda.synchronize()
        self.kept.append((row, words, gate))

    # --- streams and events ---

    def null_of(self, device: int) -> Any:
        """The NULL stream of a device."""
        self.use(device)
        return self.torch.cuda.default_stream(device)

    def stream(self, blocking: bool, own: bool = False, device: int = 0) -> Any:
        """A torch stream; a blocking one, or one to be destroyed, is the runtime's, wrapped."""
        self.use(device)
        if blocking or own:
            with self.torch.cuda.device(device):
                made = self.library.stream(blocking)
            return self.torch.cuda.ExternalStream(made, device)
        return self.torch.cuda.Stream(device)

    def destroy_stream(self, stream: Any) -> None:
        """Destroy a stream made with `own`."""
        self.library.destroy_stream(stream.cuda_stream)

    def stream_synchronize(self, stream: Any) -> None:
        """Block until a stream is idle."""
        stream.synchronize()

    def stream_query(self, stream: Any) -> bool:
        """Whether a stream is idle."""
        return stream.query()

    def synchronize(self, device: int = 0) -> None:
        """Block until a device is idle."""
        self.torch.cuda.synchronize(device)

    def event(self, external: bool = False) -> Any:
        """A torch event; for a graph's nodes one of the runtime's own."""
        return OwnEvent(self.library) if external else self.torch.cuda.Event()

    def record(self, event: Any, stream: Any, external: bool = False) -> None:
        """Record an event."""
        if isinstance(event, OwnEvent):
            event.record(stream.cuda_stream, external)
        else:
            event.record(stream)

    def wait(self, stream: Any, event: Any, external: bool = False) -> None:
        """Let a stream wait for an event."""
        if isinstance(event, OwnEvent):
            event.wait(stream.cuda_stream, external)
        else:
            stream.wait_event(event)

    def event_synchronize(self, event: Any) -> None:
        """Block until an event is complete."""
        event.synchronize()

    def event_query(self, event: Any) -> bool:
        """Whether an event is complete."""
        return event.query()

    # --- memory ---

    def allocate(self, kind: str, nbytes: int, device: int = 0) -> int:
        """Memory for the whole process."""
        if kind == DEVICE:
            self.use(device)
            with self.torch.cuda.device(device):
                return self.library.malloc(nbytes)
        if kind == PINNED:
            return self.library.host_alloc(nbytes)
        if kind == MANAGED:
            if not self.hip and not self.info.attributes.get("concurrent_managed_access"):
                raise Unsupported("the host may not touch managed memory while this device works")
            return self.library.malloc_managed(nbytes)
        memory = ctypes.create_string_buffer(nbytes + 4096)
        self.kept.append(memory)
        return (ctypes.addressof(memory) + 4095) & ~4095

    def free(self, address: int) -> None:
        """Free plain device memory."""
        self.library.free(address)

    def malloc_async(self, nbytes: int, stream: Any) -> int:
        """Device memory in stream order."""
        return self.library.malloc_async(nbytes, stream.cuda_stream)

    def free_async(self, address: int, stream: Any) -> None:
        """Free device memory in stream order."""
        self.library.free_async(address, stream.cuda_stream)

    def memcpy(self, dst: int, src: int, nbytes: int, kind: int) -> None:
        """The blocking copy without a stream."""
        self.library.memcpy(dst, src, nbytes, kind)

    def memcpy_async(self, dst: int, src: int, nbytes: int, kind: int, stream: Any) -> None:
        """A copy on a stream."""
        with self.on(stream):
            self.library.memcpy_async(dst, src, nbytes, kind, stream.cuda_stream)

    def memset(self, address: int, byte: int, nbytes: int) -> None:
        """The fill without a stream."""
        self.library.memset(address, byte, nbytes)

    def memset_async(self, address: int, byte: int, nbytes: int, stream: Any) -> None:
        """A fill on a stream."""
        with self.on(stream):
            self.library.memset_async(address, byte, nbytes, stream.cuda_stream)

    # --- work ---

    def launch(self, kernel: str, row: int, stream: Any, early: bool = False) -> None:
        """Launch a kernel of `touch`, compiled before."""
        made = self.kernels.get((kernel, early, stream.device_index))
        if made is None:
            raise Unsupported("this device has no early launches")
        with self.on(stream):
            made(row, stream=stream.cuda_stream)

    def host_func(self, stream: Any, function: Callable[[], None]) -> None:
        """Run a host function in stream order."""
        made = HOST_FUNCTION(lambda _data: function())
        self.kept.append(made)
        self.library.launch_host_func(stream.cuda_stream, made)

    def begin_capture(self, stream: Any) -> None:
        """Capture a stream."""
        self.library.begin_capture(stream.cuda_stream)

    def end_capture(self, stream: Any) -> Any:
        """An executable graph."""
        return self.library.end_capture(stream.cuda_stream)

    def graph_launch(self, graph: Any, stream: Any) -> None:
        """Replay a graph."""
        self.library.graph_launch(graph, stream.cuda_stream)

    def write_value(self, stream: Any, address: int, value: int) -> None:
        """Store a word in stream order."""
        with self.on(stream):
            self.words.write(stream.cuda_stream, address, value)

    def wait_value(self, stream: Any, address: int, value: int) -> None:
        """Hold a stream until a word is at least this."""
        with self.on(stream):
            self.words.wait(stream.cuda_stream, address, value)


def driver_version() -> str | None:
    """The version of the kernel driver; None where its file is not there."""
    from pathlib import Path

    for path in ("/sys/module/nvidia/version", "/sys/module/amdgpu/version"):
        if Path(path).is_file():
            return Path(path).read_text(encoding="utf-8").strip()
    return None
