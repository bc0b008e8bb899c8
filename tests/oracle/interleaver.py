"""A deliberately naive interleaver: every order of host steps, op starts and op finishes.

It shares nothing with the engines. It reads programs as plain data (their form is stated beside the
random programs), knows the few API rules that tiny programs need, and walks every interleaving by
recursion, with no reduction and no merging of states:

- a host thread's step is one call, or the second half of a call that first waits;
- an op of a stream can start when the ops before it are finished; it loads when it starts, and
  stores when it finishes (with `split=False` it starts and finishes in one step);
- a word that streams and host wait for is loaded and stored at once, and is never raced for;
- there is a *race* where, in one state, two different threads or ops could access one region next
  (or a started op still is accessing it) and one of them stores.
"""

# ruff: noqa: D102 - the methods named after verbs carry out what the verb says

from __future__ import annotations

from typing import Any, NamedTuple

HOST_KINDS = ("pinned", "pageable")
MOST_FALSES = 2


class Op(NamedTuple):
    """An op of a stream: the ops before it, the regions it loads with the versions it expects,
    and the (region, version) that it stores, where ("of", region) is what it loaded there
    and ("held", version) what a staged copy carries. `sets` and `needs` are (cell, value).
    """

    before: frozenset[int]
    loads: tuple[tuple[str, Any], ...]
    stores: tuple[tuple[str, Any], ...]
    sets: tuple[int, int] | None = None
    needs: tuple[int, int] | None = None


class Thread(NamedTuple):
    """A host thread: the (statement, step) still to carry out, what it waits for, the second half
    of its call (None for no call in progress), and how often in a row a query of each stream or
    event answered false, while the thread did nothing else with it.
    """

    todo: tuple[tuple[Any, Any], ...]
    awaits: frozenset[int] = frozenset()
    rest: Any = None
    falses: dict[Any, int] = {}  # noqa: RUF012 - never changed


class State(NamedTuple):
    """Everything: never changed, always replaced."""

    threads: dict[int, Thread]
    ops: tuple[Op, ...] = ()
    started: frozenset[int] = frozenset()
    finished: frozenset[int] = frozenset()
    loaded: dict[tuple[int, str], Any] = {}  # noqa: RUF012 - never changed
    memory: dict[str, Any] = {}  # noqa: RUF012 - never changed
    tails: dict[int, frozenset[int]] = {}  # noqa: RUF012 - never changed
    events: dict[int, frozenset[int]] = {}  # noqa: RUF012 - never changed
    locks: dict[int, int] = {}  # noqa: RUF012 - never changed
    queues: dict[int, tuple[int, ...]] = {}  # noqa: RUF012 - never changed
    cells: dict[int, int] = {}  # noqa: RUF012 - never changed
    posts: dict[tuple[int, int], frozenset[int]] = {}  # noqa: RUF012 - never changed
    earlier: dict[int, frozenset[int]] = {}  # noqa: RUF012 - never changed
    last: dict[int, frozenset[int]] = {}  # noqa: RUF012 - never changed


class TooLarge(Exception):
    """More interleavings than wanted."""


