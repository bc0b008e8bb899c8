"""The runtime's own library, through ctypes: the calls that torch does not offer as they are.

The library is the one that torch has loaded, so that streams and memory are shared with it. A call
that fails raises `DeviceFault` with the runtime's own words.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from ..model.errors import CannotRunHere, StreamorderError

MAPS = Path("/proc/self/maps")

HIP_NAMES = {
    "HostAlloc": "hipHostMalloc",
    "FreeHost": "hipHostFree",
    "GraphInstantiate": "hipGraphInstantiateWithFlags",
    "StreamBeginCapture": "hipStreamBeginCapture",
}
"""Where HIP's name is not CUDA's with another prefix."""

HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT = range(5)
"""The runtimes' `memcpy` kinds, the same numbers for both vendors."""

NON_BLOCKING = 1
RELAXED_CAPTURE = 2
MANAGED_GLOBAL = 1
EXTERNAL = 1
ALREADY_ENABLED = 704
"""`cudaErrorPeerAccessAlreadyEnabled`, the same number for both vendors."""

HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class DeviceFault(StreamorderError):
    """A call of the runtime failed: its name and the runtime's words."""

    exit_code = 1


class RuntimeLibrary:
    """CUDA's or HIP's runtime, as torch has loaded it.

    `hip` says which. Every method is a call of that runtime; names are CUDA's without the prefix.
    """

    def __init__(self, hip: bool) -> None:
        self.hip = hip
        self.library = ctypes.CDLL(loaded("libamdhip64" if hip else "libcudart"))
        self.prefix = "hip" if hip else "cuda"
        text = getattr(self.library, f"{self.prefix}GetErrorString")
        text.restype = ctypes.c_char_p
        self._text = text

    def call(self, name: str, *arguments: Any) -> None:
        """Make a call; raises `DeviceFault` when it fails."""
        status = self.status(name, *arguments)
        if status:
            raise DeviceFault(f"{self.prefix}{name}: {self._text(status).decode()}")

    def status(self, name: str, *arguments: Any) -> int:
        """Make a call and return its error code."""
        full = HIP_NAMES.get(name, f"hip{name}") if self.hip else f"cuda{name}"
        return int(getattr(self.library, full)(*arguments))

    def last_error(self) -> int:
        """The last error, which is forgotten."""
        return self.status("GetLastError")

    # --- memory ---

    def allocated(self, name: str, nbytes: int, *flags: Any) -> int:
        """The address that an allocating call returns."""
        at = ctypes.c_void_p()
        self.call(name, ctypes.byref(at), ctypes.c_size_t(nbytes), *flags)
        return int(at.value or 0)

    def malloc(self, nbytes: int) -> int:
        """Device memory."""
        return self.allocated("Malloc", nbytes)

    def malloc_managed(self, nbytes: int) -> int:
        """Managed memory, for every stream."""
        return self.allocated("MallocManaged", nbytes, ctypes.c_uint(MANAGED_GLOBAL))

    def host_alloc(self, nbytes: int) -> int:
        """Page-locked host memory."""
        return self.allocated("HostAlloc", nbytes, ctypes.c_uint(0))

    def malloc_async(self, nbytes: int, stream: int) -> int:
        """Device memory in stream order."""
        return self.allocated("MallocAsync", nbytes, ctypes.c_void_p(stream))

    def free(self, address: int) -> None:
        """Free device memory."""
        self.call("Free", ctypes.c_void_p(address))

    def free_async(self, address: int, stream: int) -> None:
        """Free device memory in stream order."""
        self.call("FreeAsync", ctypes.c_void_p(address), ctypes.c_void_p(stream))

    def memcpy(self, dst: int, src: int, nbytes: int, kind: int) -> None:
        """The blocking copy, without a stream."""
        self.call(
            "Memcpy", ctypes.c_void_p(dst), ctypes.c_void_p(src), ctypes.c_size_t(nbytes), kind
        )

    def memcpy_async(self, dst: int, src: int, nbytes: int, kind: int, stream: int) -> None:
        """A copy on a stream."""
        to, fro, size = ctypes.c_void_p(dst), ctypes.c_void_p(src), ctypes.c_size_t(nbytes)
        self.call("MemcpyAsync", to, fro, size, kind, ctypes.c_void_p(stream))

    def memset(self, address: int, byte: int, nbytes: int) -> None:
        """The fill without a stream."""
        self.call("Memset", ctypes.c_void_p(address), byte, ctypes.c_size_t(nbytes))

    def memset_async(self, address: int, byte: int, nbytes: int, stream: int) -> None:
        """A fill on a stream."""
        size = ctypes.c_size_t(nbytes)
        self.call("MemsetAsync", ctypes.c_void_p(address), byte, size, ctypes.c_void_p(stream))

    def enable_peer_access(self, device: int) -> None:
        """Let the current device reach another one's memory; once is enough."""
        status = self.status("DeviceEnablePeerAccess", device, ctypes.c_uint(0))
        if status == ALREADY_ENABLED:
            self.last_error()
        elif status:
            raise DeviceFault(f"{self.prefix}DeviceEnablePeerAccess: {self._text(status).decode()}")

    # --- streams ---

    def stream(self, blocking: bool) -> int:
        """A stream of its own, blocking or not."""
        made = ctypes.c_void_p()
        flags = ctypes.c_uint(0 if blocking else NON_BLOCKING)
        self.call("StreamCreateWithFlags", ctypes.byref(made), flags)
        return int(made.value or 0)

    def destroy_stream(self, stream: int) -> None:
        """Destroy a stream."""
        self.call("StreamDestroy", ctypes.c_void_p(stream))

    def launch_host_func(self, stream: int, function: Any) -> None:
        """Run a host function (a `HOST_FUNCTION`, kept alive by the caller) in stream order."""
        self.call("LaunchHostFunc", ctypes.c_void_p(stream), function, None)

    # --- graphs ---

    def begin_capture(self, stream: int) -> None:
        """Capture a stream; calls that are unsafe in a capture are not looked for."""
        self.call("StreamBeginCapture", ctypes.c_void_p(stream), RELAXED_CAPTURE)

    def end_capture(self, stream: int) -> int:
        """End a capture and return an executable graph."""
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("StreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(graph))
        self.call("GraphInstantiate", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
        self.call("GraphDestroy", graph)
        return int(executable.value or 0)

    def graph_launch(self, executable: int, stream: int) -> None:
        """Replay an executable graph."""
        self.call("GraphLaunch", ctypes.c_void_p(executable), ctypes.c_void_p(stream))

    def graph_destroy(self, executable: int) -> None:
        """Destroy an executable graph."""
        self.call("GraphExecDestroy", ctypes.c_void_p(executable))

    # --- what is here ---

    def version(self, which: str) -> int:
        """The version of the `Driver` or the `Runtime`."""
        found = ctypes.c_int()
        self.call(f"{which}GetVersion", ctypes.byref(found))
        return found.value


class OwnEvent:
    """An event of the runtime, which nodes of a graph may record and wait for (R3.9)."""

    def __init__(self, library: RuntimeLibrary) -> None:
        self.library = library
        made = ctypes.c_void_p()
        library.call("EventCreateWithFlags", ctypes.byref(made), ctypes.c_uint(2))
        self.handle = ctypes.c_void_p(made.value)

    def record(self, stream: int, external: bool) -> None:
        """Record it, or in a capture make a node that does."""
        flags = ctypes.c_uint(EXTERNAL if external else 0)
        self.library.call("EventRecordWithFlags", self.handle, ctypes.c_void_p(stream), flags)

    def wait(self, stream: int, external: bool) -> None:
        """Let a stream wait for it, or in a capture make a node that does."""
        flags = ctypes.c_uint(EXTERNAL if external else 0)
        self.library.call("StreamWaitEvent", ctypes.c_void_p(stream), self.handle, flags)

    def synchronize(self) -> None:
        """Block until it is complete."""
        self.library.call("EventSynchronize", self.handle)

    def query(self) -> bool:
        """Whether it is complete."""
        return self.library.status("EventQuery", self.handle) == 0


def loaded(name: str) -> str:
    """The path of a library that this process has loaded; raises `CannotRunHere` without one."""
    lines = MAPS.read_text(encoding="utf-8").splitlines() if MAPS.is_file() else []
    for line in lines:
        path = line.rpartition(" ")[2]
        if name in Path(path).name:
            return path
    raise CannotRunHere(f"torch has not loaded {name}: is this build of torch for another vendor?")


class StreamWords:
    """Waits for words in memory and stores into them, in stream order (R8.2, R8.3).

    CUDA offers them in its driver library, HIP in its runtime.
    """

    def __init__(self, runtime: RuntimeLibrary) -> None:
        self.hip = runtime.hip
        self.library = runtime.library if self.hip else ctypes.CDLL("libcuda.so.1")

    def write(self, stream: int, address: int, value: int) -> None:
        """Store 32 bits."""
        name = "hipStreamWriteValue32" if self.hip else "cuStreamWriteValue32_v2"
        self._call(name, ctypes.c_void_p(stream), ctypes.c_void_p(address), ctypes.c_uint32(value),
                   ctypes.c_uint(0))  # fmt: skip

    def wait(self, stream: int, address: int, value: int) -> None:
        """Hold the stream until the word is at least this."""
        name = "hipStreamWaitValue32" if self.hip else "cuStreamWaitValue32_v2"
        arguments: list[Any] = [ctypes.c_void_p(stream), ctypes.c_void_p(address)]
        arguments += [ctypes.c_uint32(value), ctypes.c_uint(0)]
        if self.hip:
            arguments.append(ctypes.c_uint32(0xFFFFFFFF))
        self._call(name, *arguments)

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.library, name)(*arguments)
        if status:
            raise DeviceFault(f"{name}: error {status}")
