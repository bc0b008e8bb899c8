"""Random programs of graphs, allocation, cells, agents, early launches and several devices.

A program is drawn from *themes*, each a group of wishes; a wish is a small protocol that is right,
from which ordering statements are left out, never, now and then, or often. What a wish leaves
behind (a buffer with a version, used last by one stream) the next one may take up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping

Statement = tuple[Any, ...]
Statements = list[Statement]

THEMES = {
    "graphs": ("graph", "graph", "replay"),
    "memory": ("pool", "pool", "plain_memory"),
    "cells": ("stream_signal", "host_signal", "signal_to_host", "between_threads"),
    "copies": ("upload", "upload", "upload", "peer", "peer", "host_function"),
    "lanes": ("early", "early", "idempotent", "per_thread", "agent", "agent"),
}
FEW = ("stream_signal", "host_signal", "signal_to_host", "between_threads", "early", "agent")
PLAIN = ("kernel", "cross", "download", "question")


class Profile(NamedTuple):
    """How large programs are: threads and statements; which themes, and how many others."""

    themes: tuple[str, ...]
    others: tuple[int, ...]
    threads: tuple[int, ...]
    most: int


PROFILES = {
    "graphs": Profile(("graphs",), (0, 0, 1), (1, 1, 1, 2, 2, 3), 13),
    "memory": Profile(("memory", "copies"), (0,), (1, 1, 1, 1, 2, 2, 3), 16),
    "signals": Profile(("cells", "lanes"), (0,), (1, 1, 1, 2, 2, 3), 14),
    "wide": Profile((), (2, 3), (1, 1, 1, 2, 2, 3), 13),
    "threads": Profile(("cells",), (0, 0, 1), (2, 2, 3), 12),
    "narrow": Profile((), (1,), (1, 1, 2), 7),
    "few": Profile(("few",), (0,), (1, 1, 2), 3),
}
"""Programs of one theme or two, and more; *wide* mixes any, *threads* has several host threads that
use cells, *narrow* is for what is expensive, *few* for the oracle.
"""


class Left(NamedTuple):
    """A buffer that an earlier wish left: used last by this stream, holding this version."""

    name: str
    stream: int
    version: Any


class Wide:
    """Draws one program."""

    def __init__(
        self,
        rng: random.Random,
        profile: str,
        wishes: Mapping[str, Callable[[Any, int], Statements]],
    ) -> None:
        self.rng = rng
        self.profile = PROFILES[profile]
        self.wishes = wishes
        self.count = rng.choice(self.profile.threads)
        self.slip = rng.choice((0.0, 0.0, 0.06, 0.3))
        self.streams: list[tuple[str, int]] = []
        self.buffers: list[tuple[str, str, tuple[str, ...]]] = []
        self.bodies: list[Statements] = [[] for _ in range(self.count)]
        self.prologue: Statements = []
        self.shared: list[int] = []
        self.events = self.cells = self.agents = self.graphs = self.made = self.version = 0
        self.left: list[list[Left]] = [[] for _ in range(self.count)]
        self.replayable: list[Callable[[int], Statements]] = []
        self.capacity: list[int | None] = []
        for _ in range(2):
            self.stream(rng.choice(("plain", "plain", "blocking")), fresh=True)

    # --- objects -----------------------------------------------------------------------------

    def stream(self, *kinds: str, fresh: bool = False, but: int | None = None) -> int:
        """A stream of one of these kinds; a new one only where there is none."""
        kinds = kinds or ("plain", "blocking")
        found = [i for i, (k, _m) in enumerate(self.streams) if k in kinds and i != but]
        if found and not fresh:
            return self.rng.choice(found)
        self.streams.append((self.rng.choice(kinds), 0))
        return len(self.streams) - 1

    def buffer(self, *kinds: str) -> str:
        """A buffer of one of these kinds: its own in a careful program, else often another's."""
        found = [name for name, kind, _parts in self.buffers if kind in kinds]
        if found and self.slip > 0.1 and self.rng.random() < 0.3:
            return self.rng.choice(found)
        kind = self.rng.choice(kinds)
        self.buffers.append((f"{kind[:2]}{len(self.buffers)}", kind, ()))
        return self.buffers[-1][0]

    def event(self) -> int:
        """An event: a new one, or one that others use, no capture among them."""
        if self.shared and self.slip > 0.1 and self.rng.random() < 0.3:
            return self.rng.choice(self.shared)
        self.shared = [*self.shared[:1], self.events]
        self.events += 1
        return self.events - 1

    def cell(self) -> tuple[int, int]:
        """A cell, and a value that it has not held."""
        if not self.cells or (self.cells < 3 and self.rng.random() < 0.6):
            self.cells += 1
        self.made += 1
        return (self.rng.randrange(self.cells) if self.slip else self.cells - 1), self.made

    def name(self, kind: str) -> str:
        """A name for what a call makes."""
        self.made += 1
        return f"{kind}{self.made}"

    def new(self) -> int:
        """A version not used before."""
        self.version += 10
        return self.version

    # --- draws -------------------------------------------------------------------------------

    def may(self, chance: float) -> bool:
        """Something that is done with this chance."""
        return self.rng.random() < chance

    def needed(self, *statements: Statement) -> Statements:
        """Statements that make it right, unless forgotten."""
        return [] if self.may(self.slip) else list(statements)

    def awaited(self, stream: int) -> Statements:
        """The host waits for a stream, in one of many ways."""
        event = self.event()
        kind = self.streams[stream][0]
        device = int(kind.partition(" ")[2] or 0)
        ways = [
            [("synchronize_stream", stream)],
            [("record", event, stream), ("synchronize_event", event)],
            [("record", event, stream), ("poll", event)],
            [("synchronize_device", device)],
        ]
        return self.needed(*self.rng.choice(ways))

    def joined(self, before: int, after: int) -> Statements:
        """One stream waits for another."""
        event = self.event()
        return self.needed(("record", event, before), ("wait", after, event))

    def taken(self, thread: int, kinds: tuple[str, ...] = ("device",)) -> tuple[Statements, Left]:
        """A filled buffer and how it came to be: one that was left, or a new one."""
        fit = [left for left in self.left[thread] if self.kind(left.name) in kinds]
        if fit and self.may(0.6):
            self.left[thread].remove(chosen := self.rng.choice(fit))
            return [], chosen
        name, stream, version = self.buffer(*kinds), self.stream(), self.new()
        fills: list[Statements] = [[("launch", stream, (), ((name, version),))]]
        if self.kind(name) == "device":
            fills.append([("memset_async", name, version, stream)])
        return self.rng.choice(fills), Left(name, stream, version)

    def leave(self, thread: int, name: str, stream: int, version: Any) -> None:
        """A buffer that the thread's next wish may take up."""
        self.left[thread].append(Left(name, stream, version))

    def kind(self, name: str) -> str:
        """The kind of memory of a buffer; what is allocated is none of these."""
        return next((kind for buffer, kind, _parts in self.buffers if buffer == name), "allocated")

    def expected(self, version: Any) -> Any:
        """What a reader expects: the version, now and then nothing or another one."""
        if self.may(0.1):
            return None
        return -1 if self.slip and self.may(0.03) else version

    # --- the whole ---------------------------------------------------------------------------

    def fields(self) -> dict[str, Any]:
        """The fields of the program."""
        for number, wish in enumerate(self.wanted()):
            if sum(map(len, self.bodies)) + len(self.prologue) < self.profile.most:
                thread = number % self.count
                self.put(thread, self.granted(wish, thread))
                if self.may(0.45):
                    self.put(thread, [("synchronize_device", each) for each in self.devices()])
        self.around()
        self.start()
        return {
            "streams": tuple(self.streams),
            "buffers": tuple(self.buffers),
            "events": self.events,
            "locks": 1,
            "queues": tuple(self.capacity),
            "threads": tuple(tuple(body) for body in self.bodies),
            "steps": 2,
            "cells": self.cells,
            "agents": self.agents,
        }

    def wanted(self) -> list[str]:
        """The wishes of the themes, in any order."""
        if self.profile.themes == ("few",):
            return self.rng.sample(FEW, 2)
        others = [theme for theme in THEMES if theme not in self.profile.themes]
        themes = [
            *self.profile.themes,
            *self.rng.sample(others, self.rng.choice(self.profile.others)),
        ]
        wanted = [wish for theme in themes for wish in THEMES[theme] if self.may(0.75)]
        wanted += [wish for wish in PLAIN if self.may(0.25)]
        self.rng.shuffle(wanted)
        return wanted

    def devices(self) -> list[int]:
        """The devices on which something may run."""
        return sorted({int(kind.partition(" ")[2] or 0) for kind, _maker in self.streams})

    def granted(self, wish: str, thread: int) -> Statements:
        """The statements of one wish."""
        return self.wishes[wish](self, thread)

    def put(self, thread: int, statements: Statements) -> None:
        """Add statements to a thread; in a careless program they may go between others."""
        body = self.bodies[thread]
        if self.slip < 0.1 or self.may(0.6) or "replay" in str(statements):
            body += statements
            return
        places = sorted(self.rng.randint(0, len(body)) for _ in statements)
        for offset, (place, statement) in enumerate(zip(places, statements, strict=True)):
            body.insert(place + offset, statement)

    def around(self) -> None:
        """Locks, a claim that two launches overlap, a loop, a choice around some statements."""
        for body in self.bodies:
            if self.count > 1 and self.may(0.2):
                self.wrap(body, lambda part: ("lock", (0,), part))
            if self.profile.themes != ("few",) and self.may(0.35):
                body.append(("concurrent",))
            if self.may(0.12):
                self.wrap(body, lambda part: ("choose", (part, ())))

    def wrap(self, body: Statements, wrapped: Callable[[Any], Statement]) -> None:
        """Put a slice of a body, in which nothing is made that others need, into another form."""
        makes = {"capture", "malloc", "malloc_async", "free", "free_async", "post_read"}
        first = self.rng.randint(0, len(body))
        part = body[first : first + self.rng.randint(1, 3)]
        if part and not makes & {statement[0] for statement in part} and "post" not in str(part):
            body[first : first + len(part)] = [wrapped(tuple(part))]

    def start(self) -> None:
        """Captures come first, then the other threads start; some are joined."""
        main = self.bodies[0]
        for thread in range(1, self.count):
            place = self.rng.randint(0, min(1, len(main)))
            main.insert(place, ("spawn", thread))
            if self.may(0.4):
                main.insert(self.rng.randint(place + 1, len(main)), ("join", thread))
        main[:0] = self.prologue
