"""Corpus G: device allocators. Every event is there, and the allocator does not know of one.

A pool's free is bookkeeping on the host: the next allocation may hand out the address at once, to
work that nothing orders after the last use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import protocol

if TYPE_CHECKING:
    from ..gpu import Gpu


# --- C37: a pool keyed by the stream of allocation ----------------------------------------------


@protocol("corpus/C37-pool-by-stream/freed-at-once", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def freed_at_once(gpu: Gpu) -> None:
    """A tensor of one stream is read on another, freed, and handed out again to the first.

    TensorRT-LLM PR #15265, DeepSpeed PR #7965, torchrec #4231: the consumer did wait for the
    producer, but the pool goes by the stream of allocation, and nothing made the next owner's
    kernel wait for the consumer.
    """
    aux, main = gpu.stream("aux"), gpu.stream("main")
    filled = gpu.event("filled")
    tensor = gpu.malloc("tensor")
    gpu.launch("produce", aux, writes={tensor: 1})
    filled.record(aux)
    main.wait(filled)
    gpu.launch("consume", main, reads={tensor: 1})
    reused = gpu.malloc("next_tensor", of=tensor)
    gpu.launch("produce_next", aux, writes={reused: 2})


@protocol("corpus/C37-pool-by-stream/record-stream", expects={"cuda": "PROVED", "hip": "PROVED"})
def record_stream(gpu: Gpu) -> None:
    """`record_stream`: the address is handed out again once the consumer's event is complete.

    The mend of TensorRT-LLM PR #15265, as torch's allocator does it: an event is recorded on the
    consumer's stream at the free, and until a query finds it complete, memory comes from elsewhere.
    """
    aux, main = gpu.stream("aux"), gpu.stream("main")
    filled, used = gpu.event("filled"), gpu.event("used")
    tensor = gpu.malloc("tensor")
    gpu.launch("produce", aux, writes={tensor: 1})
    filled.record(aux)
    main.wait(filled)
    gpu.launch("consume", main, reads={tensor: 1})
    used.record(main)
    reused = gpu.malloc("next_tensor", of=tensor if used.query() else None)
    gpu.launch("produce_next", aux, writes={reused: 2})


@protocol("corpus/C37-pool-by-stream/stream-ordered", expects={"cuda": "PROVED", "hip": "PROVED"})
def stream_ordered(gpu: Gpu) -> None:
    """The free itself waits for the consumer's stream, in stream order.

    The same mend (TensorRT-LLM PR #15265) with a stream-ordered allocator: the free is an operation
    that comes after the work of every stream that used the tensor.
    """
    aux, main = gpu.stream("aux"), gpu.stream("main")
    filled = gpu.event("filled")
    tensor = gpu.malloc_async("tensor", aux)
    gpu.launch("produce", aux, writes={tensor: 1})
    filled.record(aux)
    main.wait(filled)
    gpu.launch("consume", main, reads={tensor: 1})
    gpu.free_async(tensor, aux, used_by=[main])
    reused = gpu.malloc_async("next_tensor", aux, of=tensor)
    gpu.launch("produce_next", aux, writes={reused: 2})


@protocol(
    "corpus/C37-pool-by-stream/freed-on-one-stream", expects={"cuda": "REFUTED", "hip": "REFUTED"}
)
def freed_on_one_stream(gpu: Gpu) -> None:
    """The same in stream order, and the free waits for its own stream only.

    TensorRT-LLM PR #15265 once more: the free can come before the consumer's read, which then finds
    freed memory, or what the next owner has written there.
    """
    aux, main = gpu.stream("aux"), gpu.stream("main")
    filled = gpu.event("filled")
    tensor = gpu.malloc_async("tensor", aux)
    gpu.launch("produce", aux, writes={tensor: 1})
    filled.record(aux)
    main.wait(filled)
    gpu.launch("consume", main, reads={tensor: 1})
    gpu.free_async(tensor, aux)
    reused = gpu.malloc_async("next_tensor", aux, of=tensor)
    gpu.launch("produce_next", aux, writes={reused: 2})


@protocol("corpus/C37-pool-by-stream/launch-blocking", expects={"cuda": "PROVED", "hip": "PROVED"})
def freed_at_once_launch_blocking(gpu: Gpu) -> None:
    """The bug with launch-blocking mode on, which hides it.

    Why TensorRT-LLM PR #15265 was hard to find: the mode made for debugging lets each launch return
    only when its kernel is done, written here as a host wait after each.
    """
    aux, main = gpu.stream("aux"), gpu.stream("main")
    filled = gpu.event("filled")
    tensor = gpu.malloc("tensor")
    gpu.launch("produce", aux, writes={tensor: 1})
    aux.synchronize()
    filled.record(aux)
    main.wait(filled)
    gpu.launch("consume", main, reads={tensor: 1})
    main.synchronize()
    reused = gpu.malloc("next_tensor", of=tensor)
    gpu.launch("produce_next", aux, writes={reused: 2})


# --- C39: merged free lists ---------------------------------------------------------------------


@protocol("corpus/C39-merged-free-list/old-event", expects={"cuda": "REFUTED", "hip": "REFUTED"})
def old_event(gpu: Gpu) -> None:
    """A free list takes over another's block, and its event still stands for the old list.

    rmm issue #2489: stream b waited for a's event and merged a's free blocks into its own list;
    when c then took the block from b, it waited for b's event, never recorded since: for nothing.
    """
    a, b, c = gpu.stream("a"), gpu.stream("b"), gpu.stream("c")
    freed_on_a, freed_on_b = gpu.event("freed_on_a"), gpu.event("freed_on_b")
    block = gpu.malloc("block")
    gpu.launch("first_owner", a, writes={block: 1})
    freed_on_a.record(a)
    b.wait(freed_on_a)  # a's list is merged into b's
    c.wait(freed_on_b)  # the block is taken from b's list
    reused = gpu.malloc("reused_block", of=block)
    gpu.launch("next_owner", c, writes={reused: 2})


@protocol("corpus/C39-merged-free-list/event-renewed", expects={"cuda": "PROVED", "hip": "PROVED"})
def event_renewed(gpu: Gpu) -> None:
    """The list that takes over records its event anew: a before b before c.

    The mend of rmm issue #2489, PR #2490: the record comes right after the wait, so that whoever
    waits for b's list waits for what b waited for.
    """
    a, b, c = gpu.stream("a"), gpu.stream("b"), gpu.stream("c")
    freed_on_a, freed_on_b = gpu.event("freed_on_a"), gpu.event("freed_on_b")
    block = gpu.malloc("block")
    gpu.launch("first_owner", a, writes={block: 1})
    freed_on_a.record(a)
    b.wait(freed_on_a)
    freed_on_b.record(b)
    c.wait(freed_on_b)
    reused = gpu.malloc("reused_block", of=block)
    gpu.launch("next_owner", c, writes={reused: 2})


@protocol("corpus/C39-merged-free-list/two-streams", expects={"cuda": "PROVED", "hip": "PROVED"})
def two_streams(gpu: Gpu) -> None:
    """With two streams the old event does no harm: the list's own stream has waited.

    The control for rmm issue #2489, and why tests with two streams passed: the block's next owner
    is on the very stream that waited when the lists were merged.
    """
    a, b = gpu.stream("a"), gpu.stream("b")
    freed_on_a = gpu.event("freed_on_a")
    block = gpu.malloc("block")
    gpu.launch("first_owner", a, writes={block: 1})
    freed_on_a.record(a)
    b.wait(freed_on_a)
    reused = gpu.malloc("reused_block", of=block)
    gpu.launch("next_owner", b, writes={reused: 2})
