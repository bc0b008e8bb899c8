"""Programs as plain data, and the protocol function that each stands for.

A program's statements are tuples; streams, events, locks and queues are named by their index,
buffers by name (`"d0"`, or `"d0.a"` for a part):

    ("launch", stream, ((region, version or None), ...), ((region, version or region), ...))
    ("memcpy", dst, src)                      ("memcpy_async", dst, src, stream)
    ("memset", region, version)               ("memset_async", region, version, stream)
    ("write", region, version)                ("read", region, version or None)
    ("record", event, stream)                 ("wait", stream, event)
    ("synchronize_event", event)              ("synchronize_stream", stream)
    ("synchronize_device",)                   ("poll", event)
    ("query_event", event, yes, no)           ("query_stream", stream, yes, no)
    ("destroy", stream)                       ("concurrent",)
    ("lock", locks, body)                     ("choose", bodies)
    ("put", queue, item)                      ("get", queue, body)
    ("spawn", thread)                         ("join", thread)
    ("steps", body)

`verbs` has those of graphs, allocation, cells and so on. A version is a number, `("n", k)`, the
step number plus k, or `("same", k)`, an idempotent k. `get` runs its body when the item is not 0.
`concurrent` is about the thread's last two launches.
"""

# ruff: noqa: D102 - the methods named after verbs issue that call

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from streamorder.model.gpu import Gpu

Statement = tuple[Any, ...]
Body = tuple[Statement, ...]


VERBS = frozenset(
    """launch memcpy memcpy_async memset memset_async write read record wait synchronize_event
    synchronize_stream synchronize_device poll query_event query_stream destroy concurrent lock
    choose put get spawn join steps host_func capture record_node wait_node replay malloc free
    malloc_async free_async write_value wait_value set_cell wait_cell post_read post_write
    synchronize_post wait_post""".split()  # noqa: SIM905 - a list of them would take forty lines
)


class Program(NamedTuple):
    """A program: its objects, and a body for each host thread (the first one is the main thread's).

    - `streams` holds (kind, thread that makes it), the kind being null, blocking or plain, the same
      with " 1" for the second device, or per-thread;
    - `buffers` holds (name, kind of memory, parts);
    - `queues` holds capacities;
    - `event_nodes` says whether the contract has them: without, they are left out.
    """

    streams: tuple[tuple[str, int], ...]
    buffers: tuple[tuple[str, str, tuple[str, ...]], ...]
    events: int
    locks: int
    queues: tuple[int | None, ...]
    threads: tuple[Body, ...]
    steps: int = 1
    cells: int = 0
    agents: int = 0
    event_nodes: bool = False


class Table(NamedTuple):
    """The API objects of a program, by index or by name."""

    streams: tuple[Any, ...]
    buffers: tuple[tuple[str, Any], ...]
    events: tuple[Any, ...]
    locks: tuple[Any, ...]
    queues: tuple[Any, ...]
    cells: tuple[Any, ...]
    agents: tuple[Any, ...]
    carries_out: type[Thread]
    graphs: tuple[tuple[int, Any], ...] = ()


def protocol_of(program: Program, carries_out: type[Thread] | None = None) -> Callable[[Gpu], None]:
    """The protocol function of a program; the class has its verbs."""

    def body(gpu: Gpu) -> None:
        table = Table(
            streams_of(gpu, program, 0, (None,) * len(program.streams)),
            tuple((name, make(gpu, name, kind, parts)) for name, kind, parts in program.buffers),
            tuple(gpu.event(f"e{i}") for i in range(program.events)),
            tuple(gpu.lock(f"l{i}") for i in range(program.locks)),
            tuple(gpu.queue(capacity, f"q{i}") for i, capacity in enumerate(program.queues)),
            tuple(gpu.cell(f"c{i}") for i in range(program.cells)),
            tuple(gpu.agent(f"a{i}") for i in range(program.agents)),
            carries_out or Thread,
        )
        table.carries_out(gpu, program, table).run(program.threads[0], None)

    return body


def make(gpu: Gpu, name: str, kind: str, parts: tuple[str, ...]) -> Any:
    """A buffer of this kind of memory."""
    kind, _, device = kind.partition(" ")
    return getattr(gpu, kind)(name, parts=parts, **({"device": int(device)} if device else {}))


