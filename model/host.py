"""The host: the protocol's own Python, traced into calls.

Each host thread runs as a greenlet that stops at every call, so that a checker can decide what
comes next. What a thread does depends only on the results its calls got (choices, query answers,
items of queues), so all that it can do is a tree: a `Node` is a thread about to issue a call, its
children are keyed by the call's result. The tree is traced once and replayed where a branch is
taken; every path is traced a second time by `verify`, which refuses host code that issued
different calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from greenlet import getcurrent, greenlet

from .calls import OPERATIONS
from .direct import refusals
from .errors import BadProtocol
from .gpu import Gpu
from .shared_state import Holding, Walk, untouched
from .trace import described
from .unrun import ran
from .where import Where, caller

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .calls import Call


class Node:
    """A host thread about to issue `call` (None: it has returned).

    `where` is the call's source line, `step` the step it belongs to (None outside the loop),
    `allowed` the reason that declares its wait intended, `falses` how many queries of an
    event or stream have answered false to this thread in a row, in one step.
    """

    __slots__ = (
        "allowed", "call", "children", "depth", "falses", "parent", "result", "run", "spawned",
        "step", "thread", "where",
    )  # fmt: skip

    def __init__(self, thread: int, parent: Node | None, result: object) -> None:
        self.thread = thread
        self.parent = parent
        self.result = result
        self.children: dict[object, Node] = {}
        self.depth: int = parent.depth + 1 if parent else 0
        self.falses: dict[Any, int] = parent.falses if parent else {}
        self.call: Call | None = None
        self.where: Where | None = None
        self.step: int | None = None
        self.allowed: str | None = None
        self.run: Run | None = None
        self.spawned: Node | None = None

    def path(self) -> list[Node]:
        """The nodes from this thread's first call to here."""
        nodes: list[Node] = []
        node: Node | None = self
        while node is not None:
            nodes.append(node)
            node = node.parent
        return nodes[::-1]


class Run:
    """One greenlet that executes a host thread: the `Reading` of the calls it makes."""

    def __init__(self, host: Host, thread: int, body: Callable[[], None]) -> None:
        self.host = host
        self.thread = thread
        self.made = 0
        self.step: int | None = None
        self.allowed: str | None = None
        self.where: Where | None = None
        self.greenlet = greenlet(lambda _start: body())

    def resume(self, value: object) -> Call | None:
        """Run on with the last call's result to the next call; None when the thread returned."""
        self.host.gpu.attach(self)
        self.greenlet.parent = getcurrent()
        with refusals():
            call = self.greenlet.switch(value)
        return None if self.greenlet.dead else call

    def call(self, call: Call) -> Any:
        """Stop at this call until its result is known."""
        if getcurrent() is not self.greenlet:
            raise BadProtocol("a call was made outside the protocol's host threads")
        editor = self.host.gpu.editor
        self.where = caller() if editor is None else editor.here
        hub = self.greenlet.parent
        assert hub is not None
        return hub.switch(call)

    def mark(self, what: str, value: Any) -> None:
        """Note where the thread is in its step loop, and what it makes."""
        if what == "made":
            self.host.born.setdefault(value, self.step)
        elif what == "step":
            self.step = value


