"""Corpus J: KV-cache blocks freed and given to someone else while launched work still uses them.

The new owner's data may come from outside every stream (a NIC) or on another stream: then "in order
on the compute stream" orders nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol

if TYPE_CHECKING:
    from ..gpu import Gpu


# --- C54: a block freed while a launched step still writes it -----------------------------------


@protocol("corpus/C54-late-output/freed-at-once", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def block_freed_at_once(gpu: Gpu) -> None:
    """A request ends, its block goes to another at once, and a launched step still writes it.

    vLLM PR #45357, asynchronous scheduling with remote KV transfer: the newest step, launched
    before the end was known, wrote its stale token over what the NIC had delivered to the new
    owner.
    """
    compute, nic = gpu.stream("compute"), gpu.agent("nic")
    block = gpu.malloc("block")
    gpu.launch("forward", compute, writes={block: "first request"})
    # The output of the step before says that the first request has ended.
    reused = gpu.malloc("reused_block", of=block)
    nic.write(reused, "second request").synchronize()
    gpu.launch("next_forward", compute, reads={reused: "second request"})


@protocol("corpus/C54-late-output/freed-by-step", expects={"cuda": "PROVED", "hip": "PROVED"})
def block_freed_by_step(gpu: Gpu) -> None:
    """The block is free once the newest step that contained its request has been processed.

    The mend, vLLM PR #45357: the request is forgotten at once, its blocks wait for the output of
    the last step that was launched with it.
    """
    compute, nic = gpu.stream("compute"), gpu.agent("nic")
    block, done = gpu.malloc("block"), gpu.event("done")
    gpu.launch("forward", compute, writes={block: "first request"})
    done.record(compute)
    with gpu.sync_allowed("every step's output is processed"):
        done.synchronize()
    reused = gpu.malloc("reused_block", of=block)
    nic.write(reused, "second request").synchronize()
    gpu.launch("next_forward", compute, reads={reused: "second request"})


@protocol("corpus/C54-late-output/filled-in-order", expects={"cuda": "PROVED", "hip": "PROVED"})
def block_filled_in_order(gpu: Gpu) -> None:
    """Freed at once, and the new owner's data comes from the compute stream: in order.

    The control for vLLM PR #45357, and why the early free was right for years: without remote
    transfers, whoever fills a block runs on the one stream.
    """
    compute = gpu.stream("compute")
    block = gpu.malloc("block")
    gpu.launch("forward", compute, writes={block: "first request"})
    reused = gpu.malloc("reused_block", of=block)
    gpu.launch("prefill", compute, writes={reused: "second request"})
    gpu.launch("next_forward", compute, reads={reused: "second request"})


def allocate_until_free(gpu: Gpu, *, process_first: bool) -> None:
    """Preempt a request for its block, whose free waits for the output of the step in flight."""
    compute = gpu.stream("compute")
    free_blocks, done = gpu.queue(name="free_blocks"), gpu.event("done")
    block = gpu.malloc("block")
    gpu.launch("forward", compute, writes={block: "preempted request"})
    done.record(compute)
    if process_first:
        done.synchronize()
        free_blocks.put(block)
    reused = free_blocks.get()  # preempts until there is a free block
    gpu.launch("next_forward", compute, writes={reused: "running request"})
    if not process_first:
        done.synchronize()
        free_blocks.put(block)


@protocol("corpus/C54-late-output/retry-for-ever", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def retry_for_ever(gpu: Gpu) -> None:
    """The allocator preempts until a block is free, and none becomes free while it tries.

    vLLM issue #49674, the price of PR #45357: preempting freed blocks at once and no longer does,
    so the loop preempted the whole queue. Written as a wait for a free block, on the thread that
    would have to free it.
    """
    allocate_until_free(gpu, process_first=False)


@protocol("corpus/C54-late-output/retry-after-output", expects={"cuda": "HOLDS", "hip": "HOLDS"})
def retry_after_output(gpu: Gpu) -> None:
    """The output of the step in flight is processed first: the block is there.

    What vLLM issue #49674 asks for in one form or another: the allocation waits for the deferred
    frees instead of preempting more.
    """
    allocate_until_free(gpu, process_first=True)


# --- C56: a zeroing kernel behind a long step ---------------------------------------------------


@protocol("corpus/C56-late-zeros/zeroed-for-a-load", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def zeroed_for_a_load(gpu: Gpu) -> None:
    """A new block is zeroed behind a long step, after the NIC has filled it: zeros win.

    vLLM PR #48481: the zeroing kernel queues on the compute stream, the transfer is ordered with
    nothing, and the request then reads zeros instead of its KV data.
    """
    compute, nic = gpu.stream("compute"), gpu.agent("nic")
    block = gpu.malloc("block")
    gpu.launch("forward", compute)
    gpu.launch("zero", compute, writes={block: "zeros"})
    nic.write(block, "loaded").synchronize()
    gpu.launch("next_forward", compute, reads={block: "loaded"})


@protocol("corpus/C56-late-zeros/left-out", expects={"cuda": "PROVED", "hip": "PROVED"})
def zeroing_left_out(gpu: Gpu) -> None:
    """Blocks that a load will fill are not zeroed: right, as far as one step goes.

    The first mend, vLLM PR #48481: the scheduler leaves these blocks out of the list to be zeroed.
    """
    compute, nic = gpu.stream("compute"), gpu.agent("nic")
    block = gpu.malloc("block")
    gpu.launch("forward", compute)
    nic.write(block, "loaded").synchronize()
    gpu.launch("next_forward", compute, reads={block: "loaded"})


@protocol("corpus/C56-late-zeros/left-out-too-late", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def zeroing_left_out_too_late(gpu: Gpu) -> None:
    """The block is zeroed for an earlier owner, in a step already sent: no taking that back.

    Why vLLM PR #50696 had to follow #48481: the block changed hands once more before the zeroing
    ran. The second owner's load is left out of its own step's list, to no avail.
    """
    compute, nic = gpu.stream("compute"), gpu.agent("nic")
    block = gpu.malloc("block")
    gpu.launch("forward", compute)
    gpu.launch("zero", compute, writes={block: "zeros"})
    reused = gpu.malloc("reused_block", of=block)  # the first owner was preempted
    nic.write(reused, "loaded").synchronize()
    gpu.launch("next_forward", compute, reads={reused: "loaded"})


@protocol("corpus/C56-late-zeros/load-waits", expects={"cuda": "PROVED", "hip": "PROVED"})
def load_waits(gpu: Gpu) -> None:
    """A load on a stream waits for the compute stream: zeros first, then the data.

    The second mend, vLLM PR #50696: possible for loads by a copy engine, which have a stream that
    can wait; a NIC has none.
    """
    compute, loads = gpu.stream("compute"), gpu.stream("loads")
    block, host = gpu.malloc("block"), gpu.pinned("host_block")
    sent, loaded = gpu.event("sent"), gpu.event("loaded")
    gpu.write(host, "loaded")
    gpu.launch("forward", compute)
    gpu.launch("zero", compute, writes={block: "zeros"})
    reused = gpu.malloc("reused_block", of=block)
    sent.record(compute)
    loads.wait(sent)
    gpu.memcpy_async(reused, host, loads)
    loaded.record(loads)
    compute.wait(loaded)
    gpu.launch("next_forward", compute, reads={reused: "loaded"})