class Interleaver:
    """Walks a program under "cuda" or "hip"; what it found is in the public attributes."""

    def __init__(
        self, program: Any, contract: str, *, split: bool = True, most: int = 20_000
    ) -> None:
        self.program = program
        self.hip = contract == "hip"
        self.split = split
        self.most = most
        self.kinds = {name: kind for name, kind, _parts in program.buffers}
        self.races: set[str] = set()
        self.wrongs: set[tuple[str, Any]] = set()
        self.finals: set[frozenset[Any]] = set()
        self.deadlock = False
        self.paths = 0
        self.walk(State({0: Thread(flat(program.threads[0], None))}))

    # --- the walk ----------------------------------------------------------------------------

    def walk(self, state: State) -> None:
        """Look at a state, and at everything that can come next."""
        state = self.settled(state)
        self.look(state)
        following = [self.begin(state, op) for op in self.able(state)]
        following += [self.finish(state, op) for op in sorted(state.started - state.finished)]
        for thread in state.threads:
            following += self.host_steps(state, thread)
        for after in following:
            self.walk(after)
        if not following:
            self.paths += 1
            if self.paths > self.most:
                raise TooLarge
            left = any(t.todo or t.rest or t.awaits for t in state.threads.values())
            if left or len(state.finished) < len(state.ops):
                self.deadlock = True
            else:
                self.finals.add(frozenset(state.memory.items()))

    def settled(self, state: State) -> State:
        """Calls return the moment that what they waited for is finished."""
        threads = {
            number: thread._replace(awaits=thread.awaits - state.finished)
            for number, thread in state.threads.items()
        }
        return state._replace(threads=threads)

    def able(self, state: State) -> list[int]:
        """The ops that can start."""
        return [
            index
            for index, op in enumerate(state.ops)
            if index not in state.started and op.before <= state.finished
            if op.needs is None or state.cells.get(op.needs[0], 0) >= op.needs[1]
        ]

    def look(self, state: State) -> None:
        """Races in a state."""
        users: list[tuple[Any, str, bool]] = []
        for index in {*self.able(state), *(state.started - state.finished)}:
            op = state.ops[index]
            users += [(("op", index), region, False) for region, _expected in op.loads]
            users += [(("op", index), region, True) for region, _version in op.stores]
        for number in state.threads:
            if self.host_steps(state, number):
                users += [(number, *access) for access in self.accesses(state.threads[number])]
        for who, region, stores in users:
            for other, same, too in users:
                if who != other and region == same and (stores or too):
                    self.races.add(region)

    # --- ops ---------------------------------------------------------------------------------

    def begin(self, state: State, index: int) -> State:
        """An op starts: it loads."""
        op = state.ops[index]
        loaded = dict(state.loaded)
        for region, expected in op.loads:
            self.check(state, region, expected)
            loaded[index, region] = state.memory.get(region)
        for _region, version in op.stores:
            if isinstance(version, tuple) and version[0] == "of":
                loaded[index, version[1]] = state.memory.get(version[1])
        state = state._replace(started=state.started | {index}, loaded=loaded)
        return state if self.split else self.finish(state, index)

    def finish(self, state: State, index: int) -> State:
        """An op finishes: it stores."""
        memory = dict(state.memory)
        for region, version in state.ops[index].stores:
            put_version(memory, region, self.stored(state, index, version))
        sets = state.ops[index].sets
        cells = {**state.cells, sets[0]: sets[1]} if sets else state.cells
        return state._replace(memory=memory, finished=state.finished | {index}, cells=cells)

    def stored(self, state: State, index: int, version: Any) -> Any:
        """The version that an op stores: its own, one it loaded, or one held since its call."""
        if not isinstance(version, tuple):
            return version
        return version[1] if version[0] == "held" else state.loaded[index, version[1]]

    def check(self, state: State, region: str, expected: Any) -> None:
        """Note a load of a wrong version."""
        if expected is not None and state.memory.get(region) != expected:
            self.wrongs.add((region, expected))

    # --- host threads ------------------------------------------------------------------------

    def host_steps(self, state: State, number: int) -> list[State]:
        """The states after a thread's next step, one for each result that it can have."""
        thread = state.threads[number]
        if thread.awaits or not (thread.todo or thread.rest):
            return []
        if thread.rest:
            state = self.with_thread(state, number, thread._replace(rest=None))
            return [self.second(state, number, thread.rest)]
        statement, step = thread.todo[0]
        state = self.with_thread(state, number, thread._replace(todo=thread.todo[1:]))
        special = getattr(self, "on_" + statement[0], None)
        if special:
            return special(state, number, statement, step)
        fresh = {name: n for name, n in thread.falses.items() if name not in self.named(statement)}
        thread = state.threads[number]._replace(falses=fresh)
        return [self.call(self.with_thread(state, number, thread), number, statement, step)]

    def named(self, statement: Any) -> list[tuple[str, int]]:
        """The streams and events that a call names."""
        verb, *given = statement
        if verb in {"synchronize_event", "poll", "query_event"}:
            return [("event", given[0])]
        if verb in {"launch", "synchronize_stream", "query_stream", "destroy", "write_value",
                    "wait_value", "wait_post"}:  # fmt: skip
            return [("stream", self.slot(given[0]))]
        if verb in {"record", "wait"}:
            event, stream = given if verb == "record" else given[::-1]
            return [("event", event), ("stream", self.slot(stream))]
        streams = given[2:3] if verb in {"memcpy_async", "memset_async"} else []
        return [("stream", self.slot(stream)) for stream in streams]

    def with_thread(self, state: State, number: int, thread: Thread) -> State:
        """The state with this thread in it."""
        return state._replace(threads={**state.threads, number: thread})

    def first(self, state: State, number: int, body: Any, step: Any) -> State:
        """The thread carries out this body before the rest."""
        thread = state.threads[number]
        todo = (*flat(body, step), *thread.todo)
        return self.with_thread(state, number, thread._replace(todo=todo))

    def accesses(self, thread: Thread) -> list[tuple[str, bool]]:
        """What the thread's next step loads and stores itself: (region, whether it stores)."""
        statement, second = thread.rest, True
        if not statement:
            (statement, _step), second = thread.todo[0], False
        verb = statement[0]
        if verb in {"write", "read"}:
            return [(statement[1], verb == "write")]
        if verb not in {"memcpy", "memcpy_async"}:
            return []
        dst, src = statement[1:3]
        if self.by_cpu(dst, src):
            return [(src, False), (dst, True)] if second else []
        drains = verb == "memcpy" and not self.hip
        return [(src, False)] if self.staged(dst, src) and second == drains else []

    def by_cpu(self, dst: str, src: str) -> bool:
        """Whether the host itself copies: HIP does, between host memories."""
        return self.hip and self.kinds[dst] in HOST_KINDS and self.kinds[src] in HOST_KINDS

    # --- what threads share ------------------------------------------------------------------

    def on_choose(self, state: State, number: int, statement: Any, step: Any) -> list[State]:
        return [self.first(state, number, body, step) for body in statement[1]]

    def on_lock(self, state: State, number: int, statement: Any, step: Any) -> list[State]:
        _verb, locks, body = statement
        if locks[0] in state.locks:
            return []
        inner = (("lock", locks[1:], body),) if locks[1:] else body
        state = state._replace(locks={**state.locks, locks[0]: number})
        return [self.first(state, number, (*inner, ("unlock", locks[0])), step)]

    def on_unlock(self, state: State, _number: int, statement: Any, _step: Any) -> list[State]:
        locks = {lock: who for lock, who in state.locks.items() if lock != statement[1]}
        return [state._replace(locks=locks)]

    def on_put(self, state: State, _number: int, statement: Any, _step: Any) -> list[State]:
        _verb, queue, item = statement
        held, capacity = state.queues.get(queue, ()), self.program.queues[queue]
        if capacity is not None and len(held) >= capacity:
            return []
        return [state._replace(queues={**state.queues, queue: (*held, item)})]

    def on_get(self, state: State, number: int, statement: Any, step: Any) -> list[State]:
        _verb, queue, body = statement
        held = state.queues.get(queue, ())
        if not held:
            return []
        state = state._replace(queues={**state.queues, queue: held[1:]})
        return [self.first(state, number, body if held[0] else (), step)]

    def on_spawn(self, state: State, _number: int, statement: Any, _step: Any) -> list[State]:
        todo = flat(self.program.threads[statement[1]], None)
        return [self.with_thread(state, statement[1], Thread(todo))]

    def on_join(self, state: State, _number: int, statement: Any, _step: Any) -> list[State]:
        other = state.threads[statement[1]]
        return [] if other.todo or other.awaits or other.rest else [state]

    def on_set_cell(self, state: State, _number: int, statement: Any, _step: Any) -> list[State]:
        _verb, cell, value = statement
        return [state._replace(cells={**state.cells, cell: value})]

    def on_wait_cell(self, state: State, _number: int, statement: Any, _step: Any) -> list[State]:
        _verb, cell, value = statement
        return [state] if state.cells.get(cell, 0) >= value else []

    def on_query_event(self, state: State, number: int, statement: Any, step: Any) -> list[State]:
        snapshot = state.events.get(statement[1], frozenset())
        return self.answers(state, number, snapshot, statement, step)

    def on_query_stream(self, state: State, number: int, statement: Any, step: Any) -> list[State]:
        return self.answers(state, number, self.tail(state, statement[1]), statement, step)

    def answers(
        self, state: State, number: int, work: frozenset[int], statement: Any, step: Any
    ) -> list[State]:
        """A query answers what is true, but to one thread false at most so often in a row."""
        thread, done = state.threads[number], work <= state.finished
        (target,) = self.named(statement)
        before = thread.falses.get(target, 0)
        if not done and before >= MOST_FALSES:
            return []
        falses = {**thread.falses, target: 0 if done else before + 1}
        state = self.with_thread(state, number, thread._replace(falses=falses))
        return [self.first(state, number, statement[2 if done else 3], step)]

    # --- the rules of the API: each call's first half --------------------------------------------

    def call(self, state: State, number: int, statement: Any, step: Any) -> State:
        """Carry out a call, up to where it waits."""
        verb, *given = statement
        if verb in {"write", "launch"}:
            given.append(step)
        return getattr(self, verb)(state, number, *given)

    def write(self, state: State, _number: int, region: str, version: Any, step: Any) -> State:
        memory = {**state.memory, region: in_step(version, step)}
        return state._replace(memory=memory)

    def read(self, state: State, _number: int, region: str, expected: Any) -> State:
        self.check(state, region, expected)
        return state

    def launch(
        self, state: State, _number: int, stream: int, reads: Any, writes: Any, *given: Any
    ) -> State:
        *early, step = given
        loads = tuple((region, in_step(version, step)) for region, version in reads)
        loads += tuple((version, None) for _region, version in writes if isinstance(version, str))
        stores = tuple(
            (region, ("of", v) if isinstance(v, str) else in_step(v, step)) for region, v in writes
        )
        slot, mine = self.slot(stream), frozenset({len(state.ops)})
        if not early or not early[0] or self.hip:
            before = self.joined(state, stream, self.tail(state, stream))
            after = self.issue(state, stream, loads, stores)
            return self.first_of(after, slot, before, mine)
        before = self.joined(state, stream, state.earlier.get(slot, frozenset()))
        awaited = state.last.get(slot, frozenset()) if early[0] == "waits" else frozenset()
        state = state._replace(ops=(*state.ops, Op(before | awaited, loads, stores)))
        tails = {**state.tails, slot: state.tails.get(slot, frozenset()) | mine}
        return self.first_of(state._replace(tails=tails), slot, before | awaited, mine)

    def first_of(
        self, state: State, slot: int, earlier: frozenset[int], last: frozenset[int]
    ) -> State:
        """A stream's next early kernel may start after `earlier`; the one before it is `last`."""
        return state._replace(
            earlier={**state.earlier, slot: earlier}, last={**state.last, slot: last}
        )

    def issue(self, state: State, stream: int, loads: Any, stores: Any, **cells: Any) -> State:
        """An op at the end of a stream: after all before it there; NULL and blocking streams are
        ordered with each other.
        """
        before = self.joined(state, stream, self.tail(state, stream))
        ops = (*state.ops, Op(before, loads, stores, **cells))
        mine = frozenset({len(state.ops)})
        tails = {**state.tails, self.slot(stream): mine}
        state = state._replace(ops=ops, tails=tails)
        return self.first_of(state, self.slot(stream), mine, mine)

    def joined(self, state: State, stream: int, work: frozenset[int]) -> frozenset[int]:
        """Work, with that of the NULL stream for a blocking one."""
        return work | self.null_tail(state) if self.kind(stream) == "blocking" else work

    def memset_async(
        self, state: State, _number: int, region: str, version: Any, stream: int
    ) -> State:
        return self.issue(state, stream, (), ((region, version),))

    def write_value(self, state: State, _number: int, stream: int, cell: int, value: int) -> State:
        return self.issue(state, stream, (), (), sets=(cell, value))

    def wait_value(self, state: State, _number: int, stream: int, cell: int, value: int) -> State:
        return self.issue(state, stream, (), (), needs=(cell, value))

    def post_read(self, state: State, number: int, _agent: int, *given: Any) -> State:
        region, version, slot = given
        return self.post(state, (number, slot), ((region, version),), ())

    def post_write(self, state: State, number: int, _agent: int, *given: Any) -> State:
        region, version, slot = given
        return self.post(state, (number, slot), (), ((region, version),))

    def post(self, state: State, key: tuple[int, int], loads: Any, stores: Any) -> State:
        """An op after nothing."""
        posts = {**state.posts, key: frozenset({len(state.ops)})}
        ops = (*state.ops, Op(frozenset(), loads, stores))
        return state._replace(ops=ops, posts=posts)

    def synchronize_post(self, state: State, number: int, slot: int) -> State:
        return self.until(state, number, state.posts[number, slot])

    def wait_post(self, state: State, number: int, stream: int, slot: int) -> State:
        return self.awaits(state, stream, self.tail(state, stream), state.posts[number, slot])

    def kind(self, stream: int) -> str:
        """The kind of a stream; the NULL stream is -1."""
        return "null" if stream == -1 else self.program.streams[stream][0]

    def slot(self, stream: int) -> int:
        """There is one NULL stream, however often a program names it."""
        return -1 if self.kind(stream) == "null" else stream

    def null_tail(self, state: State) -> frozenset[int]:
        """The work of the NULL stream alone."""
        return state.tails.get(-1, frozenset())

    def tail(self, state: State, stream: int) -> frozenset[int]:
        """What is last in a stream; the NULL stream stands for the blocking ones too."""
        if self.kind(stream) != "null":
            return state.tails.get(stream, frozenset())
        blocking = [
            work for other, work in state.tails.items() if self.kind(other) in {"null", "blocking"}
        ]
        return frozenset().union(*blocking)

    def record(self, state: State, _number: int, event: int, stream: int) -> State:
        work = self.tail(state, stream)
        if self.hip and self.kind(stream) == "blocking":
            work |= self.null_tail(state)
        return state._replace(events={**state.events, event: work})

    def wait(self, state: State, _number: int, stream: int, event: int) -> State:
        work = self.null_tail(state) if self.hip and self.kind(stream) == "null" else None
        work = self.tail(state, stream) if work is None else work
        return self.awaits(state, stream, work, state.events.get(event, frozenset()))

    def awaits(
        self, state: State, stream: int, work: frozenset[int], more: frozenset[int]
    ) -> State:
        """The stream goes on after its work and more, early kernels after that too."""
        slot = self.slot(stream)
        earlier, last = (held.get(slot, frozenset()) for held in (state.earlier, state.last))
        state = self.first_of(state, slot, earlier | more, last | more)
        return state._replace(tails={**state.tails, slot: work | more})

    def until(
        self, state: State, number: int, work: frozenset[int], statement: Any = None
    ) -> State:
        """The call waits for this work, then has this second half."""
        thread = state.threads[number]._replace(awaits=work, rest=statement)
        return self.with_thread(state, number, thread)

    def synchronize_event(self, state: State, number: int, event: int) -> State:
        return self.until(state, number, state.events.get(event, frozenset()))

    poll = synchronize_event

    def synchronize_stream(self, state: State, number: int, stream: int) -> State:
        return self.until(state, number, self.tail(state, stream))

    def synchronize_device(self, state: State, number: int, _device: int = 0) -> State:
        return self.until(state, number, frozenset().union(*state.tails.values()))

    def destroy(self, state: State, number: int, stream: int) -> State:
        return self.until(state, number, self.tail(state, stream)) if self.hip else state

    def memcpy(self, state: State, number: int, dst: str, src: str) -> State:
        statement = ("memcpy", dst, src)
        if self.by_cpu(dst, src):
            return self.until(state, number, self.tail(state, -1), statement)
        if self.staged(dst, src):
            if not self.hip:
                return self.until(state, number, self.tail(state, -1), statement)
            return self.until_issued(self.stage(state, dst, src, -1), number)
        state = self.issue(state, -1, ((src, None),), ((dst, ("of", src)),))
        both_on_device = self.kinds[dst] == self.kinds[src] == "device"
        return state if both_on_device else self.until_issued(state, number)

    def memcpy_async(self, state: State, number: int, dst: str, src: str, stream: int) -> State:
        statement = ("memcpy_async", dst, src, stream)
        if self.by_cpu(dst, src):
            work = self.tail(state, stream)
            if self.kind(stream) == "blocking":
                work |= self.null_tail(state)
            return self.until(state, number, work, statement)
        if self.staged(dst, src):
            return self.stage(state, dst, src, stream)
        state = self.issue(state, stream, ((src, None),), ((dst, ("of", src)),))
        within_host = self.kinds[dst] in HOST_KINDS and self.kinds[src] in HOST_KINDS
        hip_download = self.hip and self.kinds[dst] == "pageable"
        return self.until_issued(state, number) if within_host or hip_download else state

    def until_issued(self, state: State, number: int) -> State:
        """The call waits for the op that was issued last."""
        return self.until(state, number, frozenset({len(state.ops) - 1}))

    def staged(self, dst: str, src: str) -> bool:
        """Whether the runtime reads the source on the host, at the call."""
        return self.kinds[src] == "pageable" and self.kinds[dst] == "device"

    def stage(self, state: State, dst: str, src: str, stream: int) -> State:
        """An op that stores what the source holds now."""
        return self.issue(state, stream, (), ((dst, ("held", state.memory.get(src))),))

    def second(self, state: State, _number: int, statement: Any) -> State:
        """The second half of a copy that first waits."""
        _verb, dst, src = statement[:3]
        if self.staged(dst, src):
            return self.stage(state, dst, src, -1)
        memory = dict(state.memory)
        put_version(memory, dst, state.memory.get(src))
        return state._replace(memory=memory)


def flat(body: Any, step: Any) -> tuple[tuple[Any, Any], ...]:
    """A body's statements with their step; step loops unrolled."""
    todo: list[tuple[Any, Any]] = []
    for statement in body:
        if statement[0] == "steps":
            todo += [pair for n in range(2) for pair in flat(statement[1], n)]
        elif statement[0] != "concurrent":
            todo.append((statement, step))
    return tuple(todo)


def in_step(version: Any, step: Any) -> Any:
    """A version, which may follow the step."""
    return (step or 0) + version[1] if isinstance(version, tuple) else version


def put_version(memory: dict[str, Any], region: str, value: Any) -> None:
    """Store a version; None is what a region holds that nothing has written."""
    if value is None:
        memory.pop(region, None)
    else:
        memory[region] = value