class Host:
    """All host threads of one protocol, as a tree of calls for each."""

    def __init__(self, body: Callable[[Gpu], None], steps: int) -> None:
        self.gpu = Gpu(steps)
        self.body = body
        self.born: dict[object, int | None] = {}
        self.roots: dict[Node, Callable[[], None]] = {}
        self.shared: dict[Node, Walk] = {}
        self.held = Holding(())
        self.root = self._start(0, lambda: body(self.gpu))

    def _start(self, thread: int, body: Callable[[], None]) -> Node:
        root = Node(thread, None, None)
        self.roots[root] = body
        self._advance(root, Run(self, thread, body), None)
        return root

    def spawn(self, node: Node) -> Node:
        """The first node of the thread that this node's `thread` call starts."""
        if node.spawned is None:
            assert node.call is not None
            _verb, thread, fn, args = node.call
            self.shared[node] = Walk((fn, args), node.where)
            self.held = Holding(self.shared.values())
            node.spawned = self._start(thread.slot, lambda: self._run_thread(node, fn, args))
        return node.spawned

    def _run_thread(self, node: Node, fn: Callable[..., object], args: tuple[object, ...]) -> None:
        assert node.call is not None
        ran(fn(*args), f"host thread {node.call[1].name!r}", node.where)
        if self.gpu.editor is not None:
            self.gpu.editor.end()

    def child(self, node: Node, result: object = None) -> Node:
        """The node that follows when the node's call returns `result`."""
        found = node.children.get(result)
        if found is None:
            run = node.run or self._replay(node)
            node.run = None
            found = Node(node.thread, node, result)
            found.falses = falses_after(node, result)
            self._advance(found, run, answer(node, result))
            node.children[result] = found
        return found

    def _advance(self, node: Node, run: Run, value: object) -> None:
        node.call = run.resume(value)
        if node.call is not None:
            node.run, node.where = run, run.where
            node.step, node.allowed = run.step, run.allowed
        self._check_shared()

    def _check_shared(self) -> None:
        if untouched(self.held):
            return
        for node, before in self.shared.items():
            assert node.call is not None
            now = Walk(node.call[2:], node.where)
            if now.shape != before.shape:
                raise BadProtocol(
                    f"host thread {node.call[1].name!r} shares Python state that changes after the "
                    "thread has started: threads may share API objects only; pass values as "
                    "arguments of gpu.thread() or through a gpu.queue()",
                    str(node.where),
                )
            self.shared[node] = now
        self.held = Holding(self.shared.values())

    def _replay(self, node: Node) -> Run:
        """A fresh greenlet that has come to this node; refuses host code that went elsewhere."""
        path = node.path()
        run = Run(self, node.thread, self.roots[path[0]])
        value: object = None
        for at, following in zip(path, [*path[1:], None], strict=True):
            call = run.resume(value)
            expect(call, at, run)
            if following is not None:
                value = answer(at, following.result)
        return run

    def nodes(self) -> Iterator[Node]:
        """Every traced node of every thread."""
        stack = list(self.roots)
        while stack:
            node = stack.pop()
            stack.extend(node.children.values())
            yield node

    def leaves(self) -> Iterator[Node]:
        """The last traced node of every path of every thread."""
        return (node for node in self.nodes() if not node.children)

    def branches(self) -> bool:
        """Whether there is more than one way through: several threads, or choices."""
        return len(self.gpu.threads) > 1 or any(len(node.children) > 1 for node in self.nodes())

    def verify(self) -> None:
        """Trace every path a second time; raises `BadProtocol` where the calls differ."""
        for leaf in list(self.leaves()):
            self._replay(leaf)
        if len(self.roots) > 1:
            self._replay_eagerly(self.root)
        self._check_shared()

    def _replay_eagerly(self, root: Node) -> None:
        """One path of each thread, each thread as soon as it is started: Python that two threads
        share shows as other calls than in the first trace, where the starting thread went first.
        """
        run, value, node = Run(self, root.thread, self.roots[root]), None, root
        while True:
            expect(run.resume(value), node, run)
            if node.spawned is not None:
                self._replay_eagerly(node.spawned)
            if not node.children:
                return
            result, following = next(iter(node.children.items()))
            value, node = answer(node, result), following


def answer(node: Node, result: object) -> object:
    """What the protocol sees as the call's result: an operation's handle is its node."""
    return node if node.call is not None and node.call[0] in OPERATIONS else result


def same(first: Call | None, second: Call | None) -> bool:
    """Whether two traces issued the same call; of a thread's function, whether it is one code."""
    if first is None or second is None:
        return first is second
    if first[0] == "thread" == second[0]:
        return first[1] is second[1] and code_of(first[2]) == code_of(second[2])
    return first == second and repr(first) == repr(second)


def code_of(fn: object) -> object:
    """The code of a function, or the thing itself."""
    return getattr(fn, "__code__", fn)


def expect(call: Call | None, node: Node, run: Run) -> None:
    """Refuse host code whose second trace issues another call than its first."""
    if not same(call, node.call):
        second, first = shown(call), shown(node.call)
        raise BadProtocol(
            f"host code is not deterministic: its second trace issues {second} where the first "
            f"issued {first}; calls may depend only on steps, choose(), query() and queues, and "
            "host threads may share API objects only",
            str(node.where or run.where),
        )


def shown(call: Call | None) -> str:
    """A call in words, for an error."""
    return "nothing more" if call is None else described(call)


def falses_after(node: Node, result: object) -> dict[Any, int]:
    """How often in a row queries have answered false, after this node's call."""
    call, falses = node.call, node.falses
    if call is None:
        return falses
    if call[0] == "query":
        key = (call[1], node.step)
        return {**falses, key: 0 if result else falses.get(key, 0) + 1}
    touched = [key for key in falses if key[0] in call[1:]]
    return {**falses, **dict.fromkeys(touched, 0)} if touched else falses
