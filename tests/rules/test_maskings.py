"""Each primitive of a masking, without any engine: R2.12, R4.1 to R4.6; see conftest for the form.

Every row holds under both contracts unless it names one. A row that says what a masking adds must
fail without it; a row that says what it leaves alone must hold without it too.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from streamorder.model.contract import CONTRACTS
from streamorder.model.errors import NotModelled
from streamorder.model.masking import CLASSES, LARGE, SHARED, Masking

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    World = Any

KIB = 1024


class Row(NamedTuple):
    """What a masking does to a program; `adds`: whether the contract alone does less."""

    name: str
    masking: Masking
    program: Callable[[World], object]
    facts: Sequence[str]
    adds: bool = True
    contracts: tuple[str, ...] = ("cuda", "hip")


def shared(*lanes: str, **fields: Any) -> Masking:
    """These lanes share one queue."""
    return Masking(queues=tuple(((lane, None), 0) for lane in lanes), **fields)


def packets(*blocks: str, **fields: Any) -> Masking:
    """Packets by `lane:number`, a queue a block."""
    items = [
        ((item.split(":")[0], int(item.split(":")[1])), number)
        for number, block in enumerate(blocks)
        for item in block.split()
    ]
    return Masking(queues=tuple(items), counts=True, **fields)


def two_kernels(w: World) -> object:
    """One kernel on each of two streams."""
    return [w.k("K1", w.n1), w.k("K2", w.n2)]


def wait_between(w: World) -> object:
    """Stream n1 waits for n2's kernel; then b1 gets one."""
    w.k("K2", w.n2)
    w.e1.record(w.n2)
    w.n1.wait(w.e1)
    return w.k("K3", w.b1)


def copy_beside_kernel(w: World, size: int | None = None, *, up: bool = True) -> object:
    """A kernel on n1, then a copy of so many bytes on n2."""
    host, device = w.gpu.pinned("host", nbytes=size), w.gpu.device("dev")
    w.k("K1", w.n1)
    dst, src = (device, host) if up else (host, device)
    return w.gpu.memcpy_async(dst, src, w.n2)


def two_copies(w: World, *, up: bool = True) -> object:
    """An upload on n1 after a kernel there, then a copy on n2."""
    w.k("K1", w.n1)
    w.gpu.memcpy_async(w.D, w.P, w.n1)
    return w.gpu.memcpy_async(w.E, w.Q, w.n2) if up else w.gpu.memcpy_async(w.Q, w.E, w.n2)


def many_kernels(w: World) -> object:
    """Kernels on n1 and n2 in turn."""
    return [w.k(f"K{i}", w.n1 if i % 2 else w.n2) for i in range(1, 5)]


def forked(w: World, *, reader: Any = None) -> object:
    """A graph with a branch, launched on n2, and a kernel on another stream."""

    def branch() -> None:
        w.e1.record(w.n1)
        w.b2.wait(w.e1)
        w.k("B", w.b2)
        w.e2.record(w.b2)

    def join() -> None:
        w.k("A2", w.n1)
        w.n1.wait(w.e2)

    graph = w.captured(lambda: w.k("A", w.n1), branch, join)
    graph.launch(w.n2)
    return w.k("K", reader or w.b1)


def early(w: World) -> object:
    """An early kernel."""
    w.k("K1", w.n1)
    return w.gpu.launch("K2", w.n1, early=True)


