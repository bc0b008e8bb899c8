"""A recorder for the front end: every rule is tested alone, without any engine.

A frontier is the set of the names of its operations, closed under "before". A recording keeps, of
each operation, its stream, all operations before it and its accesses; of each call, the steps in
which it is carried out: what the host awaits, reads and writes, and what is issued.

Names: a kernel's own name; `D<-G` for a copy, `D=7` for a fill, with `#2` for a second one.
Facts, as the tables state them (each about the whole program unless it says otherwise):

    K2 after K1             K1 is done when K2 starts
    K2 not after K1         nothing makes K2 wait for K1
    K on n1                 the stream
    K reads P Q             exactly these regions, by the operation itself (`K reads -`: none)
    K writes D=7            exactly these; `D=P`: what P then holds, `D=[G]`: what the host had read
    done K                  the host has learnt that K is done
    pending K               K may still run when the host goes on
    call: read G, issue C   exactly the steps of the last call (`call: -`: it returns at once)
    phases 2                of the last call
    consulted U5            exactly the uncertain promises that were met (`consulted -`: none)

A lane is a chain: the recorder refuses an operation that its lane's last one is not before, for
clocks count on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from streamorder.model.contract import CONTRACTS, CUDA, Contract
from streamorder.model.errors import Again
from streamorder.model.frontend import Frontend, front_end
from streamorder.model.gpu import Gpu
from streamorder.model.objects import Graph

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from streamorder.model.calls import Call, Reads
    from streamorder.model.memory import Buffer, Region
    from streamorder.model.objects import Cell, Stream

Frontier = frozenset[str]


class Op(NamedTuple):
    """An issued operation; `before` is transitive and includes what the host had awaited."""

    stream: str
    before: Frontier
    reads: tuple[str, ...]
    writes: tuple[str, ...]


class Recorder:
    """The sink of the front end and the reading of the calls, in one."""

    empty: Frontier = frozenset()

    def __init__(self, gpu: Gpu, promises: Contract, uncertain: tuple[str, ...]) -> None:
        self.thread = 0
        self.made = 0
        self.allowed: str | None = None
        self.nodes: dict[Graph, list[str]] = {}
        self.names: list[str] = []
        self.lanes: dict[int, str] = {}
        self.front: Frontend[Frontier] = front_end(gpu, promises, self, uncertain)
        self.ops: dict[str, Op] = {}
        self.known: Frontier = frozenset()
        self.calls: list[list[str]] = []
        self.phases: list[int] = []
        self.marks: list[tuple[str, object]] = []
        self.answer = True
        gpu.attach(self)

    def passed(self, frontier: Frontier) -> bool:
        """Whether the host has learnt that all of it is done."""
        return frontier <= self.known

    # --- the reading -----------------------------------------------------------------------------

    def mark(self, what: str, value: object) -> None:
        """A new object gets its cell; other marks are kept."""
        if what in {"made", "grown"}:
            self.front.grow()
        else:
            self.marks.append((what, value))

    def call(self, call: Call) -> Any:
        """Carry out every phase of a call."""
        verb = call[0]
        self.calls.append([])
        self.phases.append(0)
        if verb in {"concurrent", "wait_cell"}:
            return None
        self.name = named(call)
        self.names = list(self.nodes.get(call[1], ())) if verb == "graph_launch" else []
        rest = None if verb == "query" and not self.answer else self.front.call
        while rest is not None:
            self.phases[-1] += 1
            awaits = rest(call)
            frontier, rest = awaits or (self.empty, None)
            self.await_(frontier)
        self.note_nodes()
        results = {"query": self.answer, "choose": 0}
        return results.get(verb, self.name)

    def note_nodes(self) -> None:
        """Name a node that the call became after the call; event nodes issue nothing."""
        for graph, nodes in self.front.notes.items():
            if isinstance(graph, Graph):
                names = self.nodes.setdefault(graph, [])
                while len(names) < sum(node.event is None for node in nodes):
                    names.append(self.name)

    def await_(self, frontier: Frontier) -> None:
        """The host waits; only what it did not know to be done counts."""
        if frontier - self.known:
            self.note("await " + " ".join(sorted(frontier - self.known)))
        self.known |= frontier

    def note(self, step: str) -> None:
        """One more step of the current call."""
        self.calls[-1].append(step)

    # --- the sink --------------------------------------------------------------------------------

    def join(self, first: Frontier, second: Frontier) -> Frontier:
        """The union."""
        return first | second

    def op(self, stream: Stream, before: Frontier, reads: Reads, writes: Reads) -> Frontier:
        """Record an operation; it starts after what the host had awaited, too (R9.1)."""
        base = self.names.pop(0) if self.names else self.name
        name, number = base, 1
        while name in self.ops:
            number += 1
            name = f"{base}#{number}"
        before |= self.known
        last = self.lanes.get(stream.slot)
        assert last is None or last in before, f"{name} is not after {last} of its lane"
        self.lanes[stream.slot] = name
        self.ops[name] = Op(stream.name, before, accesses(reads), accesses(writes))
        self.note(f"issue {name}")
        return before | {name}

    def grow(self) -> None:
        """Nothing is kept by region."""

    def signal(self, stream: Stream, before: Frontier, cell: Cell, value: int) -> Frontier:
        """Record a store into a cell: `F=1`."""
        self.name = f"{cell}={value}"
        return self.op(stream, before, (), ())

    def await_cell(self, stream: Stream, before: Frontier, cell: Cell, value: int) -> Frontier:
        """Record a wait for a cell: `F>=1`."""
        self.name = f"{cell}>={value}"
        return self.op(stream, before, (), ())

    def host_signal(self, cell: Cell, value: int) -> None:
        """The host stores into a cell now."""
        self.note(f"set {cell}={value}")

    def host_read(self, reads: Reads) -> None:
        """The host loads now."""
        self.note("read " + " ".join(accesses(reads)))

    def host_write(self, writes: Reads) -> None:
        """The host stores now."""
        self.note("write " + " ".join(accesses(writes)))

    def stage(self, regions: tuple[Region, ...]) -> tuple[Any, ...]:
        """The host reads now; `[G]` stands for what it found in G."""
        self.note("read " + " ".join(map(repr, regions)))
        return tuple(f"[{region}]" for region in regions)

    # --- what was recorded -----------------------------------------------------------------------

    @property
    def everything(self) -> object:
        """All that can be told apart: two contracts that record the same do not differ here."""
        return self.ops, self.calls, self.known

    def holds(self, fact: str) -> bool:
        """Whether a fact (see the module's text) is so; raises `ValueError` for another form."""
        match fact.split():
            case ["call:", *_]:
                steps = fact.removeprefix("call: ")
                so = ", ".join(self.calls[-1]) == ("" if steps == "-" else steps)
            case ["phases", number]:
                so = self.phases[-1] == int(number)
            case ["done", *names]:
                so = self.all_exist(names) and self.known.issuperset(names)
            case ["pending", *names]:
                so = self.all_exist(names) and self.known.isdisjoint(names)
            case ["consulted", *fields]:
                so = self.front.consulted == {FIELDS.get(f, f) for f in fields if f != "-"}
            case [name, "on", *stream]:
                so = self.ops[name].stream == " ".join(stream)
            case [later, "after", *names]:
                so = self.all_exist(names) and self.ops[later].before.issuperset(names)
            case [later, "not", "after", *names]:
                so = self.all_exist(names) and self.ops[later].before.isdisjoint(names)
            case [name, "reads" | "writes" as what, *shown]:
                so = list(getattr(self.ops[name], what)) == [text for text in shown if text != "-"]
            case _:
                raise ValueError(f"no such form of a fact: {fact}")
        return so

    def all_exist(self, names: Sequence[str]) -> bool:
        """Refuse a fact about no operation, or one that was never issued: it would be empty."""
        if not names or not set(names) <= set(self.ops):
            raise ValueError(f"{names} are not all among the operations {list(self.ops)}")
        return True


def named(call: Call) -> str:
    """The name of the operation that a call may issue."""
    verb = call[0]
    if verb == "launch":
        return str(call[2])
    if verb in {"memcpy", "memcpy_async"}:
        pairs = call[1]
        return f"{joint([dst for dst, _ in pairs])}<-{joint([src for _, src in pairs])}"
    if verb in {"memset", "memset_async"}:
        return f"{joint(call[1])}={call[2]}"
    if verb in {"malloc_async", "free_async"}:
        return f"{verb.removesuffix('_async')}:{call[1]}"
    if verb in {"post", "host_func"}:
        return str(call[1] if verb == "post" else call[2])
    return verb


def accesses(pairs: Reads) -> tuple[str, ...]:
    """Regions with versions, each without spaces: `D`, `D=7`, `D=freed-memory`."""
    shown = (f"{region}" if v is None else f"{region}={v}" for region, v in pairs)
    return tuple(text.replace(" ", "-") for text in shown)


def joint(regions: Sequence[Region]) -> str:
    """A whole buffer by its name, a single region by its own."""
    return repr(regions[0]) if len(regions) == 1 else regions[0].buffer.name


class World:
    """A Gpu with the objects that the tables use, as litmus lines name them.

    N is the NULL stream, n1 n2 are non-blocking, b1 b2 blocking; e1 e2 events; D E device, P Q
    pinned, G H pageable, M W managed; DD DE PP QQ GG HH MM have the parts a, b (DE: b, a).
    """

    def __init__(
        self,
        promises: Contract = CUDA,
        uncertain: tuple[str, ...] = (),
        gpu: Gpu | None = None,
    ) -> None:
        gpu = self.gpu = gpu or Gpu(steps=1)
        self.rec = Recorder(gpu, promises, uncertain)
        self.N = gpu.null_stream
        self.n1, self.n2 = gpu.stream("n1"), gpu.stream("n2")
        self.b1, self.b2 = gpu.stream("b1", blocking=True), gpu.stream("b2", blocking=True)
        self.e1, self.e2 = gpu.event("e1"), gpu.event("e2")
        self.D, self.E = gpu.device("D"), gpu.device("E")
        self.P, self.Q = gpu.pinned("P"), gpu.pinned("Q")
        self.G, self.H = gpu.pageable("G"), gpu.pageable("H")
        self.M, self.W = gpu.managed("M"), gpu.managed("W")
        self.DD, self.DE = gpu.device("DD", parts=["a", "b"]), gpu.device("DE", parts=["b", "a"])
        self.PP, self.QQ = gpu.pinned("PP", parts=("a", "b")), gpu.pinned("QQ", parts=("a", "b"))
        self.GG, self.HH = (
            gpu.pageable("GG", parts=("a", "b")),
            gpu.pageable("HH", parts=("b", "a")),
        )
        self.MM = gpu.managed("MM", parts=("a", "b"))

    def k(self, name: str, stream: Stream, reads: Any = (), writes: Any = {}) -> object:  # noqa: B006 - as `launch` takes them
        """Launch a kernel."""
        return self.gpu.launch(name, stream, reads=reads, writes=writes)

    def captured(self, *calls: Callable[[], object]) -> Graph:
        """Capture n1 while the calls are made, into the graph g."""
        with self.gpu.capture(self.n1, "g") as graph:
            for call in calls:
                call()
        return graph

    def buffers(self, dst: str, src: str) -> tuple[Buffer, Buffer]:
        """Two different buffers of these kinds of memory."""
        of = {"device": "DE", "pinned": "PQ", "pageable": "GH", "managed": "MW"}
        return getattr(self, of[dst][0]), getattr(self, of[src][1])


FIELDS = {
    "U2": "pageable_staged",
    "U3": "graph_pageable_staged",
    "U5": "managed_copy_awaits",
    "U1": "pool_reuse_ordered",
    "U6": "early_wait_transitive",
    "U12": "null_sync_covers_blocking",
    "R1.4-null": "wait_joins_blocking",
    "R1.4": "wait_joins_null",
    "R6.1": "free_awaits",
}
"""Short names of uncertain promises, after the rule or the open point that states them."""


def readings_of(key: str) -> tuple[Contract, list[Contract], set[str]]:
    """What a key of a row stands for: the contract, its readings, the promises that it fixes.

    `cuda` is every reading; `cuda +U5 -U12` those that keep U5 and break U12.
    """
    name, *signs = key.split()
    contract = CONTRACTS[name]
    fixed = {FIELDS[sign[1:]]: sign[0] == "+" for sign in signs}
    assert set(fixed) <= set(contract.uncertain), f"{key}: not open under {name}"
    readings = [r._replace(**fixed) for r in contract.readings(contract.uncertain)]
    return contract, list(dict.fromkeys(readings)), set(fixed)


@pytest.fixture(scope="session")
def run() -> Callable[..., Recorder]:
    """Record `program` under a contract, as `run(program, contract, uncertain=())`."""

    def recorded(
        program: Callable[[World], object], promises: Contract, uncertain: tuple[str, ...] = ()
    ) -> Recorder:
        world = World(promises, uncertain)
        try:
            program(world)
        except Again:
            world = World(promises, uncertain, world.gpu)
            program(world)
        return world.rec

    return recorded


@pytest.fixture(scope="session")
def check(run: Callable[..., Recorder]) -> Callable[..., None]:
    """Check facts of a program, as `check(program, facts)`.

    A list of facts holds under both contracts, and the contracts must not differ at all; a mapping
    gives each contract (or readings of it, see `readings_of`) its own, and they must differ.
    Readings of one key must not differ, and a promise that a key fixes must have been consulted.
    `alone`: the contracts named need not differ, since the program is for these alone.
    """

    def checked(
        program: Callable[[World], object],
        facts: Sequence[str] | Mapping[str, Sequence[str]],
        *,
        alone: bool = False,
    ) -> None:
        by_contract = facts if hasattr(facts, "items") else {"cuda": facts, "hip": facts}
        seen: list[object] = []
        for key, expected in by_contract.items():  # type: ignore[union-attr]
            contract, readings, fixed = readings_of(key)
            records = [run(program, reading, contract.uncertain) for reading in readings]
            for record in records:
                failed = [fact for fact in expected if not record.holds(fact)]
                assert not failed, f"{key}: {failed}; calls {record.calls}; ops {record.ops}"
                assert fixed <= record.front.consulted, f"{key}: not consulted"
            assert all(record.everything == records[0].everything for record in records), key
            seen.append(records[0].everything)
        if alone:
            return
        if by_contract is facts:
            assert any(each != seen[0] for each in seen), "the contracts do not differ"
        else:
            assert all(each == seen[0] for each in seen), "the contracts differ"

    return checked


@pytest.fixture
def world() -> World:
    """A fresh world under CUDA."""
    return World()


@pytest.fixture
def other(world: World) -> World:
    """Another Gpu's world; `world` stays the one in use."""
    made = World()
    world.gpu.attach(world.rec)
    return made
