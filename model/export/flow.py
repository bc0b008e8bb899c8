"""From a protocol to the actions of its host threads: the traced tree of calls, made code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .. import sync
from ..again import from_the_start
from ..errors import BadInput, BudgetSpent
from ..explore import explore
from ..host import Host
from ..objects import Graph
from .action import Action, Branch, Goto, Label
from .roll import rolled
from .symbolic import Symbolic, comment
from .versions import Versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..contract import Contract
    from ..gpu import Gpu
    from ..host import Node

MOST_NODES = 50_000
MOST_STATES = 200_000
"""How much of a program is traced: calls on all paths; states, where queues say what comes next."""

Key = tuple[Any, ...]


class Tree(NamedTuple):
    """A traced call: its actions, and how it goes on, by the call's result."""

    actions: tuple[Action, ...]
    ways: tuple[tuple[tuple[Action, ...], int], ...]


class Flow:
    """The code of every host thread, with what it is about.

    `code[thread]` is a list of actions, loops, branches, labels and gotos; `symbolic` knows lanes
    and cells; `consulted` names the promises that the contract leaves open and some call needed.
    """

    def __init__(
        self,
        body: Callable[[Gpu], None],
        contract: Contract,
        steps: int,
        uncertain: tuple[str, ...] = (),
    ) -> None:
        self.host = Host(body, steps)
        self.contract = contract
        self.uncertain = uncertain
        self.steps = steps
        self.versions = Versions()
        self.items: dict[object, int] = {}
        self.symbolic = self.new_symbolic()
        self.code: dict[int, list[Any]] = {}
        from_the_start(self.trace)

    @property
    def consulted(self) -> set[str]:
        """The open promises on which some call depended."""
        return self.symbolic.front.consulted

    def new_symbolic(self) -> Symbolic:
        """The front end, with everything still to be seen."""
        return Symbolic(self.host, self.contract, self.versions, self.uncertain)

    # --- tracing ---

    def trace(self) -> None:
        """Trace every thread; queues are explored first, to know what can come out of them."""
        gpu = self.host.gpu
        self.learn()
        self.symbolic = self.new_symbolic()
        self.roots: list[tuple[Node, dict[Any, Any]]] = [(self.host.root, {})]
        self.code = {}
        for root, notes in self.roots:
            code = self.code_of(self.tree_of(root, notes))
            if self.code.setdefault(root.thread, code) != code:
                name = gpu.threads[root.thread].name
                raise BadInput(
                    f"host thread {name!r} is not the same wherever it is started: not exported"
                )
        if gpu.cells_used and not self.contract.streams_progress:
            raise BadInput(
                f"{self.contract.name}: streams that make no progress by themselves are not "
                "exported: leave streams_progress true"
            )

    def learn(self) -> None:
        """What has to be known from the start: threads, and what comes out of queues."""
        for seen, node in enumerate(self.expanded(self.host.root)):
            if seen > MOST_NODES:
                raise BadInput(f"more than {MOST_NODES} calls on all paths: give fewer --steps")
            if node.call is not None and node.call[0] == "thread":
                self.host.gpu.threads_used = True
        if any(type(thing).__name__ == "Queue" for thing in self.host.gpu.syncs):
            self.explore()

    def explore(self) -> None:
        """Walk every state, so that every item that a `get` can return has been traced."""
        try:
            explore(self.host, self.contract, (), max_states=MOST_STATES)
        except BudgetSpent as error:
            raise BadInput(
                f"what comes out of its queues takes too long to find out ({error}): give fewer "
                "--steps"
            ) from None

    def expanded(self, root: Node) -> Iterator[Node]:
        """The nodes of a thread that can be known without running others."""
        stack = [root]
        while stack:
            node = stack.pop()
            yield node
            if node.call is not None:
                stack += [self.host.child(node, result) for result in self.results(node)]

    def results(self, node: Node) -> tuple[Any, ...]:
        """Every result that a call can have."""
        assert node.call is not None
        verb = node.call[0]
        if verb == "choose":
            return tuple(range(node.call[1]))
        if verb == "get":
            return tuple(node.children)
        if verb == "query":
            falses = node.falses.get((node.call[1], node.step), 0)
            return sync.answers(falses, done=False)
        return (None,)

    # --- the tree, as code ---

    def tree_of(self, root: Node, notes: dict[Any, Any]) -> tuple[dict[int, Tree], int]:
        """The distinct trees below a node by number, and the root's: equal ones are one."""
        known: dict[Key, int] = {}
        trees: dict[int, Tree] = {}
        numbers: dict[Node, int] = {}
        stack: list[tuple[Node, dict[Any, Any], Any]] = [(root, notes, None)]
        while stack:
            node, notes, made = stack.pop()
            if made is None:
                made = self.made(node, notes)
                stack.append((node, notes, made))
                stack += [(child, made[2], None) for _way, child in made[1]]
                continue
            ways = tuple((way, numbers[child]) for way, child in made[1])
            tree = Tree(tuple(made[0]), ways)
            key = (tuple(blank(a) for a in tree.actions), tuple((blank_all(w), n) for w, n in ways))
            numbers[node] = number = known.setdefault(key, len(known))
            trees.setdefault(number, tree)
        return trees, numbers[root]

    def made(self, node: Node, notes: dict[Any, Any]) -> Any:
        """A node's actions, its ways on with their own actions, and the notes after it."""
        if node.call is None:
            return [], [], notes
        verb = node.call[0]
        if verb == "get" and not node.children:
            return [self.guarded(node, ("never",))], [], notes
        if verb in {"choose", "get", "query"}:
            ways = [
                (self.way(node, result, notes), self.host.child(node, result))
                for result in self.results(node)
            ]
            return [], ways, notes
        if verb == "put":
            item = self.items.setdefault(node.call[2], len(self.items) + 1)
            actions, after = [self.guarded(node, ("put", node.call[1], item))], notes
        else:
            actions, after = self.symbolic.actions(node, notes)
        if verb == "thread":
            self.roots.append((self.host.spawn(node), notes))
        elif len(self.roots) > 1 and self.lasting(after) != self.lasting(notes):
            raise BadInput(
                f"{node.where}: captures, allocations and stream destruction while several host "
                "threads run are not exported: what they mean depends on what other threads did"
            )
        return actions, [((), self.host.child(node))], after

    def lasting(self, notes: dict[Any, Any]) -> dict[Any, Any]:
        """What is noted, but for which graphs were launched: that only says what may not be."""
        graphs = [thing for thing in notes if isinstance(thing, Graph)]
        launched = {self.host.gpu.hidden("launched", graph) for graph in graphs}
        return {thing: note for thing, note in notes.items() if thing not in launched}

    def way(self, node: Node, result: Any, notes: dict[Any, Any]) -> tuple[Action, ...]:
        """What must be so for a result."""
        assert node.call is not None
        if node.call[0] == "choose":
            return ()
        if node.call[0] == "get":
            item = self.items.setdefault(result, len(self.items) + 1)
            return (self.guarded(node, ("get", node.call[1], item)),)
        atoms = self.symbolic.query(node, notes)
        return (self.guarded(node, ("done" if result else "pending", atoms)),)

    def guarded(self, node: Node, guard: tuple[Any, ...]) -> Action:
        """An action that only waits."""
        return Action(comment(node), node.step, guard)

    def code_of(self, found: tuple[dict[int, Tree], int]) -> list[Any]:
        """Code for a tree: rolled into loops where it does not branch, else with labels."""
        trees, root = found
        if all(len(tree.ways) < 2 for tree in trees.values()):
            return rolled(list(straight(trees, root)))
        return Labelled(trees).code(root)


