"""Wishes of order that streams do not make: cells, agents, early kernels, per-thread streams."""

from __future__ import annotations

from typing import Any

Statement = tuple[Any, ...]
Statements = list[Statement]


def stream_signal(make: Any, thread: int) -> Statements:
    """A stream writes and signals; another one waits, and reads."""
    before, (name, stream, version) = make.taken(thread)
    other, (cell, value) = make.stream(but=stream), make.cell()
    signals = [*before, *make.needed(("write_value", stream, cell, value))]
    waits: Statements = [
        *make.needed(("wait_value", other, cell, value)),
        ("launch", other, ((name, make.expected(version)),), ()),
    ]
    if make.may(0.15):
        signals.append(
            ("write_value", make.stream(), *make.rng.choice([(cell, value + 1), (cell, 0)]))
        )
    if make.count > 1 and make.may(0.5):
        make.put(another(make, thread), waits)
        return signals
    return [*waits, *signals] if make.may(0.3) else [*signals, *waits]


def host_signal(make: Any, thread: int) -> Statements:
    """A stream waits for the host, which has filled what the stream reads."""
    source, version = make.buffer("pinned", "managed"), make.new()
    stream, (cell, value) = make.stream(), make.cell()
    waits: Statements = [
        *make.needed(("wait_value", stream, cell, value)),
        ("launch", stream, ((source, make.expected(version)),), ()),
    ]
    signals: Statements = [("write", source, version), *make.needed(("set_cell", cell, value))]
    if make.may(0.25):
        signals.append(("set_cell", cell, value + make.rng.choice((-value, 1))))
    if make.count > 1 and make.may(0.5):
        make.put(another(make, thread), signals)
        return waits
    return [*waits, *signals] if make.may(0.7) else [*signals, *waits]


def signal_to_host(make: Any, thread: int) -> Statements:
    """The host spins until a stream signals, then reads."""
    before, (name, stream, version) = make.taken(thread, ("pinned", "managed"))
    cell, value = make.cell()
    signals = [*before, *make.needed(("write_value", stream, cell, value))]
    waits: Statements = [
        *make.needed(("wait_cell", cell, value)), ("read", name, make.expected(version)),
    ]  # fmt: skip
    if make.count > 1 and make.may(0.5):
        make.put(another(make, thread), waits)
        return signals
    return [*signals, *waits]


def between_threads(make: Any, thread: int) -> Statements:
    """A host thread fills and sets; another one spins, and reads."""
    name, version, (cell, value) = make.buffer("pageable", "pinned"), make.new(), make.cell()
    signals: Statements = [("write", name, version), *make.needed(("set_cell", cell, value))]
    waits: Statements = [("wait_cell", cell, value), ("read", name, make.expected(version))]
    if make.count == 1:
        return [*signals, *waits]
    make.put(another(make, thread), waits)
    return signals


def another(make: Any, thread: int) -> int:
    """Another host thread."""
    return make.rng.choice([other for other in range(make.count) if other != thread])


def agent(make: Any, thread: int) -> Statements:
    """An agent reads or writes a buffer between two kernels."""
    before, (name, stream, version) = make.taken(thread, ("device", "pinned"))
    make.agents = max(make.agents, 1)
    slot = make.made = make.made + 1
    statements: Statements = [*before, *make.awaited(stream)]
    found = version
    if make.may(0.5):
        statements.append(("post_read", 0, name, make.expected(version), slot))
    else:
        found = make.new()
        statements.append(("post_write", 0, name, found, slot))
    done = ("synchronize_post", slot) if make.may(0.5) else ("wait_post", stream, slot)
    statements += make.needed(done)
    reads, writes = ((name, make.expected(found)),), ((name, make.new()),)
    statements.append(("launch", stream, reads, writes if make.may(0.5) else ()))
    return statements


def early(make: Any, thread: int) -> Statements:
    """A kernel starts early: it does something else, or waits for the one before it itself."""
    before, (name, stream, version) = make.taken(thread)
    other, written = make.buffer("device"), make.new()
    waits = make.may(0.5)
    reads = ((name, make.expected(version)),) if waits or make.may(make.slip) else ()
    how = "waits" if waits and not make.may(make.slip) else True
    statements = [*before]
    if not before:
        statements.append(("launch", stream, ((name, None),), ()))
    statements.append(("launch", stream, reads, ((other, written),), how))
    if make.may(0.4):
        third = make.buffer("device")
        reads = ((other, make.expected(written)),)
        statements.append(("launch", stream, reads, ((third, make.new()),), "waits"))
    if make.may(0.5):
        statements.append(("launch", stream, ((other, make.expected(written)),), ()))
        make.leave(thread, other, stream, written)
    return statements


def idempotent(make: Any, thread: int) -> Statements:
    """Several write one version without an order; whoever reads comes after all of them."""
    del thread
    name, version = make.buffer("pinned", "managed"), make.new()
    first = make.stream()
    second = make.stream(but=first)
    same = ("same", version if not make.may(make.slip) else make.new())
    statements: Statements = [
        ("launch", first, (), ((name, ("same", version)),)),
        ("launch", second, (), ((name, same),)),
    ]
    if make.may(0.3):
        statements.append(("write", name, ("same", version)))
    if make.may(0.5):
        statements += [*make.awaited(first), *make.awaited(second)]
        return [*statements, ("read", name, make.expected(version))]
    reads = ((name, make.expected(version)),)
    return [*statements, *make.joined(first, second), ("launch", second, reads, ())]


def per_thread(make: Any, thread: int) -> Statements:
    """A thread's own default stream, which is ordered with the NULL stream."""
    own, version = make.stream("per-thread"), make.new()
    name = make.buffer("device")
    statements: Statements = [("launch", own, (), ((name, version),))]
    reader = make.stream("null") if make.may(0.5) else make.stream()
    plain = make.streams[reader][0] != "null"
    statements += make.joined(own, reader) if plain else []
    statements.append(("launch", reader, ((name, make.expected(version)),), ()))
    make.leave(thread, name, reader, version)
    return statements


WISHES = {
    "stream_signal": stream_signal, "host_signal": host_signal, "signal_to_host": signal_to_host,
    "between_threads": between_threads, "agent": agent, "early": early, "idempotent": idempotent,
    "per_thread": per_thread,
}  # fmt: skip