ROWS = [
    # --- R4.1 to R4.3: hardware queues --------------------------------------------------------
    Row("R4.2 streams that share a queue", shared("n1", "n2"), two_kernels, ["K2 after K1"]),
    Row("R4.2 streams with queues of their own", Masking(records_queue=True), two_kernels,
        ["K2 not after K1"], adds=False),
    Row("R4.2 sharing with a third stream is nothing", shared("n1", "b1"), two_kernels,
        ["K2 not after K1"], adds=False),
    Row("R4.2 two queues",
        Masking(queues=tuple(((lane, None), lane[1] == "2") for lane in ("n1", "n2", "b1", "b2"))),
        lambda w: [two_kernels(w), w.k("K3", w.b1), w.k("K4", w.b2)],
        ["K3 after K1", "K4 after K2", "K3 not after K2", "K4 not after K1", "K2 not after K1"]),
    Row("R4.2 the NULL stream takes a place like any", shared("NULL", "n1"),
        lambda w: [w.k("K1", w.N), w.k("K2", w.n1)], ["K2 after K1"]),
    Row("R4.2 the order of issue decides", shared("n1", "n2"),
        lambda w: [w.k("K2", w.n2), w.k("K1", w.n1)], ["K1 after K2", "K2 not after K1"]),
    Row("R4.2 streams of one name are told apart", shared("s", "s#2"),
        lambda w: [w.k("K1", w.gpu.stream("s")), w.k("K2", w.gpu.stream("s"))], ["K2 after K1"]),
    Row("R4.2 streams of one name, another", shared("s", "n1"),
        lambda w: [w.k("K1", w.gpu.stream("s")), w.k("K2", w.gpu.stream("s")), w.k("K3", w.n1)],
        ["K3 after K1", "K3 not after K2"]),
    Row("R4.2 of two devices each has its own queue", shared("n1", "far"),
        lambda w: [w.k("K1", w.n1), w.k("K2", w.gpu.stream("far", device=1))],
        ["K2 not after K1"], adds=False),
    Row("R4.2 single packets: a stream that changes its queue", packets("n1:0 n2:0", "n1:1 b1:0"),
        lambda w: [two_kernels(w), w.k("K3", w.n1), w.k("K4", w.b1), w.k("K5", w.n2)],
        ["K2 after K1", "K4 after K3", "K5 not after K3 K4", "K4 not after K2"]),
    Row("R4.3 a stream's wait holds up its queue", shared("n1", "b1"), wait_between,
        ["K3 after K2"]),
    Row("R4.3 not another queue", shared("n2", "b1"), lambda w: [
        w.k("K2", w.n2), w.e1.record(w.n2), w.n1.wait(w.e1), w.k("K3", w.b2)],
        ["K3 not after K2"], adds=False),
    Row("R4.3 a wait for nothing holds up nobody", shared("n1", "b1"),
        lambda w: [w.k("K2", w.n2), w.n1.wait(w.e1), w.k("K3", w.b1)],
        ["K3 not after K2"], adds=False),
    Row("R4.3 so does a wait for a value", shared("n1", "n2"),
        lambda w: [w.gpu.wait_value(w.n1, w.gpu.cell("F"), 1), w.k("K", w.n2)],
        ["K after F>=1"]),
    Row("R4.3 and its write", shared("n1", "n2"),
        lambda w: [w.k("K", w.n1), w.gpu.write_value(w.n2, w.gpu.cell("F"), 1)], ["F=1 after K"]),
    Row("R8.1 and a host function", shared("n1", "n2"),
        lambda w: [w.gpu.host_func("f", w.n1), w.k("K", w.n2)], ["K after f"]),
    Row("R4.3 a fill and a copy within the device", shared("n1", "n2", copy_limit=0),
        lambda w: [w.gpu.memset_async(w.D, 1, w.n1), w.gpu.memcpy_async(w.E, w.D, w.n2),
                   w.k("K", w.n1)],
        ["E<-D after D=1", "K after E<-D"]),
    Row("R3.1 a record that is a packet stands for its queue",
        shared("n1", "n2", records_queue=True),
        lambda w: [w.k("K1", w.n1), w.e1.record(w.n2), w.e1.synchronize()], ["done K1"]),
    Row("R3.1 and holds it up", shared("n1", "n2", records_queue=True),
        lambda w: [w.k("K1", w.b1), w.n1.wait(w.e2), w.e1.record(w.n1), w.k("K2", w.n2)],
        ["K2 not after K1"], adds=False),
    Row("R3.1 a record that is none does not", shared("n1", "n2"),
        lambda w: [w.k("K1", w.n1), w.e1.record(w.n2), w.e1.synchronize()],
        ["pending K1"], adds=False),
    Row("R6.3 stream-ordered allocation takes no place", shared("n1", "n2"),
        lambda w: [w.k("K1", w.n1), w.gpu.malloc_async("T", w.n2), w.k("K2", w.b1)],
        ["malloc:T not after K1"], adds=False),
    Row("R6.3 nor does a stream-ordered free", shared("n1", "n2"),
        lambda w: [w.k("K1", w.n1), w.gpu.free_async(w.gpu.malloc_async("T", w.n2), w.n2)],
        ["free:T not after K1"], adds=False),
    Row("an agent's post takes no place", shared("n1", "n2"),
        lambda w: [w.k("K1", w.n1), w.gpu.agent("nic").read(w.D)],
        ["nic not after K1"], adds=False),
    # --- R5.2: graphs -------------------------------------------------------------------------
    Row("R5.2 a graph's first branch is the launch stream's lane", shared("n2", "b1"), forked,
        ["K after A A2", "B not after A2"]),
    Row("R5.2 another branch is a lane of its own", shared("n2/g/b2", "b1"), forked,
        ["K after B A", "K not after A2"]),
    Row("R5.2 branches that share a queue", shared("n2", "n2/g/b2"), forked, ["A2 after B"]),
    Row("R5.5 what is captured takes no place", shared("n1", "n2"),
        lambda w: [w.captured(lambda: w.k("A", w.n1)).launch(w.b1), w.k("K", w.n2)],
        ["K not after A"], adds=False),
    # --- R2.12: the way of a copy -------------------------------------------------------------
    Row("R2.12 without engines a copy is in the queue", shared("n1", "n2"), copy_beside_kernel,
        ["dev<-host after K1"]),
    Row("R2.12 a small copy is", shared("n1", "n2", copy_limit=16 * KIB),
        partial(copy_beside_kernel, size=16 * KIB), ["dev<-host after K1"]),
    Row("R2.12 a larger one is not", shared("n1", "n2", copy_limit=16 * KIB),
        partial(copy_beside_kernel, size=16 * KIB + 1), ["dev<-host not after K1"], adds=False),
    Row("R2.12 nor a larger download", shared("n1", "n2", copy_limit=16 * KIB),
        partial(copy_beside_kernel, size=16 * KIB + 1, up=False),
        ["host<-dev not after K1"], adds=False),
    Row("R2.12 the parts count together", shared("n1", "n2", copy_limit=16 * KIB),
        lambda w: [w.k("K1", w.n1), w.gpu.memcpy_async(
            w.DD, w.gpu.pinned("H", ("a", "b"), nbytes={"a": 16 * KIB, "b": 1}), w.n2)],
        ["DD<-H not after K1"], adds=False),
    Row("R2.12 the size of either end will do", shared("n1", "n2", copy_limit=16 * KIB),
        lambda w: [w.k("K1", w.n1),
                   w.gpu.memcpy_async(w.gpu.device("X", nbytes=32 * KIB), w.P, w.n2)],
        ["X<-P not after K1"], adds=False),
    Row("R2.12 of unknown size: as small ones", shared("n1", "n2", copy_limit=16 * KIB),
        copy_beside_kernel, ["dev<-host after K1"]),
    Row("R2.12 of unknown size: as large ones",
        shared("n1", "n2", copy_limit=16 * KIB, unsized=LARGE),
        copy_beside_kernel, ["dev<-host not after K1"], adds=False),
    Row("R2.12 a batched copy, its early read in no queue", shared("n1", "n2"),
        lambda w: [w.k("K1", w.n1), w.gpu.memcpy_async(w.D, w.P, w.n2, source="any")],
        ["D<-P not after K1", "D<-P#2 after K1 D<-P"]),
    Row("R2.12 a batched copy by an engine", shared("n1", "n2", copy_limit=0),
        lambda w: [w.k("K1", w.n1), w.gpu.memcpy_async(w.D, w.P, w.n2, source="any")],
        ["D<-P#2 not after K1"], adds=False),
    Row("R2.12 between host memories no engine", shared("n1", "n2", copy_limit=0),
        lambda w: [w.k("K1", w.n1), w.gpu.memcpy_async(w.Q, w.P, w.n2)],
        ["Q<-P after K1"], contracts=("cuda",)),
    Row("R2.12 limit 0: every copy by an engine", shared("n1", "n2", copy_limit=0),
        copy_beside_kernel, ["dev<-host not after K1"], adds=False),
    Row("R2.12 a blocking upload likewise", shared("NULL", "n1", copy_limit=0),
        lambda w: [w.k("K1", w.n1), w.gpu.memcpy(w.D, w.P)], ["pending K1"], adds=False),
    Row("R2.12 in the queue it waits for another stream's kernel", shared("NULL", "n1"),
        lambda w: [w.k("K1", w.n1), w.gpu.memcpy(w.D, w.P)], ["D<-P after K1", "done K1 D<-P"]),
    Row("R2.12 a staged one too", shared("NULL", "n1"),
        lambda w: [w.k("K1", w.n1), w.gpu.memcpy(w.D, w.G)], ["D<-G after K1"]),
    Row("R1.1 on an engine a copy keeps its place in its stream", Masking(copy_limit=0),
        lambda w: [w.k("K1", w.n1), w.gpu.memcpy_async(w.D, w.P, w.n1), w.k("K2", w.n1)],
        ["D<-P after K1", "K2 after D<-P"], adds=False),
    # --- R4.4: copy engines -------------------------------------------------------------------
    Row("R4.4 a waiting copy holds up its engine", Masking(copy_limit=0, engines=SHARED),
        two_copies, ["E<-Q after D<-P K1"]),
    Row("R4.4 not the other direction's", Masking(copy_limit=0, engines=SHARED),
        partial(two_copies, up=False), ["Q<-E not after D<-P"], adds=False),
    Row("R4.4 nor with an engine each", Masking(copy_limit=0), two_copies,
        ["E<-Q not after D<-P"], adds=False),
    Row("R4.4 kernels do not wait for engines", Masking(copy_limit=0, engines=SHARED),
        lambda w: [two_copies(w), w.k("K2", w.b1)], ["K2 not after D<-P E<-Q"], adds=False),
    # --- copies after everything --------------------------------------------------------------
    Row("a copy after all issued work", Masking(copies_after_all=True),
        lambda w: [two_kernels(w), w.gpu.memcpy_async(w.D, w.P, w.b1), w.k("K3", w.b2)],
        ["D<-P after K1 K2", "K3 not after D<-P"]),
    Row("a blocking one, before the host goes on", Masking(copies_after_all=True),
        lambda w: [two_kernels(w), w.gpu.memcpy(w.D, w.P)], ["done K1 K2 D<-P"]),
    Row("a staged one", Masking(copies_after_all=True),
        lambda w: [w.k("K1", w.n1), w.gpu.memcpy_async(w.D, w.G, w.n2)], ["D<-G after K1"]),
    Row("on an engine too", Masking(copies_after_all=True, copy_limit=0),
        copy_beside_kernel, ["dev<-host after K1"]),
    Row("not after another device's work", Masking(copies_after_all=True),
        lambda w: [w.k("K1", w.gpu.stream("far", device=1)), w.gpu.memcpy_async(w.D, w.P, w.n1)],
        ["D<-P not after K1"], adds=False),
    Row("kernels and fills are none", Masking(copies_after_all=True),
        lambda w: [w.k("K1", w.n1), w.gpu.memset_async(w.D, 1, w.n2), w.k("K2", w.b1)],
        ["D=1 not after K1", "K2 not after K1 D=1"], adds=False),
    # --- R4.6: the host awaits a class --------------------------------------------------------
    Row("R4.6 kernels", Masking(awaits=("kernels",)),
        lambda w: [w.gpu.memcpy_async(w.D, w.P, w.n2), w.k("K", w.n1)],
        ["done K", "pending D<-P", "call: issue K, await K"]),
    Row("R4.6 copies", Masking(awaits=("copies",)),
        lambda w: [w.k("K", w.n1), w.gpu.memcpy_async(w.D, w.P, w.n2)],
        ["done D<-P", "pending K"]),
    Row("R4.6 what came before in the stream too", Masking(awaits=("copies",)),
        lambda w: [w.k("K", w.n1), w.gpu.memcpy_async(w.D, w.P, w.n1)], ["done D<-P K"]),
    Row("R4.6 a blocking pageable upload under CUDA", Masking(awaits=("copies",)),
        lambda w: w.gpu.memcpy(w.D, w.G), ["done D<-G"], contracts=("cuda",)),
    Row("R4.6 a copy that is awaited anyway", Masking(awaits=("copies",)),
        lambda w: w.gpu.memcpy(w.D, w.P), ["done D<-P"], adds=False),
    Row("R4.6 fills", Masking(awaits=("fills",)),
        lambda w: [w.k("K", w.n1), w.gpu.memset_async(w.D, 1, w.n2), w.gpu.memset(w.E, 1)],
        ["done D=1 E=1", "pending K"]),
    Row("R4.6 value operations", Masking(awaits=("values",)),
        lambda w: [w.k("K", w.n1), w.gpu.write_value(w.n2, w.gpu.cell("F"), 1)],
        ["done F=1", "pending K"]),
    Row("R4.6 a wait for a value", Masking(awaits=("values",)),
        lambda w: w.gpu.wait_value(w.n2, w.gpu.cell("F"), 1), ["done F>=1"]),
    Row("R4.6 graphs", Masking(awaits=("graphs",)),
        lambda w: w.captured(lambda: w.k("A", w.n1)).launch(w.n2), ["done A"]),
    Row("R4.6 kernels are not graphs", Masking(awaits=("kernels", "copies")),
        lambda w: w.captured(lambda: w.k("A", w.n1)).launch(w.n2), ["pending A"], adds=False),
    Row("R4.6 everything", Masking(awaits=CLASSES), two_kernels, ["done K1 K2"]),
    Row("R4.6 a host function is of no class", Masking(awaits=CLASSES),
        lambda w: w.gpu.host_func("f", w.n1), ["pending f"], adds=False),
    Row("R5.5 what is captured is not awaited", Masking(awaits=CLASSES),
        lambda w: [w.k("K", w.n2), w.captured(lambda: w.k("A", w.n1))], ["call: -"], adds=False),
    Row("R2.7 a large pageable upload", Masking(pageable_limit=64 * KIB),
        lambda w: w.gpu.memcpy_async(w.D, w.gpu.pageable("big", nbytes=64 * KIB + 1), w.n1),
        ["done D<-big"]),
    Row("R2.7 not a small one", Masking(pageable_limit=64 * KIB),
        lambda w: w.gpu.memcpy_async(w.D, w.gpu.pageable("big", nbytes=64 * KIB), w.n1),
        ["pending D<-big"], adds=False),
    Row("R2.7 one of unknown size, as large", Masking(pageable_limit=64 * KIB, unsized=LARGE),
        lambda w: w.gpu.memcpy_async(w.D, w.G, w.n1), ["done D<-G"]),
    Row("R2.7 a pageable download, however small", Masking(downloads_awaited=True),
        lambda w: w.gpu.memcpy_async(w.gpu.pageable("out"), w.D, w.n1), ["done out<-D"],
        contracts=("cuda",)),
    Row("R2.7 not an upload, nor a pinned download", Masking(downloads_awaited=True),
        lambda w: [w.gpu.memcpy_async(w.D, w.gpu.pageable("in"), w.n1),
                   w.gpu.memcpy_async(w.gpu.pinned("out"), w.D, w.n2)],
        ["pending D<-in out<-D"], adds=False),
    Row("R2.7 not a pinned one", Masking(pageable_limit=64 * KIB, unsized=LARGE),
        lambda w: w.gpu.memcpy_async(w.D, w.P, w.n1), ["pending D<-P"], adds=False),
    # --- R4.5: the ring -----------------------------------------------------------------------
    Row("R4.5 the host waits for a place", Masking(ring=1),
        lambda w: [w.k("K1", w.n1), w.k("K2", w.n1)],
        ["done K1", "pending K2", "call: await K1, issue K2", "phases 2"]),
    Row("R4.5 with two places for the last but one", Masking(ring=2),
        lambda w: [w.k(f"K{i}", w.n1) for i in (1, 2, 3, 4)], ["done K1 K2", "pending K3 K4"]),
    Row("R4.5 each queue has its own", Masking(ring=2), many_kernels,
        ["pending K1 K2 K3 K4"], adds=False),
    Row("R4.5 a shared one has one", shared("n1", "n2", ring=2), many_kernels,
        ["done K1 K2", "pending K3 K4"]),
    Row("R4.5 a wait takes a place", Masking(ring=1),
        lambda w: [w.k("K1", w.n1), w.n1.wait(w.e1)], ["done K1"]),
    Row("R4.5 a record does where it is a packet", Masking(ring=1, records_queue=True),
        lambda w: [w.k("K1", w.n1), w.e1.record(w.n1)], ["done K1"]),
    Row("R4.5 engines have places too", Masking(ring=1, copy_limit=0),
        lambda w: [w.k("K1", w.n1), w.gpu.memcpy_async(w.D, w.P, w.n1), w.k("K2", w.n1)],
        ["done K1", "pending D<-P"]),
    Row("R4.5 a copy by an engine takes no place in the queue", Masking(ring=1, copy_limit=0),
        lambda w: [w.k("K1", w.n1), w.gpu.memcpy_async(w.D, w.P, w.n1)],
        ["pending K1"], adds=False),
    Row("R4.5 a graph's nodes take a place each", shared("n2", "n2/g/b2", ring=3),
        lambda w: [w.k("K1", w.n2), forked(w)], ["done K1", "pending A A2 B"]),
    Row("R4.5 all of them, where there is room", shared("n2", "n2/g/b2", ring=4),
        lambda w: [w.k("K1", w.n2), forked(w)], ["pending K1"], adds=False),
    *(
        Row(f"R4.5 so does {name}", Masking(ring=1), program, ["done K1"])
        for name, program in {
            "a host function": lambda w: [w.k("K1", w.n1), w.gpu.host_func("f", w.n1)],
            "a fill": lambda w: [w.k("K1", w.n1), w.gpu.memset_async(w.D, 1, w.n1)],
            "a blocking fill": lambda w: [w.k("K1", w.N), w.gpu.memset(w.D, 1)],
            "a copy": lambda w: [w.k("K1", w.n1), w.gpu.memcpy_async(w.D, w.P, w.n1)],
            "a copy within the device": lambda w: [w.k("K1", w.N), w.gpu.memcpy(w.D, w.E)],
            "a stored value": lambda w: [
                w.k("K1", w.n1), w.gpu.write_value(w.n1, w.gpu.cell("F"), 1)],
            "an awaited value": lambda w: [
                w.k("K1", w.n1), w.gpu.wait_value(w.n1, w.gpu.cell("F"), 1)],
        }.items()
    ),
    Row("R4.5 what is captured takes no place", Masking(ring=1),
        lambda w: [w.k("K1", w.b1), w.captured(lambda: w.k("A", w.n1), lambda: w.k("B", w.n1))],
        ["pending K1", "call: -"], adds=False),
    Row("R4.5 other work on other queues does not matter", Masking(ring=1),
        lambda w: [w.k("K1", w.n1), w.k("K2", w.n2), w.k("K3", w.n2)],
        ["pending K1 K3"], adds=False),
    Row("posts of an agent are in no order", Masking(copies_after_all=True, counts=True),
        lambda w: [w.gpu.agent("nic").read(w.D), w.gpu.agent("other").read(w.D)],
        ["other not after nic"], adds=False),
    Row("R5.5 a record and a wait in a capture are no packets",
        shared("n1", "n2", "b1", "b2", records_queue=True),
        lambda w: [w.k("K1", w.b1), w.gpu.synchronize(), forked(w), w.k("K2", w.n1)],
        ["K after K1", "K2 after K K1"]),
    # --- first use ----------------------------------------------------------------------------
    Row("first use waits for the whole device", Masking(first_use_drains=True), two_kernels,
        ["done K1", "pending K2", "call: await K1, issue K2"]),
    Row("the second launch does not", Masking(first_use_drains=True),
        lambda w: [w.k("K1", w.n1), w.k("K1", w.n2)], ["pending K1 K1#2"], adds=False),
    Row("nor a copy", Masking(first_use_drains=True),
        lambda w: [w.k("K1", w.n1), w.gpu.memcpy_async(w.D, w.P, w.n2)],
        ["pending K1"], adds=False),
    Row("nor another device's work", Masking(first_use_drains=True),
        lambda w: [w.k("K1", w.gpu.stream("far", device=1)), w.k("K2", w.n1)],
        ["pending K1"], adds=False),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_primitive(run: Callable[..., Any], row: Row) -> None:
    """The facts hold with the masking; without it one of them fails, or all hold."""
    for name in row.contracts:
        promises = CONTRACTS[name].readings()[0]
        masked = run(row.program, promises._replace(masking=row.masking))
        failed = [fact for fact in row.facts if not masked.holds(fact)]
        assert not failed, f"{name}: {failed}; calls {masked.calls}; ops {masked.ops}"
        plain = run(row.program, promises)
        without = all(plain.holds(fact) for fact in row.facts)
        assert without is not row.adds, f"{name}: the same without the masking"
        assert set(plain.ops) == set(masked.ops)
        for op, seen in plain.ops.items():
            assert seen.before <= masked.ops[op].before, f"{name}: {op} has lost order"
        assert plain.known <= masked.known


def test_every_field_has_rows() -> None:
    """Each field of a masking is set in some row that says what it adds."""
    used = {
        field for row in ROWS if row.adds for field in Masking._fields
        if getattr(row.masking, field) != getattr(Masking(), field)
    }  # fmt: skip
    assert used == set(Masking._fields)


def test_early_launches_share_no_queue(run: Callable[..., Any]) -> None:
    """R8.4: alone in its queue an early kernel is as ever; on a shared one it is not modelled."""
    promises = CONTRACTS["cuda"].readings()[0]
    alone = run(early, promises._replace(masking=shared("n2", "b1")))
    assert alone.holds("K2 not after K1")
    with pytest.raises(NotModelled, match="early launch on a hardware queue"):
        run(early, promises._replace(masking=shared("n1", "n2")))
    with pytest.raises(NotModelled, match="early launch on a hardware queue"):
        run(early, promises._replace(masking=packets("n1:0 n2:0")))


def test_a_graph_larger_than_the_ring_is_refused(run: Callable[..., Any]) -> None:
    """R4.5: a launch that could never have its places."""
    promises = CONTRACTS["hip"].readings()[0]
    with pytest.raises(NotModelled, match="3 packets for a queue with 2 places"):
        run(forked, promises._replace(masking=shared("n2", "n2/g/b2", ring=2)))


def test_what_takes_places_is_told(run: Callable[..., Any]) -> None:
    """Each lane with its device, and with as many packets as it has had where they are counted:
    waits are packets, records where they are, copies by engine and what is captured are none.
    """

    def program(w: World) -> object:
        far = w.gpu.stream("far", device=1)
        w.k("K1", w.n1)
        w.e1.record(w.n1)
        w.n2.wait(w.e1)
        w.k("K2", far)
        w.gpu.memcpy_async(w.D, w.P, w.n1)
        return w.k("K3", w.n1)

    promises = CONTRACTS["hip"].readings()[0]
    for masking, counts in (
        (Masking(counts=True), {"n1": [0, 3], "n2": [0, 1], "far": [1, 1]}),
        (Masking(counts=True, records_queue=True), {"n1": [0, 4], "n2": [0, 1], "far": [1, 1]}),
        (Masking(counts=True, copy_limit=0), {"n1": [0, 2], "n2": [0, 1], "far": [1, 1]}),
        (Masking(ring=9), {"n1": [0, 0], "n2": [0, 0], "far": [1, 0]}),
    ):
        assert run(program, promises._replace(masking=masking)).front.gpu.queue_lanes == counts
        told = run(program, promises._replace(masking=masking)).front.gpu.sizes_missing
        assert not told
    everything = Masking(counts=True, records_queue=True)
    captured = run(lambda w: w.captured(lambda: w.e1.record(w.n1), lambda: w.k("A", w.n1)),
                   promises._replace(masking=everything))  # fmt: skip
    assert captured.front.gpu.queue_lanes == {}
    sized = Masking(counts=True, copy_limit=1)
    assert run(program, promises._replace(masking=sized)).front.gpu.sizes_missing
