"""Wishes of memory: copies of every form, allocation, several devices, host functions."""

from __future__ import annotations

from typing import Any

Statement = tuple[Any, ...]
Statements = list[Statement]


def kernel(make: Any, thread: int) -> Statements:
    """A kernel reads what an earlier one wrote, and writes something else."""
    before, (name, stream, version) = make.taken(thread)
    target, written = make.buffer("device", "pinned", "managed"), make.new()
    make.leave(thread, name, stream, version)
    if make.kind(target) == "device":
        make.leave(thread, target, stream, written)
    reads, writes = ((name, make.expected(version)),), ((target, written),)
    return [*before, ("launch", stream, reads, writes)]


def cross(make: Any, thread: int) -> Statements:
    """A stream reads what another one wrote."""
    before, (name, stream, version) = make.taken(thread)
    other = make.stream("plain", "blocking", "null") if make.may(0.3) else make.stream(but=stream)
    make.leave(thread, name, other, version)
    reads = ((name, make.expected(version)),)
    return [*before, *make.joined(stream, other), ("launch", other, reads, ())]


def download(make: Any, thread: int) -> Statements:
    """The host reads what was copied to it."""
    before, (name, stream, version) = make.taken(thread)
    target = make.buffer("pinned", "pageable")
    make.leave(thread, name, stream, version)
    copied = ("memcpy_async", target, name, stream)
    if make.may(0.3):
        before = [*before, *make.awaited(stream)]
        copied = ("memcpy", target, name)
        return [*before, copied, ("read", target, make.expected(version))]
    return [*before, copied, *make.awaited(stream), ("read", target, make.expected(version))]


def question(make: Any, thread: int) -> Statements:
    """The host asks, and waits where the answer is no."""
    before, (name, stream, version) = make.taken(thread, ("pinned", "managed"))
    event, read = make.event(), ("read", name, make.expected(version))
    done: Statement = ("synchronize_event", event) if make.may(0.5) else ("poll", event)
    no = (*make.needed(done), read)
    return [*before, ("record", event, stream), ("query_event", event, (read,), no)]


def upload(make: Any, thread: int) -> Statements:
    """A copy that says when it reads its source, which the host then fills anew."""
    source, target = make.buffer("pinned", "pageable"), make.buffer("device")
    when, stream, version = make.rng.choice(("call", "stream", "any")), make.stream(), make.new()
    statements: Statements = [("write", source, version)]
    statements.append(("memcpy_async", target, source, stream, when))
    statements.append(("launch", stream, ((target, make.expected(version)),), ()))
    make.leave(thread, target, stream, version)
    if make.may(0.7):
        statements += [] if when == "call" else make.awaited(stream)
        statements.append(("write", source, make.new()))
    return statements


def peer(make: Any, thread: int) -> Statements:
    """A second device fills its memory, the first one copies it."""
    far = make.stream("plain 1", "blocking 1")
    name, version, stream = make.buffer("device 1"), make.new(), make.stream()
    filled: Statements = [("launch", far, (), ((name, version),))]
    if make.may(0.3):
        filled = [("memset", name, version)]
        filled += make.needed(("synchronize_device", 1))
    target = make.buffer("device", "device", "device 1")
    reader = stream if make.kind(target) == "device" else far
    copied: Statements = [
        *make.joined(far, stream),
        ("memcpy_async", target, name, stream),
        *(make.joined(stream, far) if reader == far else []),
    ]
    if make.may(0.45):
        null = make.stream("null 1")
        copied = [*make.awaited(far), ("memcpy", target, name), *make.awaited(null)]
        copied += make.needed(("synchronize_device", 1), ("synchronize_device", 0))
    reads = ((target, make.expected(version)),)
    if make.kind(target) == "device":
        make.leave(thread, target, reader, version)
    ended = [("synchronize_device", 1)] if make.may(0.3) else []
    return [*filled, *copied, ("launch", reader, reads, ()), *ended]


def host_function(make: Any, thread: int) -> Statements:
    """A host function reads what a kernel or a copy wrote, and writes what the host reads."""
    before, (name, stream, version) = make.taken(thread, ("pinned", "managed"))
    target, written = make.buffer("pinned", "pageable"), make.new()
    writes = ((target, name if make.may(0.3) else written),)
    found = version if writes[0][1] == name else written
    make.leave(thread, name, stream, version)
    called = ("host_func", stream, ((name, make.expected(version)),), writes)
    return [*before, called, *make.awaited(stream), ("read", target, make.expected(found))]


def plain_memory(make: Any, thread: int) -> Statements:
    """Memory is allocated, used, freed, and its address handed out again."""
    del thread
    first, second = make.name("m"), make.name("m")
    stream, version = make.stream(), make.new()
    statements: Statements = [
        ("malloc", first, None),
        ("launch", stream, (), ((first, version),)),
        ("launch", stream, ((first, make.expected(version)),), ()),
    ]
    other = stream
    if make.may(0.7):
        statements += [*make.awaited(stream), ("free", first)]
        other = make.stream()
    elif make.may(0.5):
        other = make.stream(but=stream)
        statements += make.joined(stream, other)
    if make.may(0.75):
        again = make.new()
        statements += [("malloc", second, first), ("launch", other, (), ((second, again),))]
        statements.append(("launch", other, ((second, make.expected(again)),), ()))
        if make.may(0.4):
            statements += [*make.awaited(other), ("free", second)]
    return statements


def pool(make: Any, thread: int) -> Statements:
    """Memory of a stream-ordered pool is used on two streams, freed, and handed out again."""
    del thread
    first, second = make.name("p"), make.name("p")
    stream, version = make.stream(), make.new()
    other = make.stream(but=stream)
    statements: Statements = [
        ("malloc_async", first, stream, None),
        ("launch", stream, (), ((first, version),)),
    ]
    users: tuple[int, ...] = ()
    if make.may(0.75):
        reads = ((first, make.expected(version)),)
        statements += [*make.joined(stream, other), ("launch", other, reads, ())]
        if make.may(0.85):
            users = tuple(make.needed(other))
        else:
            statements += make.joined(other, stream)
    freed: Statement = ("free_async", first, stream, users)
    if make.may(0.15):
        statements += [*make.awaited(stream), *make.awaited(other)]
        freed = ("free", first)
    statements.append(freed)
    if make.may(0.7):
        again = make.new()
        on = make.stream() if make.may(0.3) else stream
        statements += make.joined(stream, on) if on != stream else []
        statements += [("malloc_async", second, on, first), ("launch", on, (), ((second, again),))]
        statements.append(("launch", on, ((second, make.expected(again)),), ()))
    return statements


WISHES = {
    "kernel": kernel, "cross": cross, "download": download, "question": question,
    "upload": upload, "peer": peer, "host_function": host_function,
    "plain_memory": plain_memory, "pool": pool,
}  # fmt: skip
