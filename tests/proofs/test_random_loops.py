"""Random step loops: what is PROVED holds in longer bounded runs and in the machine, and what is
refuted by the proof's search is refuted by a bounded run.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from streamorder import Gpu, Limits, Outcome, check
from streamorder.model.prove import confirm

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = 25
Line = tuple[Any, ...]


def lines(make: random.Random) -> list[Line]:
    """What one step does: lines that a small interpreter below carries out."""
    found: list[Line] = []
    for _ in range(make.randint(2, 8)):
        when = make.choice([None, None, None, None, "even", "third", "late", "choice", "first"])
        kind = make.choice(["launch"] * 4 + ["copy"] * 2 + ["write", "record", "record", "wait"])
        kind = make.choice([kind, kind, kind, "wait", "sync", "await", "query"])
        if (when == "choice" or kind == "query") and any(
            line[0] == "choice" or line[1] == "query" for line in found
        ):
            when, kind = None, "sync"
        found.append((when, kind, *(make.randrange(6) for _ in range(4))))
    return found


def loop(seed: int) -> Callable[[Gpu], None]:
    """A protocol whose step loop is made from a seed."""
    make = random.Random(seed)  # noqa: S311 - programs, not secrets
    slots, step, after = make.randint(1, 3), lines(make), lines(make)[: make.randint(0, 2)]

    def body(gpu: Gpu) -> None:
        things = Things(gpu, slots)
        for s in gpu.steps():
            for line in step:
                things.carry_out(s, line)
        for line in after:
            things.carry_out(0, (None, *line[1:]))

    return body


class Things:
    """Two or three streams, an event and a pinned buffer for each slot, two device buffers."""

    def __init__(self, gpu: Gpu, slots: int) -> None:
        self.gpu = gpu
        self.streams = [gpu.stream("s"), gpu.stream("t"), gpu.null()]
        self.events = [gpu.event(f"e{n}") for n in range(slots)]
        self.pinned = [gpu.pinned(f"p{n}") for n in range(slots)]
        self.device = [gpu.device("d"), gpu.device("f")]
        for buffer in self.device:
            gpu.memset(buffer, 0)
        for buffer in self.pinned:
            gpu.write(buffer, 0)

    def carry_out(self, s: Any, line: Line) -> None:
        """One line of the step."""
        when, kind, a, b, c, d = line
        if self.applies(when, s):
            verbs = {
                "launch": self.launch, "copy": self.copy, "write": self.write,
                "record": self.record, "wait": self.wait, "sync": self.sync,
                "await": self.await_, "query": self.query,
            }  # fmt: skip
            verbs[kind](s, a, b, c, d)

    def applies(self, when: str | None, s: Any) -> bool:
        """Whether the line is carried out in this step."""
        if when is None:
            return True
        if when == "choice":
            return self.gpu.choose(True, False)
        return {"even": s % 2 == 0, "third": s % 3 == 2, "late": s > 5, "first": s == 0}[when]

    def launch(self, s: Any, a: int, b: int, c: int, d: int) -> None:
        """A kernel that reads or writes, or both; some reads expect a version."""
        read, write = self.device[b % 2], self.device[c % 2]
        reads: Any = {read: s - d % 3} if d > 4 else [read]
        self.gpu.launch(
            "k", self.streams[a % 3],
            reads=reads if d % 3 else [], writes={write: s} if d % 2 else {},
        )  # fmt: skip

    def copy(self, s: Any, a: int, b: int, _c: int, _d: int) -> None:
        """An upload from this step's slot."""
        pinned = self.pinned[s % len(self.pinned)]
        self.gpu.memcpy_async(self.device[b % 2], pinned, self.streams[a % 3])

    def write(self, s: Any, _a: int, _b: int, _c: int, _d: int) -> None:
        """The host fills this step's slot."""
        self.gpu.write(self.pinned[s % len(self.pinned)], s)

    def record(self, s: Any, a: int, _b: int, _c: int, _d: int) -> None:
        """This step's event."""
        self.events[s % len(self.events)].record(self.streams[a % 3])

    def wait(self, s: Any, a: int, b: int, _c: int, _d: int) -> None:
        """A stream waits for this step's event or the one before."""
        self.streams[a % 3].wait(self.events[(s + b) % len(self.events)])

    def sync(self, _s: Any, a: int, _b: int, _c: int, _d: int) -> None:
        """The host waits for a stream."""
        self.streams[a % 3].synchronize()

    def await_(self, s: Any, _a: int, b: int, _c: int, _d: int) -> None:
        """The host waits for an event."""
        self.events[(s + b) % len(self.events)].synchronize()

    def query(self, s: Any, a: int, b: int, _c: int, _d: int) -> None:
        """The host asks, and waits if the answer is no."""
        event = self.events[(s + b) % len(self.events)]
        if not event.query():
            self.streams[a % 3].synchronize()


def compared(seeds: range, contract: str) -> Counter[str]:
    """Prove each loop and compare with what can be had without a proof; how often which came out.

    A loop with choices is run 4 steps with every choice, any other for 25.
    """
    counts: Counter[str] = Counter()
    for seed in seeds:
        body = loop(seed)
        found = check(body, contract, prove=True)
        counts[found.verdict] += 1
        if found.outcome is Outcome.PROVED:
            bounded = check(body, contract, steps=4 if found.executions > 1 else LONG)
            assert bounded.outcome in {Outcome.HOLDS, Outcome.UNDETERMINED}, seed
            counts[f"bounded {bounded.verdict}"] += 1
            assert all(confirm(body, proof) is None for proof in found.certificates), seed
            states = max(len(proof.states) for proof in found.certificates)
            by_machine = check(
                body, contract, steps=states + 2, engine="machine",
                limits=Limits(states=1_500, seconds=2.0),
            )  # fmt: skip
            assert by_machine.outcome in {Outcome.HOLDS, Outcome.UNDETERMINED}, seed
            counts[f"machine {by_machine.verdict}"] += 1
        assert "report" not in str(found.reason), seed
        if found.outcome is Outcome.HOLDS:
            counts["unproved: " + str(found.unproved)[:40]] += 1
    return counts


@pytest.mark.parametrize("contract", ["cuda", "hip"])
def test_proofs_are_confirmed(contract: str) -> None:
    """No proof is contradicted; proofs and refutations both occur often, also with choices."""
    counts = compared(range(85), contract)
    assert counts["PROVED"] == counts["bounded HOLDS"] > 20, counts
    assert counts["REFUTED"] > 20, counts
    assert counts["machine HOLDS"] > 14, counts


@pytest.mark.slow
@pytest.mark.parametrize("contract", ["cuda", "hip"])
def test_many_proofs_are_confirmed(contract: str) -> None:
    """The same over two thousand loops; hardly one is too large without a proof."""
    counts = compared(range(1_000, 3_000), contract)
    assert counts["PROVED"] > 300, counts
    assert counts["bounded UNDETERMINED"] < 0.01 * counts["PROVED"], counts
