"""Public bugs, section A: a staging buffer is filled again before the device has read it.

Each bug is reduced to the calls that matter, in its broken form and mended; where the bug's own
history has several forms, each stands here. See also `corpus_a_reuse`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol
from .host_cache import HostCache

if TYPE_CHECKING:
    from ..gpu import Gpu


@protocol(
    "corpus/C01-mask-staging/one-buffer", expects={"cuda": "REFUTED", "hip": "REFUTED"}, ahead=1
)
def mask_one_buffer(gpu: Gpu, ahead: int) -> None:
    """One pinned buffer for every step's mask, and a host that runs one step ahead.

    vLLM under sustained multimodal load (PR #31841): once async scheduling was on, the next step's
    mask was written into the buffer that the previous step's copy had still to read, and the
    engine died now and then.
    """
    stream = gpu.stream("compute")
    host, mask = gpu.pinned("host_mask"), gpu.device("mask")
    outputs = [gpu.event(f"output{i}") for i in range(ahead + 1)]
    for n in gpu.steps():
        outputs[n % (ahead + 1)].synchronize()
        gpu.write(host, n)
        gpu.memcpy_async(mask, host, stream)
        gpu.launch("embed", stream, reads={mask: n})
        outputs[n % (ahead + 1)].record(stream)


@protocol(
    "corpus/C01-mask-staging/two-buffers", expects={"cuda": "PROVED", "hip": "PROVED"}, ahead=1
)
def mask_two_buffers(gpu: Gpu, ahead: int) -> None:
    """Two pinned buffers in turn suffice while the host runs at most one step ahead.

    The mend of vLLM PR #31841. No event guards the buffers: they are safe because the output of
    step n - 2 is awaited before step n is prepared, which a scheduler promises and the staging
    code does not say.
    """
    stream = gpu.stream("compute")
    host, mask = [gpu.pinned(f"host_mask{i}") for i in range(2)], gpu.device("mask")
    outputs = [gpu.event(f"output{i}") for i in range(ahead + 1)]
    for n in gpu.steps():
        outputs[n % (ahead + 1)].synchronize()
        gpu.write(host[n % 2], n)
        gpu.memcpy_async(mask, host[n % 2], stream)
        gpu.launch("embed", stream, reads={mask: n})
        outputs[n % (ahead + 1)].record(stream)


@protocol(
    "corpus/C01-mask-staging/two-buffers-two-ahead",
    expects={"cuda": "REFUTED", "hip": "REFUTED"},
    ahead=2,
)
def mask_two_ahead(gpu: Gpu, ahead: int) -> None:
    """Two pinned buffers in turn under a host that runs two steps ahead: broken again.

    What the mend of vLLM PR #31841 would meet under a scheduler that prepares one more step in
    advance: the number of buffers and the bound on the host are one decision, taken in two
    places.
    """
    stream = gpu.stream("compute")
    host, mask = [gpu.pinned(f"host_mask{i}") for i in range(2)], gpu.device("mask")
    outputs = [gpu.event(f"output{i}") for i in range(ahead + 1)]
    for n in gpu.steps():
        outputs[n % (ahead + 1)].synchronize()
        gpu.write(host[n % 2], n)
        gpu.memcpy_async(mask, host[n % 2], stream)
        gpu.launch("embed", stream, reads={mask: n})
        outputs[n % (ahead + 1)].record(stream)


@protocol("corpus/C02-idle-rank/dummy-step", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def idle_rank_dummy_step(gpu: Gpu) -> None:
    """An idle rank's dummy step fills the shared inputs but leaves their event alone.

    vLLM with data parallelism, full graphs and async scheduling (PR #34866): real steps await and
    record an event around the pinned inputs, dummy steps did neither, so that the next step waited
    for a record long done. It showed as an illegal address, or as a hang of all ranks.
    """
    stream = gpu.stream("compute")
    host, inputs = gpu.pinned("host_inputs"), gpu.device("inputs")
    copied = gpu.event("copied")
    for n in gpu.steps():
        step = gpu.choose("real", "dummy")
        if step == "real":
            copied.synchronize()
        gpu.write(host, n)
        gpu.memcpy_async(inputs, host, stream)
        if step == "real":
            copied.record(stream)
        gpu.launch("forward", stream, reads={inputs: n})


@protocol("corpus/C02-idle-rank/dummy-step-joins", expects={"cuda": "PROVED", "hip": "PROVED"})
def idle_rank_dummy_step_joins(gpu: Gpu) -> None:
    """The dummy step awaits and records the inputs' event as a real step does.

    The mend of vLLM PR #34866, and of #54269 for its second model runner: whoever fills a shared
    buffer takes part in its protocol, whatever the step is for.
    """
    stream = gpu.stream("compute")
    host, inputs = gpu.pinned("host_inputs"), gpu.device("inputs")
    copied = gpu.event("copied")
    for n in gpu.steps():
        step = gpu.choose("real", "dummy")
        copied.synchronize()
        gpu.write(host, n)
        gpu.memcpy_async(inputs, host, stream)
        copied.record(stream)
        gpu.launch(step, stream, reads={inputs: n})


@protocol("corpus/C04-page-table/one-buffer", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def page_table_one_buffer(gpu: Gpu) -> None:
    """The page table is copied from one pinned buffer, behind a wait for the offload stream.

    TensorRT-LLM with the overlap scheduler (PR #15546): the table was rewritten in place each
    iteration while its copy sat behind a transfer of KV blocks, which could take as long as it
    liked. Memory was corrupted, far more often with offloading on.
    """
    stream, offload = gpu.stream("compute"), gpu.stream("offload")
    host, table = gpu.pinned("host_table"), gpu.device("table")
    offloaded = gpu.event("offloaded")
    for n in gpu.steps():
        gpu.launch("offload", offload)
        offloaded.record(offload)
        gpu.write(host, n)
        stream.wait(offloaded)
        gpu.memcpy_async(table, host, stream)
        gpu.launch("attention", stream, reads={table: n})


@protocol("corpus/C04-page-table/event-wait", expects={"cuda": "PROVED", "hip": "PROVED"})
def page_table_event_wait(gpu: Gpu) -> None:
    """The page table's buffer is filled again once the previous copy's event is done.

    The way of TensorRT-LLM PR #14128, an earlier case of the same fault: right, but the host then
    waits for the transfers in front of the copy, which is what the overlap scheduler was to
    avoid.
    """
    stream, offload = gpu.stream("compute"), gpu.stream("offload")
    host, table = gpu.pinned("host_table"), gpu.device("table")
    offloaded, copied = gpu.event("offloaded"), gpu.event("copied")
    for n in gpu.steps():
        gpu.launch("offload", offload)
        offloaded.record(offload)
        copied.synchronize()
        gpu.write(host, n)
        stream.wait(offloaded)
        gpu.memcpy_async(table, host, stream)
        copied.record(stream)
        gpu.launch("attention", stream, reads={table: n})


@protocol(
    "corpus/C04-page-table/fresh-buffers", expects={"cuda": "HOLDS", "hip": "HOLDS"}, buffers=2
)
def page_table_fresh_buffers(gpu: Gpu, buffers: int) -> None:
    """Each page table gets a pinned buffer from a cache that asks the copies' events.

    The mend of TensorRT-LLM PR #15546: while the cache may make one more buffer, the host does not
    wait. It is as right as the cache is: a buffer may come back only after the event that follows
    its copy.
    """
    stream, offload = gpu.stream("compute"), gpu.stream("offload")
    cache, table = HostCache(gpu, "host_table", buffers), gpu.device("table")
    offloaded = gpu.event("offloaded")
    for n in gpu.steps():
        gpu.launch("offload", offload)
        offloaded.record(offload)
        host, read = cache.take()
        gpu.write(host, n)
        stream.wait(offloaded)
        gpu.memcpy_async(table, host, stream)
        cache.give_back(host, read, stream)
        gpu.launch("attention", stream, reads={table: n})