def streams_of(gpu: Gpu, program: Program, thread: int, known: tuple[Any, ...]) -> tuple[Any, ...]:
    """The streams, those that this thread makes included."""
    made = list(known)
    for i, (name, maker) in enumerate(program.streams):
        if maker == thread and name != "per-thread":
            kind, _, device = name.partition(" ")
            number, null = int(device or 0), kind == "null"
            made[i] = gpu.null(number) if null else gpu.stream(f"s{i}", kind == "blocking", number)
    return tuple(made)


def host_thread(thread: int) -> Callable[[Gpu, Program, Table], None]:
    """What a started host thread runs, a function with a name of its own."""

    def run(gpu: Gpu, program: Program, table: Table) -> None:
        table = table._replace(streams=streams_of(gpu, program, thread, table.streams))
        table.carries_out(gpu, program, table).run(program.threads[thread], None)

    run.__name__ = f"thread{thread}"
    return run


class Thread:
    """Carries out the statements of one host thread, one method a verb."""

    def __init__(self, gpu: Gpu, program: Program, table: Table) -> None:
        self.gpu = gpu
        self.program = program
        self.table = table
        self.buffers = dict(table.buffers)
        self.started: dict[int, Any] = {}
        self.launched: list[object] = []
        self.step: int | None = None

    def run(self, body: Body, step: int | None) -> None:
        """Carry out a body, within this step of the step loop."""
        for statement in body:
            self.step = step
            self.carry_out(statement)

    def carry_out(self, statement: Statement) -> None:
        """Carry out one statement."""
        verb, *arguments = statement
        getattr(self, verb)(*arguments)

    def stream(self, index: int) -> Any:
        """The stream of this index."""
        if self.program.streams[index][0] == "per-thread":
            return self.gpu.per_thread_stream
        return self.table.streams[index]

    def region(self, name: str) -> Any:
        """The buffer or part of this name."""
        buffer, _, part = name.partition(".")
        return self.buffers[buffer][part] if part else self.buffers[buffer]

    def version(self, version: Any) -> Any:
        """A version in this step."""
        if isinstance(version, str):
            return self.region(version)
        if not isinstance(version, tuple):
            return version
        if version[0] == "same":
            return self.gpu.idempotent(version[1])
        return (self.step or 0) + version[1]

    def versions(self, pairs: Any) -> dict[Any, Any]:
        """Versions of regions in this step."""
        return {self.region(name): self.version(version) for name, version in pairs}

    def launch(self, stream: int, reads: Any, writes: Any, early: bool | str = False) -> None:
        reads, writes, on = self.versions(reads), self.versions(writes), self.stream(stream)
        self.launched.append(self.gpu.launch("kernel", on, reads, writes, early))

    def memcpy(self, dst: str, src: str) -> None:
        self.gpu.memcpy(self.region(dst), self.region(src))

    def memcpy_async(self, dst: str, src: str, stream: int, source: str | None = None) -> None:
        self.gpu.memcpy_async(self.region(dst), self.region(src), self.stream(stream), source)

    def memset(self, name: str, version: Any) -> None:
        self.gpu.memset(self.region(name), self.version(version))

    def memset_async(self, name: str, version: Any, stream: int) -> None:
        self.gpu.memset_async(self.region(name), self.version(version), self.stream(stream))

    def write(self, name: str, version: Any) -> None:
        same = isinstance(version, tuple) and version[0] == "same"
        known = version[1] if same else self.version(version)
        self.gpu.write(self.region(name), known, idempotent=same)

    def read(self, name: str, version: Any) -> None:
        self.gpu.read(self.region(name), self.version(version))

    def record(self, event: int, stream: int) -> None:
        self.table.events[event].record(self.stream(stream))

    def wait(self, stream: int, event: int) -> None:
        self.stream(stream).wait(self.table.events[event])

    def synchronize_event(self, event: int) -> None:
        self.table.events[event].synchronize()

    def synchronize_stream(self, stream: int) -> None:
        self.stream(stream).synchronize()

    def synchronize_device(self, device: int = 0) -> None:
        self.gpu.synchronize(device)

    def poll(self, event: int) -> None:
        self.table.events[event].poll()

    def query_event(self, event: int, yes: Body, no: Body) -> None:
        self.run(yes if self.table.events[event].query() else no, self.step)

    def query_stream(self, stream: int, yes: Body, no: Body) -> None:
        self.run(yes if self.stream(stream).query() else no, self.step)

    def destroy(self, stream: int) -> None:
        self.stream(stream).destroy()

    def concurrent(self) -> None:
        if len(self.launched) > 1:
            self.gpu.concurrent(*self.launched[-2:])

    def lock(self, locks: tuple[int, ...], body: Body) -> None:
        for lock in locks:
            self.table.locks[lock].acquire()
        self.run(body, self.step)
        for lock in reversed(locks):
            self.table.locks[lock].release()

    def choose(self, bodies: tuple[Body, ...]) -> None:
        self.run(self.gpu.choose(*bodies), self.step)

    def put(self, queue: int, item: int) -> None:
        self.table.queues[queue].put(item)

    def get(self, queue: int, body: Body) -> None:
        if self.table.queues[queue].get():
            self.run(body, self.step)

    def spawn(self, thread: int) -> None:
        fn = host_thread(thread)
        self.started[thread] = self.gpu.thread(fn, self.gpu, self.program, self.table)

    def join(self, thread: int) -> None:
        self.started[thread].join()

    def steps(self, body: Body) -> None:
        for step in self.gpu.steps():
            self.run(body, step)