class Labelled:
    """Code for trees that branch and meet again."""

    def __init__(self, trees: dict[int, Tree]) -> None:
        self.trees = trees
        self.uses: dict[int, int] = {}
        for tree in trees.values():
            for _way, number in tree.ways:
                self.uses[number] = self.uses.get(number, 0) + 1
        self.written: set[int] = set()

    def code(self, number: int) -> list[Any]:
        """The code from a tree on; what has been written already is gone to."""
        found: list[Any] = []
        while True:
            tree = self.trees[number]
            if number in self.written:
                return [*found, Goto(number)]
            if self.uses.get(number, 0) > 1:
                self.written.add(number)
                found.append(Label(number))
            found += tree.actions
            if len(tree.ways) > 1:
                ways = [[*way, *self.code(following)] for way, following in tree.ways]
                return [*found, Branch("", ways)]
            if not tree.ways:
                return found
            [(way, number)] = tree.ways
            found += way


def straight(trees: dict[int, Tree], number: int) -> Iterator[Action]:
    """The actions of a thread that never branches."""
    while True:
        tree = trees[number]
        yield from tree.actions
        if not tree.ways:
            return
        [(way, number)] = tree.ways
        yield from way


def blank(action: Action) -> Action:
    """An action without what is only for reading."""
    issues = tuple(op._replace(label="") for op in action.issues)
    return action._replace(comment="", step=None, issues=issues)


def blank_all(actions: tuple[Action, ...]) -> tuple[Action, ...]:
    """The same for several."""
    return tuple(blank(action) for action in actions)
