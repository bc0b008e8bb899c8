"""Random programs, drawn from a `random.Random` (hypothesis has one whose draws it can shrink).

A program is drawn in three moves: its objects; a list of *wishes*, each a feature that is asked for
with the same chance, spread over its host threads; and for each wish a few statements. Half of the
programs are *careful*: each buffer has a home stream and an owner thread, and the host waits for
the home stream before it touches the buffer, now and then forgetting to. The others are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

Statement = tuple[Any, ...]
Statements = list[Statement]

WISHES = (
    *("launch",) * 6, *("kernel_copy", "memcpy", "memcpy_async") * 2, "memset",
    "memset_async", "record", "wait", "synchronize_event", "synchronize_stream",
    "synchronize_device", "poll", "query_event", "query_stream", "write", "read", "choose",
)  # fmt: skip
TINY_WISHES = (
    *("launch",) * 4, *("kernel_copy", "memcpy", "memcpy_async") * 2, "record", "wait",
    "synchronize_event", "synchronize_stream", "synchronize_device", "poll", "query_event",
    "query_stream", "write", "write", "read", "choose",
)  # fmt: skip
QUESTIONS = (
    *("launch",) * 3, *("record", "query_stream", "synchronize_event") * 2,
    *("query_event",) * 3, "write", "synchronize_stream",
)  # fmt: skip
TRIO = (
    *("launch",) * 3, *("synchronize_stream",) * 4, "record", "query_stream", "write", "read",
)  # fmt: skip
KERNEL = ("device", "pinned", "managed")
HOST = ("pinned", "pageable", "managed")
FORGETS = 0.08


class Sizes:
    """How large programs are, and what they are made of.

    - *mixed*: everything;
    - *tiny*: for enumeration without any reduction;
    - *questions*: two or three threads that query, wait and record;
    - *trio*: three threads with few calls, on one stream.
    """

    def __init__(self, profile: str = "mixed") -> None:
        tiny = profile != "mixed"
        self.tiny = tiny
        self.wishes = {
            "mixed": WISHES, "tiny": TINY_WISHES, "questions": QUESTIONS, "trio": TRIO,
        }[profile]  # fmt: skip
        self.wish = {"mixed": 0.33, "tiny": 0.25}.get(profile, 0.6)
        self.most = {"mixed": 16, "tiny": 6, "questions": 12}.get(profile, 9)
        self.streams = {"mixed": (2, 4), "trio": (1, 1)}.get(profile, (1, 2))
        self.buffers = (1, 2) if tiny else (3, 4)
        self.threads = {
            "mixed": (1, 1, 2, 2, 3), "tiny": (1, 1, 2), "questions": (2, 2, 3), "trio": (3,),
        }[profile]  # fmt: skip
        self.kinds = ("device", "pinned", "pageable", "managed")[: 3 if tiny else 4]


class Maker:
    """Draws one program."""

    def __init__(self, rng: random.Random, sizes: Sizes) -> None:
        self.rng = rng
        self.sizes = sizes
        self.count = rng.choice(sizes.threads)
        self.careful = rng.random() < 0.45
        self.streams = [self.stream(i) for i in range(rng.randint(*sizes.streams))]
        self.buffers = [self.buffer(i) for i in range(rng.randint(*sizes.buffers))]
        self.owner = {name: rng.randrange(self.count) for name, _kind, _parts in self.buffers}
        self.home: dict[str, int] = {}
        self.queues: list[int | None] = []
        self.holds: dict[str, Any] = {}
        self.version = 0
        self.in_loop = False

    # --- objects -----------------------------------------------------------------------------

    def stream(self, index: int) -> tuple[str, int]:
        """A kind of stream and the thread that makes it; the main thread's first one is usable."""
        kind = self.rng.choice(("null", "blocking", "plain", "plain"))
        maker = self.rng.randrange(self.count) if index and self.rng.random() < 0.3 else 0
        return kind, 0 if kind == "null" else maker

    def buffer(self, index: int) -> tuple[str, str, tuple[str, ...]]:
        """A buffer of any kind of memory, one in five of them in parts."""
        kind = self.rng.choice(self.sizes.kinds)
        parts = ("a", "b") if not self.sizes.tiny and self.rng.random() < 0.2 else ()
        return f"{kind[0:2]}{index}", kind, parts

    # --- draws -------------------------------------------------------------------------------

    def usable(self, thread: int) -> list[int]:
        """The streams that a thread may use."""
        return [i for i, (_kind, maker) in enumerate(self.streams) if maker in {0, thread}]

    def region(self, thread: int, kinds: tuple[str, ...]) -> str | None:
        """A buffer of one of these kinds, or a part; in a careful program, one that it owns."""
        fit = [
            (name, parts)
            for name, kind, parts in self.buffers
            if kind in kinds and not (self.careful and self.owner[name] != thread)
        ]
        if not fit:
            return None
        name, parts = self.rng.choice(fit)
        return f"{name}.{self.rng.choice(parts)}" if parts and self.rng.random() < 0.7 else name

    def kind(self, region: str) -> str:
        """The kind of memory of a region."""
        return next(kind for name, kind, _p in self.buffers if name == region.partition(".")[0])

    def stream_for(self, thread: int, region: str) -> int:
        """A stream for work on a region: its home stream, where the program is careful."""
        streams = self.usable(thread)
        if not self.careful or self.rng.random() < FORGETS:
            return self.rng.choice(streams)
        return self.home.setdefault(region.partition(".")[0], self.rng.choice(streams))

    def new_version(self) -> Any:
        """A version not used before; in a loop it may follow the step."""
        self.version += 10
        return ("n", self.version) if self.in_loop and self.rng.random() < 0.5 else self.version

    def expected(self, region: str) -> Any:
        """What the thread would find there if everything ran in the order of the program."""
        held = self.holds.get(region)
        if held is None or self.rng.random() < 0.1:
            return None
        return held if self.rng.random() < 0.95 else -1

    def note(self, region: str, version: Any) -> None:
        """The version that a region, and each part of it, holds now; None for unknown."""
        name, _, part = region.partition(".")
        parts = next(parts for buffer, _kind, parts in self.buffers if buffer == name)
        self.holds[name] = None if part else version
        for each in (part,) if part else parts:
            self.holds[f"{name}.{each}"] = version

    def settled(self, thread: int, region: str) -> Statements:
        """A wait for the region's home stream, in a careful program."""
        home = self.home.get(region.partition(".")[0])
        if not self.careful or home is None or self.rng.random() < FORGETS:
            return []
        if home not in self.usable(thread):
            return [("synchronize_device",)]
        ways = [
            [("synchronize_stream", home)],
            [("record", thread, home), ("synchronize_event", thread)],
            [("record", thread, home), ("poll", thread)],
            [("synchronize_device",)],
        ]
        return self.rng.choice(ways)

    def initial(self, thread: int) -> Statements:
        """The first version of a region, written by a kernel or the host."""
        wish = self.rng.choice(("memset_async", "memset_async", "write", "memset", ""))
        wish = ("write" if wish else "") if self.sizes.tiny else wish
        return self.grant(wish, thread) if wish else []

    # --- wishes ------------------------------------------------------------------------------

    def launch(self, thread: int) -> Statements:
        """A kernel that reads and writes up to two regions."""
        region = self.region(thread, KERNEL)
        if region is None:
            return []
        stream = self.stream_for(thread, region)
        other = region if self.careful else self.region(thread, KERNEL) or region
        reads, writes = {}, {}
        if self.rng.random() < 0.7:
            reads[region] = self.expected(region)
        if self.rng.random() < 0.5 or not reads:
            writes[other] = self.new_version()
            self.note(other, writes[other])
        return [("launch", stream, tuple(reads.items()), tuple(writes.items()))]

    def kernel_copy(self, thread: int) -> Statements:
        """A kernel that writes what another region holds."""
        whole = [n for n, kind, parts in self.buffers if kind in KERNEL and not parts]
        if self.careful:
            whole = [name for name in whole if self.owner[name] == thread]
        if len(whole) < 2:
            return []
        dst, src = self.rng.sample(whole, 2)
        stream = self.stream_for(thread, src)
        if self.careful and self.home.setdefault(dst, stream) != stream:
            return []
        self.note(dst, self.holds.get(src))
        return [("launch", stream, ((src, self.expected(src)),), ((dst, src),))]

    def ends(self, thread: int) -> tuple[str, str] | None:
        """Two different regions of one shape."""
        everywhere = ("device", "pinned", "pageable", "managed")
        for _ in range(5):
            dst, src = self.region(thread, everywhere), self.region(thread, everywhere)
            if dst is None or src is None or dst.partition(".")[0] == src.partition(".")[0]:
                continue
            if self.shape(dst) == self.shape(src):
                return dst, src
        return None

    def shape(self, region: str) -> tuple[str, ...]:
        """The parts of a whole buffer."""
        return next((parts for name, _kind, parts in self.buffers if name == region), ())

    def copied(self, dst: str, src: str) -> None:
        """Note what the destination of a copy holds."""
        self.note(dst, self.holds.get(src) if not self.shape(src) else None)

    def memcpy(self, thread: int) -> Statements:
        """A blocking copy between any two kinds of memory."""
        ends = self.ends(thread)
        if ends is None:
            return []
        before = self.settled(thread, ends[0]) + self.settled(thread, ends[1])
        self.copied(*ends)
        after: Statements = []
        if self.careful and self.rng.random() > FORGETS:
            nulls = [i for i, (kind, _maker) in enumerate(self.streams) if kind == "null"]
            after = [("synchronize_stream", nulls[0]) if nulls else ("synchronize_device",)]
        return [*before, ("memcpy", *ends), *after]

    def memcpy_async(self, thread: int) -> Statements:
        """An asynchronous copy between any two kinds of memory."""
        ends = self.ends(thread)
        if ends is None:
            return []
        stream = self.stream_for(thread, ends[0])
        before: Statements = []
        if self.careful and self.home.setdefault(ends[1].partition(".")[0], stream) != stream:
            before = self.settled(thread, ends[1])
        if self.kind(ends[1]) == "pageable":
            before = before + self.settled(thread, ends[1])
        self.copied(*ends)
        return [*before, ("memcpy_async", *ends, stream)]

    def memset(self, thread: int) -> Statements:
        """A blocking fill."""
        region = self.region(thread, KERNEL)
        if region is None:
            return []
        before = self.settled(thread, region)
        version = self.new_version()
        self.note(region, version)
        after: Statements = [("synchronize_device",)] if self.careful else []
        return [*before, ("memset", region, version), *after]

    def memset_async(self, thread: int) -> Statements:
        """An asynchronous fill."""
        region = self.region(thread, KERNEL)
        if region is None:
            return []
        version = self.new_version()
        self.note(region, version)
        return [("memset_async", region, version, self.stream_for(thread, region))]

    def write(self, thread: int) -> Statements:
        """The host stores."""
        region = self.region(thread, HOST)
        if region is None:
            return []
        before = self.settled(thread, region)
        version = self.new_version()
        self.note(region, version)
        return [*before, ("write", region, version)]

    def read(self, thread: int) -> Statements:
        """The host loads."""
        region = self.region(thread, HOST)
        if region is None:
            return []
        return [*self.settled(thread, region), ("read", region, self.expected(region))]

    def record(self, thread: int) -> Statements:
        """An event is recorded."""
        return [("record", self.event(), self.rng.choice(self.usable(thread)))]

    def wait(self, thread: int) -> Statements:
        """A stream waits for an event, mostly one recorded just before."""
        streams = self.usable(thread)
        event = self.event()
        before = [("record", event, self.rng.choice(streams))] if self.rng.random() < 0.6 else []
        return [*before, ("wait", self.rng.choice(streams), event)]

    def event(self) -> int:
        """One of the events: one a thread, and one more."""
        return self.rng.randrange(self.count + 1)

    def synchronize_event(self, _thread: int) -> Statements:
        """The host waits for an event."""
        return [("synchronize_event", self.event())]

    def synchronize_stream(self, thread: int) -> Statements:
        """The host waits for a stream."""
        return [("synchronize_stream", self.rng.choice(self.usable(thread)))]

    def synchronize_device(self, _thread: int) -> Statements:
        """The host waits for the device."""
        return [("synchronize_device",)]

    def poll(self, _thread: int) -> Statements:
        """The host polls an event."""
        return [("poll", self.event())]

    def query_event(self, thread: int) -> Statements:
        """The host does one thing when an event is done, and another when it is not."""
        return [("query_event", self.event(), *self.branches(thread, 2))]

    def query_stream(self, thread: int) -> Statements:
        """The host does one thing when a stream is idle, and another when it is not."""
        stream = self.rng.choice(self.usable(thread))
        return [("query_stream", stream, *self.branches(thread, 2))]

    def choose(self, thread: int) -> Statements:
        """The host does one of two things."""
        return [("choose", self.branches(thread, 2))]

    def branches(self, thread: int, count: int) -> tuple[tuple[Statement, ...], ...]:
        """Bodies of which one is carried out; what they write is unknown afterwards."""
        before = dict(self.holds)
        bodies, changed = [], set()
        for _ in range(count):
            verbs = ("write", "read", "launch", "synchronize_device", "memcpy", "memset_async")
            verbs = verbs[: 5 if self.sizes.tiny else 6]
            self.holds = dict(before)
            bodies.append(tuple(self.grant(self.rng.choice(verbs), thread)[:4])
                          if self.rng.random() < 0.6 else ())  # fmt: skip
            changed |= {name for name, held in self.holds.items() if held != before.get(name)}
        self.holds = {name: None if name in changed else before.get(name) for name in self.holds}
        return tuple(bodies)

    def grant(self, wish: str, thread: int) -> Statements:
        """The statements of one wish."""
        emit: Callable[[int], Statements] = getattr(self, wish)
        return emit(thread)
