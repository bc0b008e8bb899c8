"""The shape around the wishes of a random program: threads, queues, locks, loops, destroys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random

Statement = tuple[Any, ...]
Statements = list[Statement]
LIKELY = 0.3


def fields_of(maker: Any) -> dict[str, Any]:
    """The fields of the program that this maker draws."""
    rng, sizes = maker.rng, maker.sizes
    bodies: list[Statements] = [[] for _ in range(maker.count)]
    wanted = [wish for wish in sizes.wishes if rng.random() < sizes.wish]
    rng.shuffle(wanted)
    loops = [rng.random() < (0.1 if sizes.tiny else 0.35) / maker.count for _ in bodies]
    for thread, body in enumerate(bodies):
        mine = wanted[thread :: maker.count]
        cut = rng.randint(0, len(mine)) if loops[thread] else len(mine)
        maker.holds = {}
        if mine:
            body.extend(maker.initial(thread))
        for wish in mine[:cut]:
            body.extend(granted(maker, wish, thread, bodies))
        loop(maker, mine[cut:], thread, body, bodies)
    put_and_get(maker, bodies)
    lock(rng, bodies, sizes.tiny)
    start_and_join(maker, bodies)
    if not sizes.tiny:
        overlap(rng, bodies)
    destroy(maker, bodies)
    return {
        "streams": tuple(maker.streams),
        "buffers": tuple(maker.buffers),
        "events": maker.count + 1,
        "locks": 2,
        "queues": tuple(maker.queues),
        "threads": tuple(tuple(body) for body in bodies),
        "steps": 2,
    }


def granted(maker: Any, wish: str, thread: int, bodies: list[Statements]) -> Statements:
    """The statements of a wish, or none once the program is as long as it may be."""
    long = sum(len(body) for body in bodies) >= maker.sizes.most
    return [] if long else maker.grant(wish, thread)


def loop(
    maker: Any,
    wishes: list[str],
    thread: int,
    body: Statements,
    bodies: list[Statements],
) -> None:
    """Put the statements of these wishes into a step loop."""
    if wishes:
        maker.holds, maker.in_loop = {}, True
        inner: Statements = []
        for wish in wishes[:3]:
            inner += granted(maker, wish, thread, [*bodies, inner, inner])
        maker.in_loop = False
        if inner:
            body.append(("steps", tuple(inner)))
            maker.holds = {}


def insert(rng: random.Random, body: Statements, *extra: Statement) -> None:
    """Insert statements at random places, in this order."""
    places = sorted(rng.randint(0, len(body)) for _ in extra)
    for offset, (place, statement) in enumerate(zip(places, extra, strict=True)):
        body.insert(place + offset, statement)


def put_and_get(maker: Any, bodies: list[Statements]) -> None:
    """A bounded and an unbounded queue, each in some programs; now and then a get too many."""
    rng = maker.rng
    for capacity in (1, None):
        if rng.random() > LIKELY * (0.7 if maker.sizes.tiny else 1):
            continue
        queue = len(maker.queues)
        maker.queues.append(capacity)
        giver = rng.randrange(maker.count)
        taker = rng.choice([t for t in range(maker.count) if t != giver] or [giver])
        items = rng.choice((1, 1, 2))
        gets = items if rng.random() < 0.85 else rng.randint(0, 2)
        maker.holds = {}
        body = tuple(maker.grant("launch", taker)) if rng.random() < 0.5 else ()
        puts = [("put", queue, rng.randint(0, 1)) for _ in range(items)]
        takes = [("get", queue, body) for _ in range(gets)]
        if giver == taker:
            pairs = [s for pair in zip(puts, takes, strict=False) for s in pair]
            insert(rng, bodies[giver], *(pairs or puts))
        else:
            insert(rng, bodies[giver], *puts)
            insert(rng, bodies[taker], *takes)


def lock(rng: random.Random, bodies: list[Statements], tiny: bool) -> None:
    """Put a slice of some threads under one lock or two nested ones."""
    some, nested = rng.random() < (0.2 if tiny else 0.5), rng.random() < 0.6
    for body in bodies:
        if not some or (len(bodies) > 1 and rng.random() < 0.15):
            continue
        first = rng.randint(0, len(body))
        last = min(len(body), first + rng.randint(1, 3))
        locks = (0,)
        if nested:
            locks = (0, 1) if rng.random() < 0.7 else (1, 0)
        body[first:last] = [("lock", locks, tuple(body[first:last]))]


def overlap(rng: random.Random, bodies: list[Statements]) -> None:
    """State now and then that the last two launches of a thread may overlap."""
    for body in bodies:
        if rng.random() < LIKELY:
            body.append(("concurrent",))


def start_and_join(maker: Any, bodies: list[Statements]) -> None:
    """Start the other threads early in the main one, mostly join them; sometimes in a branch."""
    rng = maker.rng
    main = bodies[0]
    for thread in range(1, maker.count):
        start: Statements = [("spawn", thread)]
        if rng.random() < 0.12:
            whole = (*start, ("join", thread)) if rng.random() < 0.5 else tuple(start)
            main.insert(rng.randint(0, len(main)), ("choose", (whole, ())))
            continue
        place = rng.randint(0, min(1, len(main)))
        main[place:place] = start
        if rng.random() < 0.6:
            main.insert(rng.randint(place + 1, len(main)), ("join", thread))


def destroy(maker: Any, bodies: list[Statements]) -> None:
    """Destroy a stream at the end of the only thread that can use it."""
    rng = maker.rng
    for thread, body in enumerate(bodies):
        alone = maker.count == 1
        mine = [
            i
            for i, (kind, made_by) in enumerate(maker.streams)
            if kind != "null" and made_by == thread and (thread or alone)
        ]
        if mine and rng.random() < 0.6:
            stream = rng.choice(mine)
            if rng.random() < 0.3:
                body.append(("choose", ((("destroy", stream),), ())))
            else:
                body.append(("destroy", stream))
            if rng.random() < 0.4:
                body.append(("synchronize_device",))