def statements(body: Body) -> Iterator[Statement]:
    """Every statement of a body, nested ones included."""
    for statement in body:
        yield statement
        for argument in statement[1:]:
            if is_body(argument):
                yield from statements(argument)
            elif statement[0] == "choose":
                for option in argument:
                    yield from statements(option)


def is_body(argument: object) -> bool:
    """Whether a statement's argument is a body."""
    return (
        isinstance(argument, tuple)
        and bool(argument)
        and all(isinstance(part, tuple) and part and isinstance(part[0], str) for part in argument)
        and all(part[0] in VERBS for part in argument)
    )


def features(program: Program) -> set[str]:
    """What occurs in a program, by the names that a population counts."""
    found = {kind for kind, _maker in program.streams} | {kind for _n, kind, _p in program.buffers}
    found |= {f"{len(program.threads)} threads"}
    found |= {"parts" for _name, _kind, parts in program.buffers if parts}
    kinds = {name: kind for name, kind, _parts in program.buffers}
    replays = set()
    for statement in (s for body in program.threads for s in statements(body)):
        verb, *arguments = statement
        found |= {verb, *features_of(statement, kinds)}
        if verb == "replay":
            replays.add(tuple(arguments[:2]))
        elif verb == "put":
            bounded = program.queues[arguments[0]] is not None
            found.add("bounded queue" if bounded else "unbounded queue")
    graphs = {graph for graph, _stream in replays}
    found |= {"several graphs"} if len(graphs) > 1 else set()
    found |= {"replay from two streams"} if len(replays) > len(graphs) else set()
    return found


def features_of(statement: Statement, kinds: dict[str, str]) -> set[str]:
    """What occurs in one statement."""
    verb, *arguments = statement
    found: set[str] = set()
    if verb == "launch":
        found |= {"kernel reads" for _pair in arguments[1]}
        found |= {"kernel expects" for _name, version in arguments[1] if version is not None}
        found |= {"kernel copies" for _name, version in arguments[2] if type(version) is str}
        found |= {f"early {how}" for how in arguments[3:]}
        found |= {"idempotent" for _name, version in arguments[2] if str(version).startswith("('s")}
    elif verb == "lock" and len(arguments[0]) > 1:
        found.add("nested locks")
    elif verb == "memcpy_async":
        found |= {f"source {when}" for when in arguments[3:]}
        ends = {kinds.get(name, "device") for name in arguments[:2]}
        found |= {"peer copy"} if ends == {"device", "device 1"} else set()
    elif verb == "capture":
        inner = list(statements(arguments[2]))
        found |= {"fork in graph" for inside in inner if inside[0] == "wait"}
        copies = [inside for inside in inner if inside[0] == "memcpy_async"]
        found |= {f"{kinds[inside[2]]} copy node" for inside in copies}
        found |= {"event node" for inside in inner if inside[0] in {"record_node", "wait_node"}}
    elif verb == "replay":
        found |= {"bound expectation" for _pair in arguments[2]}
    elif verb in {"malloc", "malloc_async"}:
        found |= {"address reused"} if arguments[-1] else set()
    elif verb == "free_async":
        found |= {"used by" for _stream in arguments[2]}
    return found
