"""What a thread issues in a row to a lane of its own, as one message.

An issue has no guard and touches no memory, so that nothing is lost when all of a row are made
before anything else happens; the operations themselves are as many as before, each with its own
steps. It is the form that leaves SPIN's partial-order reduction the most: a step of 61 layers
goes through the queue as one message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .action import Action, Branch, Loop
from .layout import grown_by
from .watched import flat, places_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .action import Operation
    from .layout import Layout


class Batch(NamedTuple):
    """Actions that only issue, to one lane; loops of them repeat without being waited for."""

    lane: int
    parts: list[Any]

    @property
    def key(self) -> Any:
        """What the lane has to do: equal for equal work."""
        return tuple(work(part) for part in self.parts)

    @property
    def operations(self) -> list[Operation]:
        """Its operations, those of loops once."""
        return [op for action in flat(self.parts) for op in action.issues]

    @property
    def grows(self) -> bool:
        """Whether it depends on the step counter."""
        return any(grown_by(op) is not None for op in self.operations)


def work(part: Any) -> Any:
    """What is done in a part of a batch, without what is only for reading."""
    if isinstance(part, Loop):
        return part.times, tuple(work(each) for each in part.body)
    return tuple(op._replace(label="", before=frozenset()) for op in part.issues)


class Batches:
    """Puts rows of issues into batches; `silent` says whether an action changes no mark."""

    def __init__(self, layout: Layout, silent: Callable[[Action], bool]) -> None:
        self.layout = layout
        self.silent = silent
        users: dict[Any, set[int]] = {}
        for thread, code in layout.code.items():
            for action in flat(code):
                for thing in (*places_of(action), *(("lane", op.lane) for op in action.issues)):
                    users.setdefault(thing, set()).add(thread)
        self.private = {thing for thing, threads in users.items() if len(threads) == 1}

    def of(self, code: list[Any]) -> list[Any]:
        """Code with its rows in batches."""
        found: list[Any] = []
        for part in code:
            if isinstance(part, Branch):
                found.append(part._replace(ways=[self.of(way) for way in part.ways]))
                continue
            lane = self.lane(part)
            last = found[-1] if found else None
            if lane is None and isinstance(last, Batch) and self.only_notes(part):
                last.parts.append(part)
            elif lane is None:
                whole = isinstance(part, Loop)
                found.append(part._replace(body=self.of(part.body)) if whole else part)
            elif isinstance(last, Batch) and last.lane == lane:
                last.parts.append(part)
            else:
                found.append(Batch(lane, [part]))
        return [simplified(part) for part in found]

    def drained(self) -> set[int]:
        """Regions that one thread and one lane of its own access, where nothing waits for cells.

        Whatever is pending there can be done without the thread. So if one of its accesses is next
        while a conflicting operation is pending, both are possible in some state: it is enough
        to count operations from their issue, and each is one step.
        """
        if self.layout.cells:
            return set()
        found = set()
        for slot, owners in self.layout.owners.items():
            lanes = {number for kind, number in owners if kind == "lane"}
            pair = len(owners) == 2 and len(lanes) == 1
            if pair and ("lane", *lanes) in self.private and slot not in self.layout.idempotent:
                found.add(slot)
        return found

    def lane(self, part: Any) -> int | None:
        """The private lane to which a part only issues."""
        actions = [part] if isinstance(part, Action) else []
        if isinstance(part, Loop) and part.first is None:
            actions = part.body if all(isinstance(each, Action) for each in part.body) else []
            if any(op.watched for a in actions for op in a.issues):
                return None
            if not all(self.silent(action) for action in actions):
                return None
        if not actions or not all(self.only_issues(action) for action in actions):
            return None
        lanes = {op.lane for action in actions for op in action.issues}
        lane = lanes.pop()
        return lane if not lanes and ("lane", lane) in self.private else None

    def only_issues(self, action: Action) -> bool:
        """Whether an action does nothing but issue operations that wait for their own lane only."""
        bare = Action(action.comment, action.step, issues=action.issues, updates=action.updates)
        own = bare == action and bool(action.issues) and self.notes_own(action)
        return own and all(self.plain(op, action) for op in action.issues)

    def notes_own(self, action: Action) -> bool:
        """Whether an action touches only tails and events that no other thread uses: another one
        could wait for a part of the row.
        """
        return set(places_of(action)) <= self.private

    def plain(self, op: Operation, action: Action) -> bool:
        """Whether an operation carries nothing and waits for no other lane."""
        return not op.carries and self.layout.lanes_in(op.before, action) <= {op.lane}

    def only_notes(self, part: Any) -> bool:
        """Whether a part only notes what tails and events stand for."""
        if not isinstance(part, Action) or not self.notes_own(part):
            return False
        return part == Action(part.comment, part.step, updates=part.updates)


def simplified(part: Any) -> Any:
    """A batch of one action is that action."""
    if isinstance(part, Batch) and len(part.parts) == 1 and isinstance(part.parts[0], Action):
        return part.parts[0]
    return part


def individual(code: list[Any]) -> Iterator[Action]:
    """The actions of a piece of code that are in no batch."""
    for part in code:
        if isinstance(part, Action):
            yield part
        elif isinstance(part, Loop):
            yield from individual(part.body)
        elif isinstance(part, Branch):
            for way in part.ways:
                yield from individual(way)


def batches_in(code: list[Any]) -> Iterator[Batch]:
    """The batches in a piece of code."""
    for part in code:
        if isinstance(part, Batch):
            yield part
        elif isinstance(part, Loop):
            yield from batches_in(part.body)
        elif isinstance(part, Branch):
            for way in part.ways:
                yield from batches_in(way)
