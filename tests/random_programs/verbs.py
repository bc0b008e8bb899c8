"""The verbs of graphs, allocation, cells and agents, beside those of `programs`.

    ("host_func", stream, reads, writes)      ("replay", graph, stream, expectations)
    ("capture", graph, stream, body)          ("record_node", event, stream)
    ("wait_node", stream, event)              ("free", name)
    ("malloc", name, earlier name or None)    ("malloc_async", name, stream, earlier or None)
    ("free_async", name, stream, streams)     ("set_cell", cell, value)
    ("write_value", stream, cell, value)      ("wait_value", stream, cell, value)
    ("wait_cell", cell, value)                ("post_read", agent, region, version, slot)
    ("post_write", agent, region, version, slot)
    ("synchronize_post", slot)                ("wait_post", stream, slot)

A launch may end in `early`, an asynchronous copy in `source`. What a thread allocates, captures and
posts is its own and that of the threads that it starts later.
"""

# ruff: noqa: D102 - the methods named after verbs issue that call

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any
from zlib import crc32

if TYPE_CHECKING:
    from types import CodeType

Statement = tuple[Any, ...]
Body = tuple[Statement, ...]


class Verbs:
    """Carries out the statements of one host thread, one method a verb; mixed into `Thread`."""

    gpu: Any
    program: Any
    table: Any
    buffers: dict[str, Any]
    launched: list[object]
    step: int | None
    run: Any
    stream: Any
    region: Any
    version: Any
    versions: Any

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.graphs: dict[int, Any] = dict(self.table.graphs)
        self.posts: dict[int, Any] = {}

    def carry_out(self, statement: Statement) -> None:
        """Carry out one statement from a source line of its own, which findings then name."""
        act = super().carry_out  # type: ignore[misc] - Thread has it
        exec(at_line(line_of(statement)), {"act": lambda: act(statement)})  # noqa: S102

    def host_func(self, stream: int, reads: Any, writes: Any) -> None:
        reads, writes = self.versions(reads), self.versions(writes)
        self.gpu.host_func("host", self.stream(stream), reads, writes)

    # --- graphs ---

    def capture(self, graph: int, stream: int, body: Body) -> None:
        with self.gpu.capture(self.stream(stream), f"graph{graph}") as made:
            launched = list(self.launched)
            self.run(body, self.step)
        self.graphs[graph], self.launched = made, launched

    def record_node(self, event: int, stream: int) -> None:
        if self.program.event_nodes:
            self.table.events[event].record(self.stream(stream), external=True)

    def wait_node(self, stream: int, event: int) -> None:
        if self.program.event_nodes:
            self.stream(stream).wait(self.table.events[event], external=True)

    def replay(self, graph: int, stream: int, expectations: Any) -> None:
        self.graphs[graph].launch(self.stream(stream), reads=self.versions(expectations))

    def spawn(self, thread: int) -> None:
        buffers, graphs = tuple(self.buffers.items()), tuple(self.graphs.items())
        self.table = self.table._replace(buffers=buffers, graphs=graphs)
        super().spawn(thread)  # type: ignore[misc] - Thread has it

    # --- allocation ---

    def malloc(self, name: str, of: str | None) -> None:
        self.buffers[name] = self.gpu.malloc(name, of=self.buffers.get(of or ""))

    def free(self, name: str) -> None:
        self.gpu.free(self.buffers[name])

    def malloc_async(self, name: str, stream: int, of: str | None) -> None:
        earlier = self.buffers.get(of or "")
        self.buffers[name] = self.gpu.malloc_async(name, self.stream(stream), of=earlier)

    def free_async(self, name: str, stream: int, used_by: tuple[int, ...]) -> None:
        users = [self.stream(user) for user in used_by]
        self.gpu.free_async(self.buffers[name], self.stream(stream), users)

    # --- cells and agents ---

    def write_value(self, stream: int, cell: int, value: Any) -> None:
        self.gpu.write_value(self.stream(stream), self.table.cells[cell], self.version(value))

    def wait_value(self, stream: int, cell: int, value: Any) -> None:
        self.gpu.wait_value(self.stream(stream), self.table.cells[cell], self.version(value))

    def set_cell(self, cell: int, value: Any) -> None:
        self.table.cells[cell].set(self.version(value))

    def wait_cell(self, cell: int, value: Any) -> None:
        self.table.cells[cell].wait(self.version(value))

    def post_read(self, agent: int, name: str, version: Any, slot: int) -> None:
        found = self.table.agents[agent].read(self.region(name), self.version(version))
        self.posts[slot] = found

    def post_write(self, agent: int, name: str, version: Any, slot: int) -> None:
        found = self.table.agents[agent].write(self.region(name), self.version(version))
        self.posts[slot] = found

    def synchronize_post(self, slot: int) -> None:
        self.posts[slot].synchronize()

    def wait_post(self, stream: int, slot: int) -> None:
        self.stream(stream).wait(self.posts[slot])


@lru_cache(maxsize=10_000)
def line_of(statement: Statement) -> int:
    """A line number for a statement, the same in every run."""
    return 1 + crc32(repr(statement).encode()) % 1000


@lru_cache(maxsize=1000)
def at_line(number: int) -> CodeType:
    """Code that acts, on this line."""
    return compile("\n" * number + "act()", "program", "exec")
