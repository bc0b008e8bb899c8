"""MLA decode on AITER: the metadata of its persistent kernels, their graph, a step's output.

`get_mla_metadata_v1` fills six buffers that the builder owns; the decode kernel and the reduce
kernel of every layer read them, usually from a captured graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..gpu import Gpu
    from ..memory import Buffer
    from ..objects import Graph, Stream

DECODE = ("work_metadata", "work_indptr", "work_info")
"""What the decode kernel reads: the addresses of the other two, and these."""

REDUCE = ("reduce_indptr", "reduce_final_map", "reduce_partial_map")
"""What the reduce kernel reads."""

PARTS = DECODE + REDUCE
"""The six buffers that `get_mla_metadata_info_v1` sizes."""

PERSISTENT_HEADS = (16, *range(32, 512 + 1, 16))
"""The head counts for which decode is persistent unless the user says otherwise."""


def is_persistent(heads: int, switch: bool | None = None) -> bool:
    """Whether decode runs the persistent kernels, which read a plan.

    The user's `switch` decides where it is set, else the head count.
    """
    return heads in PERSISTENT_HEADS if switch is None else switch


def capture_decode(gpu: Gpu, stream: Stream, plan: Buffer | None, layers: int) -> Graph:
    """Capture the kernels of every layer; without a plan, those that are not persistent."""
    decode = [plan[part] for part in DECODE] if plan else []
    reduce = [plan[part] for part in REDUCE] if plan else []
    with gpu.capture(stream, "decode_graph") as graph:
        for _ in range(layers):
            gpu.launch("decode", stream, reads=decode)
            gpu.launch("reduce", stream, reads=reduce)
    return graph


class Output:
    """What a step samples, and how the host gets it."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.sampled = gpu.device("output")
        self.tokens = gpu.pinned("tokens")
        self.ready = gpu.event("ready")

    def wait(self, stream: Stream, step: int) -> None:
        """Sample, download, and block the host until the step's tokens are here."""
        gpu = self.gpu
        gpu.launch("sample", stream, writes={self.sampled: step})
        gpu.memcpy_async(self.tokens, self.sampled, stream)
        self.ready.record(stream)
        with gpu.sync_allowed("the next step is scheduled from this step's output"):
            self.ready.synchronize()
        gpu.read(self.tokens, expect=step)
